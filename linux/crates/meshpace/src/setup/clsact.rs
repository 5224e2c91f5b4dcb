// SPDX-License-Identifier: GPL-2.0-only
//! The qdisc clsact, under which filters hang where packets come and leave; it holds none.
use meshpace_netlink::socket::{Family, NetlinkSocket};
use meshpace_netlink::tc;

use crate::base::errors::{bail, Context, Result};
use crate::base::system;
use crate::kernel::attach::{FILTER_HANDLE, FILTER_PRIORITY, WAIT_PRIORITY};

/// Whether an interface has it.
///
/// # Errors
/// The qdisc ingress has its place, somebody else's filters have that of ours, or the kernel does not say.
pub fn is_at(interface: &str) -> Result<bool> {
    let index = system::interface_index(interface)?;
    let mut kind = None;
    let mut socket = NetlinkSocket::open(Family::Route).context("netlink")?;
    let asked = socket.exchange(tc::ask_qdiscs(), |body| {
        if let Some((at, handle, found)) = tc::parse_qdisc(body) {
            if at == index && tc::is_clsact_handle(handle) {
                kind = Some(found);
            }
        }
    });
    asked.context("qdiscs")?;
    match kind.as_deref() {
        // It takes filters for egress, and runs them at ingress.
        Some("ingress") => {
            bail!("qdisc ingress sits where clsact has to be: tc qdisc del dev {interface} ingress")
        }
        Some("clsact") => refuse_others_filters(interface, index, &mut socket).map(|()| true),
        _ => Ok(false),
    }
}

/// The filters of one priority are all of one kind, and of one protocol.
fn refuse_others_filters(interface: &str, index: i32, socket: &mut NetlinkSocket) -> Result<()> {
    let ours = [FILTER_PRIORITY, WAIT_PRIORITY];
    for (parent, at) in [(tc::INGRESS, "ingress"), (tc::EGRESS, "egress")] {
        let mut in_the_way = None;
        let asked = socket.exchange(tc::ask_filters(index, parent), |body| {
            if let Some((priority, protocol, kind)) = tc::parse_filter(body) {
                let fits = kind == "bpf" && i32::from(protocol) == libc::ETH_P_ALL;
                if ours.contains(&u32::from(priority)) && !fits {
                    in_the_way = Some(priority);
                }
            }
        });
        asked.context("filters")?;
        if let Some(priority) = in_the_way {
            bail!(
                "somebody else's filter of priority {priority} sits on {interface} where meshpace's has to be: \
                 give it another priority, or tc filter del dev {interface} {at} prio {priority}"
            );
        }
    }
    Ok(())
}

/// Priorities of filters that are asked before the gateway's, of packets that come and of those that leave.
pub fn before_ours(interface: &str) -> Result<[Vec<u16>; 2]> {
    let index = system::interface_index(interface)?;
    let mut socket = NetlinkSocket::open(Family::Route).context("netlink")?;
    let mut found = [Vec::new(), Vec::new()];
    for (parent, found) in [tc::INGRESS, tc::EGRESS].into_iter().zip(&mut found) {
        let asked = socket.exchange(tc::ask_filters(index, parent), |body| {
            let priority = tc::parse_filter(body).map(|(priority, ..)| priority);
            found.extend(priority.filter(|it| u32::from(*it) < FILTER_PRIORITY));
        });
        match asked {
            // There is no clsact.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            asked => asked.context("filters")?,
        }
        found.dedup();
    }
    Ok(found)
}

/// Takes the gateway's filters off, and with `qdisc` clsact as well, unless others have filters there.
pub fn remove_filters(interface: &str, qdisc: bool) -> Result<()> {
    let index = system::interface_index(interface)?;
    let mut socket = NetlinkSocket::open(Family::Route).context("netlink")?;
    // Without ours in front of it that which sends packets to wait matches none.
    for (parent, priority) in [
        (tc::EGRESS, WAIT_PRIORITY),
        (tc::EGRESS, FILTER_PRIORITY),
        (tc::INGRESS, FILTER_PRIORITY),
    ] {
        let filter = tc::Filter {
            index,
            parent,
            priority: priority as u16,
            handle: FILTER_HANDLE,
            program: 0,
            name: "",
        };
        let _ = socket.exchange(filter.remove(), |_| {}); // it need not be there
    }
    let mut others = false;
    for parent in [tc::INGRESS, tc::EGRESS] {
        let _ = socket.exchange(tc::ask_filters(index, parent), |_| others = true);
    }
    if !qdisc || others {
        return Ok(());
    }
    match socket.exchange(tc::remove_clsact(index), |_| {}) {
        // It was never there; somebody has removed it, or put the qdisc ingress in its place.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINVAL)) => Ok(()),
        removed => removed.context("qdisc clsact"),
    }
}
