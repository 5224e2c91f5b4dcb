// SPDX-License-Identifier: GPL-2.0-only
//! The programs at the mesh interface: by tcx links, or by filters under clsact where the kernel is
//! older than Linux 6.6. Others may take either away, so both can be asked whether they are still there.
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::{TcAttachPoint, TcHook, TcHookBuilder, TC_EGRESS, TC_INGRESS};

use meshpace_netlink::socket::{Family, NetlinkSocket};
use meshpace_netlink::tc;

use crate::base::errors::{bail, Context, Result};
use crate::base::system;

/// Handle and priority of our filters where the kernel has no tcx.
pub const FILTER_HANDLE: u32 = 0x6d70;
pub const FILTER_PRIORITY: u32 = 0x6d70;
/// Of the filter behind ours, by which packets go to wait.
pub const WAIT_PRIORITY: u32 = FILTER_PRIORITY + 1;

/// The loaded programs, to be attached as often as it takes.
pub struct Hooks {
    pub to_mesh: OwnedFd,
    pub from_mesh: OwnedFd,
    pub wait: OwnedFd,
}

/// What keeps the programs attached. Links end with the process, however it ends; filters of
/// older kernels have to be taken off.
pub enum Attachment {
    Tcx([TcxLink; 2]),
    Clsact(Filters),
}

pub struct TcxLink(OwnedFd);

/// Of an interface, in the order in which they were put there; they are taken off in the opposite one.
pub struct Filters {
    ifindex: i32,
    list: Vec<Filter>,
}

pub struct Filter {
    hook: TcHook,
    /// the program's number, by which the kernel knows it
    program: u32,
}

impl Hooks {
    /// Attaches both programs to an interface; fails before Linux 6.6.
    pub fn attach_tcx(&self, ifindex: i32) -> Result<Attachment> {
        let link = |program: &OwnedFd, point| TcxLink::new(program.as_fd(), ifindex, point);
        Ok(Attachment::Tcx([
            link(&self.to_mesh, libbpf_sys::BPF_TCX_EGRESS)?,
            link(&self.from_mesh, libbpf_sys::BPF_TCX_INGRESS)?,
        ]))
    }

    /// The same as filters, which stay when the process is killed. With the interface behind which packets wait, 0:
    /// none, where another filter sends them.
    pub fn attach_clsact(&self, ifindex: i32, held_at: i32) -> Result<Attachment> {
        let mut filters = Filters {
            ifindex,
            list: Vec::new(),
        };
        let filter = |program: &OwnedFd, point| Filter::new(program.as_fd(), ifindex, point);
        filters.list.push(filter(&self.from_mesh, TC_INGRESS)?);
        if held_at != 0 {
            let wait = Filter::sending(self.wait.as_fd(), ifindex, held_at)?;
            filters.list.push(wait);
        }
        filters.list.push(filter(&self.to_mesh, TC_EGRESS)?);
        Ok(Attachment::Clsact(filters))
    }
}

impl TcxLink {
    fn new(
        program: BorrowedFd,
        ifindex: i32,
        point: libbpf_sys::bpf_attach_type,
    ) -> Result<TcxLink> {
        // Safe: a loaded program, no options.
        let link = unsafe {
            libbpf_sys::bpf_link_create(program.as_raw_fd(), ifindex, point, std::ptr::null())
        };
        if link < 0 {
            bail!("tcx: {}", std::io::Error::from_raw_os_error(-link));
        }
        // Safe: a new descriptor that is owned here alone.
        Ok(TcxLink(unsafe { OwnedFd::from_raw_fd(link) }))
    }

    /// A link outlives its interface, and whoever detaches it: it is then at no interface at all.
    fn is_attached(&self) -> bool {
        // Safe: all zero is a valid bpf_link_info, and the kernel fills in no more than its length.
        unsafe {
            let mut info: libbpf_sys::bpf_link_info = std::mem::zeroed();
            let mut length = size_of_val(&info) as u32;
            let asked = libbpf_sys::bpf_link_get_info_by_fd(
                self.0.as_raw_fd(),
                &raw mut info,
                &raw mut length,
            );
            asked == 0 && info.__bindgen_anon_1.tcx.ifindex != 0
        }
    }
}

impl Filter {
    /// Not made yet.
    fn hook(program: BorrowedFd, ifindex: i32, priority: u32, point: TcAttachPoint) -> TcHook {
        TcHookBuilder::new(program)
            .ifindex(ifindex)
            .replace(true)
            .handle(FILTER_HANDLE)
            .priority(priority)
            .hook(point)
    }

    fn made(mut hook: TcHook) -> Result<Self> {
        let program = hook.query().context("filter under clsact")?;
        Ok(Self { hook, program })
    }

    fn new(program: BorrowedFd, ifindex: i32, point: TcAttachPoint) -> Result<Self> {
        let mut hook = Self::hook(program, ifindex, FILTER_PRIORITY, point);
        hook.create()
            .with_context(|| format!("qdisc clsact on interface {ifindex}"))?;
        Self::made(hook.attach().context("filter under clsact")?)
    }

    /// What the program matches of what leaves is sent to another interface. clsact is there already.
    fn sending(program: BorrowedFd, ifindex: i32, to: i32) -> Result<Self> {
        let filter = tc::Filter {
            index: ifindex,
            parent: tc::EGRESS,
            priority: WAIT_PRIORITY as u16,
            handle: FILTER_HANDLE,
            program: program.as_raw_fd(),
            name: "mp_wait",
        };
        let mut socket = NetlinkSocket::open(Family::Route).context("netlink")?;
        let _ = socket.exchange(filter.remove(), |_| {}); // what a gateway that died has left
        let made = socket.exchange(filter.make_redirect(to), |_| {});
        made.context("filter with mirred (kernel modules cls_bpf and act_mirred)")?;
        Self::made(Self::hook(program, ifindex, WAIT_PRIORITY, TC_EGRESS))
    }

    fn is_attached(&self) -> bool {
        let mut hook = self.hook;
        hook.query().is_ok_and(|program| program == self.program)
    }

    fn remove(&self) {
        let mut hook = self.hook;
        if let Err(error) = hook.detach() {
            log::warn!("a tc filter stays behind: {error}; meshpace gateway --clean");
        }
    }
}

impl Attachment {
    /// Whether both programs still see every packet of the interface.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Tcx(links) => links.iter().all(TcxLink::is_attached),
            Self::Clsact(filters) => filters.list.iter().all(Filter::is_attached),
        }
    }
}

impl std::fmt::Display for Attachment {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tcx(_) => "tcx",
            Self::Clsact(_) => "clsact",
        })
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        if !system::interface_exists(self.ifindex) {
            return; // the filters are gone with it
        }
        let ours = self.list.iter().rev().filter(|filter| filter.is_attached());
        ours.for_each(Filter::remove);
    }
}
