// SPDX-License-Identifier: GPL-2.0-only
//! The BPF programs: loading, and their maps.
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use libbpf_rs::{
    MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, ProgramAttachType,
};

use crate::base::errors::{anyhow, Context, Result};
use crate::base::system;
use crate::kernel::attach::Hooks;
use crate::kernel::batch;
use crate::kernel::flow_state::{FlowState, Sums, Table};
use crate::kernel::intf::{
    self, mp_cap, mp_flow, mp_flow_key, mp_heard, mp_host, mp_host_key, mp_limits, mp_settings,
    Plain,
};
use crate::kernel::record::Recorder;
use crate::kernel::trace::Names;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gateway.bpf.o"));

const TO_MESH: &str = "mp_to_mesh";
const FROM_MESH: &str = "mp_from_mesh";
/// By whose word packets go to wait in the kernel (linux/bpf/hold.h).
const WAIT: &str = "mp_wait";
/// What netfilter asks (linux/bpf/gate.h).
const GATE: &str = "mp_gate";
/// Four megabytes that only who records needs.
const RECORDS: &str = "mp_records";

/// A map and its name in the BPF object.
pub type SharedMap = (OsString, MapHandle);

/// Loaded programs with their maps.
pub struct Programs {
    object: Object,
    has_records: bool,
}

impl Programs {
    /// Loads the programs. Kernels without tcx ignore that they are meant for it.
    pub fn load(limits: mp_limits) -> Result<Self> {
        Self::load_with(limits, &[])
    }

    /// Loads them with other limits, with the maps of those that ran so far.
    pub fn load_again(limits: mp_limits, maps: &[SharedMap]) -> Result<Self> {
        Self::load_with(limits, maps)
    }

    fn load_with(limits: mp_limits, shared: &[SharedMap]) -> Result<Self> {
        let mut open = ObjectBuilder::default()
            .name("meshpace")?
            .open_memory(OBJECT)
            .context("reading the BPF object")?;
        prepare_maps(&mut open, limits, shared)?;
        for mut program in open.progs_mut() {
            match program.name().to_str() {
                Some(TO_MESH) => program.set_attach_type(ProgramAttachType::TcxEgress),
                Some(FROM_MESH) => program.set_attach_type(ProgramAttachType::TcxIngress),
                _ => {}
            }
        }
        let object = open.load().with_context(|| {
            let else_say = "loading the BPF programs (the verifier's reasons: MESHPACE_LOG=debug)";
            system::why_refused(else_say)
        })?;
        let has_records = limits.records != 0;
        Ok(Self {
            object,
            has_records,
        })
    }

    fn map(&self, name: &str) -> Result<MapHandle> {
        let map = self
            .object
            .maps()
            .find(|map| map.name() == OsStr::new(name));
        let map = map.ok_or_else(|| anyhow!("no map {name} in the BPF object"))?;
        MapHandle::try_from(&map).with_context(|| format!("map {name}"))
    }

    /// All maps that change while the programs run. One that was not made has a descriptor of libbpf's, too.
    pub fn shared_maps(&self) -> Result<Vec<SharedMap>> {
        let constant = |name: &OsStr| name.as_encoded_bytes().starts_with(b".rodata");
        let made = |name: &OsStr| self.has_records || name != RECORDS;
        let maps = self
            .object
            .maps()
            .filter(|map| !constant(map.name()) && made(map.name()));
        maps.map(|map| Ok((map.name().to_owned(), MapHandle::try_from(&map)?)))
            .collect::<Result<_>>()
            .context("the maps of the BPF object")
    }

    pub fn maps(&self) -> Result<Maps> {
        Ok(Maps {
            flows: self.map("mp_flows")?,
            hosts: self.map("mp_hosts")?,
            floors: self.map("mp_floors")?,
            caps: self.map("mp_caps")?,
            aliases: self.map("mp_aliases")?,
            heard: self.map("mp_heard")?,
            ended: self.map("mp_ended")?,
            expired: self.map("mp_expired")?,
            marks: self.map("mp_marks")?,
            counters: self.map("mp_counters")?,
            settings: self.map(".data.settings")?,
            beat: self.map(".data.beat")?,
            silent: self.map(".data.silent")?,
            lined: self.map(".data.lined")?,
            events: self.map("mp_events")?,
            unsent: self.map("mp_unsent")?,
            begun: self.map("mp_begun")?,
            classes: self.map("mp_classes")?,
            class_lines: self.map("mp_class_lines")?,
            lines: self.map("mp_lines")?,
            changes: AtomicU32::new(1),
            recorder: OnceLock::new(),
        })
    }

    /// Where the programs put what comes, if it is recorded.
    pub fn records(&self) -> Result<MapHandle> {
        self.map(RECORDS)
    }

    /// Netfilter's question, for who pins it.
    pub fn gate(&self) -> Result<OwnedFd> {
        self.program(GATE)
    }

    /// The programs, to be attached.
    pub fn hooks(&self) -> Result<Hooks> {
        Ok(Hooks {
            wait: self.program(WAIT)?,
            to_mesh: self.program(TO_MESH)?,
            from_mesh: self.program(FROM_MESH)?,
        })
    }

    /// Whether the processor runs all of them as they are: a kernel without a compiler of BPF for it interprets them.
    pub fn compiled(&self) -> Result<bool> {
        let mut lengths = self
            .object
            .progs()
            .map(|program| compiled_bytes(program.as_fd()));
        lengths.try_fold(true, |all, bytes| Ok(all && bytes? > 0))
    }

    fn program(&self, name: &str) -> Result<OwnedFd> {
        let program = self.object.progs().find(|program| program.name() == name);
        let program = program.ok_or_else(|| anyhow!("no program {name} in the BPF object"))?;
        program
            .as_fd()
            .try_clone_to_owned()
            .with_context(|| format!("program {name}"))
    }
}

/// How much machine code the kernel has made of a program.
fn compiled_bytes(program: BorrowedFd) -> Result<u32> {
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: plain old data, of which the kernel writes at most `length` bytes.
    let (asked, info) = unsafe {
        let mut info: libbpf_sys::bpf_prog_info = std::mem::zeroed();
        let asked =
            libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &mut info, &mut length);
        (asked, info)
    };
    match asked {
        0 => Ok(info.jited_prog_len),
        _ => Err(std::io::Error::last_os_error()).context("what the kernel tells of a program"),
    }
}

fn prepare_maps(open: &mut OpenObject, limits: mp_limits, shared: &[SharedMap]) -> Result<()> {
    for mut map in open.maps_mut() {
        if let Some((_, handle)) = shared.iter().find(|(name, _)| map.name() == *name) {
            map.reuse_fd(handle.as_fd())?;
            continue;
        }
        match map.name().to_str() {
            Some(
                "mp_flows" | "mp_places" | "mp_floors" | "mp_aliases" | "mp_handshakes"
                | "mp_heard",
            ) => map.set_max_entries(limits.max_flows)?,
            // Of hosts that have flows, and of those that the configuration states.
            Some("mp_hosts") => map.set_max_entries(2 * limits.max_flows)?,
            Some(RECORDS) => map.set_autocreate(limits.records != 0)?,
            Some(".rodata.limits") => map.set_initial_value(limits.bytes())?,
            _ => {}
        }
    }
    Ok(())
}

/// The maps, typed. Cheap to share: each call is one system call or a few.
pub struct Maps {
    flows: MapHandle,
    hosts: MapHandle,
    floors: MapHandle,
    caps: MapHandle,
    aliases: MapHandle,
    heard: MapHandle,
    ended: MapHandle,
    expired: MapHandle,
    marks: MapHandle,
    counters: MapHandle,
    settings: MapHandle,
    beat: MapHandle,
    silent: MapHandle,
    lined: MapHandle,
    events: MapHandle,
    begun: MapHandle,
    pub(super) classes: MapHandle,
    pub(super) class_lines: MapHandle,
    pub(super) lines: MapHandle,
    unsent: MapHandle,
    /// of paths and floors; flows look them up when they hear of a new number
    changes: AtomicU32,
    /// who hears what is set, if what comes is recorded
    recorder: OnceLock<Arc<Recorder>>,
}

fn count_of(map: &MapHandle, key: &[u8]) -> Option<u64> {
    let bytes = map.lookup(key, MapFlags::ANY).ok().flatten()?;
    Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))
}

/// A map's sums of hosts.
fn counts(map: &MapHandle) -> Result<Sums> {
    let mut sums = Vec::new();
    batch::each(map, MapFlags::ANY, |key, bytes: &u64| {
        sums.push((*key, *bytes));
    })?;
    Ok(sums)
}

const FIRST: [u8; 4] = [0; 4];

impl Maps {
    /// The ring buffer of linux/bpf/cache.h, for a thread of its own.
    pub fn events(&self) -> Result<MapHandle> {
        MapHandle::try_from(&self.events).context("ring buffer")
    }

    /// Where the programs tell whose flows begin.
    pub fn begun(&self) -> Result<MapHandle> {
        MapHandle::try_from(&self.begun).context("ring buffer")
    }

    /// A segment that the programs ordered to be sent again was not.
    pub fn set_unsent(&self, key: &mp_flow_key, seq: u32) -> Result<()> {
        self.note(|names| format!("unsent {} {seq}", names.flow(key)));
        self.unsent
            .update(key.bytes(), &seq.to_ne_bytes(), MapFlags::ANY)
            .context("unsent")
    }

    /// From now on it hears what is set.
    pub fn record(&self, recorder: Arc<Recorder>) {
        let _ = self.recorder.set(recorder);
    }

    fn note_later(&self, line: impl FnOnce(&mut Names) -> String) {
        if let Some(recorder) = self.recorder.get() {
            recorder.note_later(line);
        }
    }

    fn note(&self, line: impl FnOnce(&mut Names) -> String) {
        if let Some(recorder) = self.recorder.get() {
            recorder.note(line);
        }
    }

    /// For [`mp_settings`]: never 0, another number after each change of a path or a floor.
    pub fn changes(&self) -> u32 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Something that flows look up is another.
    pub fn changed(&self) {
        let next = self.changes().wrapping_add(1).max(1);
        self.changes.store(next, Ordering::Relaxed);
    }

    pub fn set_settings(&self, settings: &mp_settings) -> Result<()> {
        self.settings
            .update(&FIRST, settings.bytes(), MapFlags::ANY)
            .context("settings")?;
        if let Some(recorder) = self.recorder.get() {
            recorder.note_settings(settings);
        }
        Ok(())
    }

    /// The heartbeat (intf.h).
    pub fn set_beat(&self, beat_ns: u64) -> Result<()> {
        self.beat
            .update(&FIRST, &beat_ns.to_ne_bytes(), MapFlags::ANY)
            .context("heartbeat")
    }

    /// Until when nothing that waits in the kernel may leave.
    pub fn set_silent(&self, until_ns: u64) -> Result<()> {
        self.silent
            .update(&FIRST, &until_ns.to_ne_bytes(), MapFlags::ANY)
            .context("silence")
    }

    /// Whether lines have classes at all: else no packet looks for its own.
    pub fn set_lined(&self, lined: bool) -> Result<()> {
        self.lined
            .update(&FIRST, &u32::from(lined).to_ne_bytes(), MapFlags::ANY)
            .context("lines")
    }

    pub fn flow(&self, key: &mp_flow_key) -> Option<mp_flow> {
        let mut bytes = [0u8; size_of::<mp_flow>()];
        match self
            .flows
            .lookup_into(key.bytes(), &mut bytes, MapFlags::LOCK)
        {
            Ok(true) => mp_flow::from_bytes(&bytes),
            _ => None,
        }
    }

    pub fn all_flows(&self) -> Result<Table> {
        let mut flows = Vec::new();
        batch::each(&self.flows, MapFlags::LOCK, |key, flow: &mp_flow| {
            flows.push((*key, FlowState::from(flow)));
        })?;
        Ok(flows)
    }

    /// Forgets a flow, but for what was delivered; one that is not there is as good.
    pub fn remove_flow(&self, key: &mp_flow_key) {
        let acked_bytes = self
            .flow(key)
            .map_or(0, |flow| flow.at.progress.acked_bytes);
        if self.flows.delete(key.bytes()).is_ok() && acked_bytes > 0 {
            self.add_expired(key, acked_bytes);
        }
        let _ = self.floors.delete(key.bytes());
        self.note(|names| names.forget(key));
    }

    /// The least interval of a flow, in ns; 0 lifts it.
    pub fn set_floor(&self, key: &mp_flow_key, floor_ns: u64) -> Result<()> {
        self.changed();
        self.note_later(|names| format!("floor {} {floor_ns}", names.flow(key)));
        if floor_ns == 0 {
            let _ = self.floors.delete(key.bytes());
            return Ok(());
        }
        self.floors
            .update(key.bytes(), &floor_ns.to_ne_bytes(), MapFlags::ANY)
            .context("floors")
    }

    pub fn set_host(&self, address: &[u8; 16], host: &mp_host) -> Result<()> {
        self.changed();
        self.note_later(|names| names.path(address, host));
        self.hosts
            .update(address, host.bytes(), MapFlags::ANY)
            .context("hosts")
    }

    /// Of a host nothing is known any more.
    pub fn forget_host(&self, address: &[u8; 16]) {
        self.changed();
        self.note_later(|names| names.path(address, &mp_host::default()));
        let _ = self.hosts.delete(address);
    }

    /// A host may get all that it can.
    pub fn lift_cap(&self, host: &mp_host_key) {
        self.note(|names| names.cap(host, 0, 0));
        let _ = self.caps.delete(host.bytes());
    }

    /// What a host may get, and what each of its flows is told, in bytes/s. The pacer and the virtual
    /// queue go on.
    pub fn set_cap(
        &self,
        host: &mp_host_key,
        cap_bytes_per_s: u64,
        flow_bytes_per_s: u64,
    ) -> Result<()> {
        let was = self.caps.lookup(host.bytes(), MapFlags::LOCK);
        let was = was
            .ok()
            .flatten()
            .and_then(|bytes| mp_cap::from_bytes(&bytes));
        let cap = mp_cap {
            cap_bytes_per_s,
            flow_bytes_per_s,
            ..was.unwrap_or_default()
        };
        let how = if was.is_some() {
            MapFlags::LOCK
        } else {
            MapFlags::ANY
        };
        self.note(|names| names.cap(host, cap_bytes_per_s, flow_bytes_per_s));
        self.caps
            .update(host.bytes(), cap.bytes(), how)
            .context("caps")
    }

    /// The address stands no longer, or from now on, for a host that goes by another of its addresses.
    /// Where there is no room left it has no cap.
    pub fn set_alias(&self, address: &[u8; 16], standing: Option<&[u8; 16]>) {
        self.note(|names| names.alias(address, standing));
        let done = match standing {
            Some(standing) => self.aliases.update(address, standing, MapFlags::ANY),
            None => self.aliases.delete(address),
        };
        if let Err(error) = done {
            log::debug!("aliases: {error}");
        }
    }

    /// The flow's next packet that can be is marked by ECN.
    pub fn mark(&self, key: &mp_flow_key) -> Result<()> {
        self.note(|names| format!("mark {}", names.flow(key)));
        self.marks
            .update(key.bytes(), &1u32.to_ne_bytes(), MapFlags::ANY)
            .context("marks")
    }

    /// Only the daemon writes there: no sum is lost between reading and writing.
    fn add_expired(&self, key: &mp_flow_key, acked_bytes: u64) {
        let host = mp_host_key {
            address: key.mesh,
            direction: key.direction,
        };
        let was = count_of(&self.expired, host.bytes()).unwrap_or(0);
        let sum = was + acked_bytes;
        // Without room for one more host the oldest one makes some; then it is as if it were new.
        let _ = self
            .expired
            .update(host.bytes(), &sum.to_ne_bytes(), MapFlags::ANY);
    }

    /// Bytes of each host, each direction, that flows had acknowledged which the kernel has ended: with those of
    /// [`Self::expired_bytes`] and of the flows in the table they are all that was delivered, and that shrinks only
    /// where a host that was silent for long is forgotten among thousands of others.
    pub fn ended_bytes(&self) -> Result<Sums> {
        counts(&self.ended).context("flows that have ended")
    }

    /// Likewise, which were idle and [`Self::remove_flow`] has ended.
    pub fn expired_bytes(&self) -> Result<Sums> {
        counts(&self.expired).context("flows that were idle")
    }

    /// What flows of a host had that have ended counts no longer.
    pub fn forget_ended(&self, host: &mp_host_key) {
        for map in [&self.ended, &self.expired] {
            let _ = map.delete(host.bytes());
        }
    }

    /// Bytes so far of what is not read as TCP, to and from each host that was heard of.
    pub fn other_bytes(&self) -> Result<Sums> {
        let mut all = Vec::new();
        batch::each(&self.heard, MapFlags::ANY, |address, host: &mp_heard| {
            for (direction, bytes) in host.other_bytes.iter().enumerate() {
                let key = mp_host_key {
                    address: *address,
                    direction: direction as u32,
                };
                all.extend((*bytes > 0).then_some((key, *bytes)));
            }
        })?;
        Ok(all)
    }

    pub fn counter(&self, counter: intf::mp_counter) -> u64 {
        let per_cpu = self
            .counters
            .lookup_percpu(&counter.to_ne_bytes(), MapFlags::ANY);
        let values = per_cpu.ok().flatten().unwrap_or_default();
        values
            .iter()
            .filter_map(|v| Some(u64::from_ne_bytes(v[..8].try_into().ok()?)))
            .sum()
    }
}
