// SPDX-License-Identifier: GPL-2.0-only
//! Which lines have a class of HTB, and at which rate: one for each host, and below it one for each of its lines
//! (linux/bpf/intf.h, `mp_line`). Pure book-keeping: it says what netlink is to be told.
use std::collections::{HashMap, HashSet};

use meshpace_netlink::codec::Request;
use meshpace_netlink::tc::{self, Class, Rate};

use crate::hosts::identity::Address;
use crate::kernel::intf::{self, mp_flow_key};
use crate::kernel::law;
use crate::setup::ifb::{class_of, HTB};

/// Lines that have a class, at most. HTB finds classes in lists that do not grow with their number: with 1000 of them one is
/// made in 60 us, with 8000 in 400.
pub const MOST: usize = 1000;
/// Packets in a class at most; before, core/ loses some.
const FIFO_PACKETS: u32 = 10_000;

struct Host {
    minor: u16,
    rate: Rate,
    lines: u32,
}

struct Line {
    minor: u16,
    host: Address,
    interval_ns: u64,
    /// it lets nothing go for so long, whatever its interval; 0: it does
    silent_ns: u64,
    /// when something came to it last, a second more or less
    came_ns: u64,
    /// it is taken away at the next opportunity: no packet finds it any more
    leaves: bool,
    /// it had to make room, and something may wait there of which nobody knows any more
    evicted: bool,
    /// its class stands below that of another host than the flow's, and is free until nothing waits there: HTB moves none
    moves: bool,
}

/// What there is behind one ifb.
#[derive(Default)]
pub struct Classes {
    index: i32,
    slot_bytes: u16,
    hosts: HashMap<Address, Host>,
    lines: HashMap<mp_flow_key, Line>,
    /// nothing is held: what waits leaves at once
    pass: bool,
    /// when it was tidied last
    now_ns: u64,
    /// that had to make room: no packet is to find them from now on
    evicted: Vec<mp_flow_key>,
    /// whose flows have moved, or have another class: no packet is to find them, and the next time they are taken away
    left: Vec<Line>,
    /// hosts for whose lines there was no room since it was tidied last: they ask with each packet
    refused: HashSet<Address>,
    /// numbers that were used and are not any more
    free: Vec<u16>,
    used: u16,
}

/// A host's lines bear their number where a flow has its port.
pub fn line_of(key: &mp_flow_key) -> u32 {
    match key.wired {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] => u32::from(key.mesh_port),
        _ => intf::mp_line_MP_LINE_FLOW,
    }
}

impl Classes {
    pub fn new(index: i32, slot_bytes: u16) -> Self {
        Self {
            index,
            slot_bytes,
            ..Self::default()
        }
    }

    fn number(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used
        })
    }

    fn class(&self, minor: u16, parent: Option<u16>) -> Class {
        Class {
            index: self.index,
            id: class_of(minor),
            parent: parent.map_or(HTB, class_of),
            frame_bytes: u32::from(self.slot_bytes),
        }
    }

    /// The class of packets that leave so far apart, each in one slot.
    fn slots(&self, interval_ns: u64, borrows: bool) -> Rate {
        Rate {
            bytes_per_s: law::hold_bytes_per_s(interval_ns, self.slot_bytes.into()),
            least_bytes: self.slot_bytes,
            saved_ns: law::hold_saved_ns(interval_ns),
            borrows,
            first: false,
        }
    }

    /// A host's class that is held to so many bytes/s; 0: it has no cap.
    fn of_host(&self, held_bytes_per_s: u64) -> Rate {
        let slot_ns = law::rate_interval_ns(held_bytes_per_s, self.slot_bytes.into());
        Rate {
            bytes_per_s: law::hold_host_bytes_per_s(held_bytes_per_s),
            least_bytes: 0,
            saved_ns: law::hold_saved_ns(slot_ns),
            borrows: false,
            first: false,
        }
    }

    fn of_line(&self, key: &mp_flow_key, line: &Line) -> Rate {
        let interval_ns = match (self.pass || line.moves, line.silent_ns) {
            (true, _) => 0,
            (false, 0) => line.interval_ns,
            (false, silent_ns) => silent_ns,
        };
        match line_of(key) {
            intf::mp_line_MP_LINE_FLOW => self.slots(interval_ns, true),
            intf::mp_line_MP_LINE_ACKS => self.slots(interval_ns, false),
            line => Rate {
                least_bytes: 0,
                first: line == intf::mp_line_MP_LINE_SPARSE,
                ..self.slots(0, true)
            },
        }
    }

    /// ACKs of a host's uploads stand by themselves, all other lines below their host.
    fn parent(&self, key: &mp_flow_key, line: &Line) -> Option<u16> {
        let below = line_of(key) != intf::mp_line_MP_LINE_ACKS;
        let host = self.hosts.get(&line.host).filter(|_| below);
        host.map(|host| host.minor)
    }

    fn class_of(&self, key: &mp_flow_key, line: &Line) -> Class {
        self.class(line.minor, self.parent(key, line))
    }

    /// A line more of a host, whose class is made if it is not there.
    fn join_host(&mut self, address: Address, held_bytes_per_s: u64, out: &mut Vec<Request>) {
        if let Some(host) = self.hosts.get_mut(&address) {
            host.lines += 1;
            return;
        }
        let (minor, rate) = (self.number(), self.of_host(held_bytes_per_s));
        let host = Host {
            minor,
            rate,
            lines: 1,
        };
        out.push(self.class(minor, None).make(&self.rate_of(&host)));
        self.hosts.insert(address, host);
    }

    /// Where there are enough, the host that has most loses the line to which nothing has come for longest, unless it is
    /// this one. Whether there is room.
    fn has_room(&mut self, address: &Address) -> bool {
        if self.refused.contains(address) {
            return false;
        }
        if self.lines.values().filter(|line| !line.leaves).count() < MOST {
            return true;
        }
        let Some(oldest) = self.oldest_of_most(address) else {
            self.refused.insert(*address);
            return false;
        };
        let line = self.lines.get_mut(&oldest).expect("it was there");
        (line.leaves, line.evicted) = (true, true);
        self.evicted.push(oldest);
        true
    }

    /// Of the host that has most lines, if they are more than this one's would be: the one to which nothing has come for
    /// longest.
    fn oldest_of_most(&self, address: &Address) -> Option<mp_flow_key> {
        let stay = || self.lines.iter().filter(|(_, line)| !line.leaves);
        let mut counts = HashMap::<Address, usize>::new();
        stay().for_each(|(_, line)| *counts.entry(line.host).or_default() += 1);
        let own = counts.get(address).copied().unwrap_or(0);
        let most = counts.iter().max_by_key(|(_, count)| **count);
        let (most, _) = most.filter(|(_, count)| **count > own + 1)?;
        let lines = stay().filter(|(_, line)| line.host == *most);
        lines
            .min_by_key(|(_, line)| line.came_ns)
            .map(|(key, _)| *key)
    }

    /// Lines that had to make room.
    pub fn take_evicted(&mut self) -> Vec<mp_flow_key> {
        std::mem::take(&mut self.evicted)
    }

    /// Makes a line's class, below that of its host, which is held to so many bytes/s; its number. None: there are
    /// enough, or it has one already.
    pub fn make(
        &mut self,
        key: &mp_flow_key,
        interval_ns: u64,
        host: Address,
        held_bytes_per_s: u64,
        out: &mut Vec<Request>,
    ) -> Option<u16> {
        let leaves = self.lines.get(key).map(|line| line.leaves);
        if leaves == Some(false) || !self.has_room(&host) {
            return None;
        }
        // What waits there would be counted as the new one's when it leaves.
        if self.lines.get(key).is_some_and(|line| line.evicted) {
            self.left.extend(self.lines.remove(key));
        }
        if let Some(line) = self.lines.get_mut(key) {
            (line.leaves, line.came_ns) = (false, self.now_ns);
            let minor = line.minor;
            self.change(key, interval_ns, out);
            return Some(minor);
        }
        self.join_host(host, held_bytes_per_s, out);
        let minor = self.number();
        let line = Line {
            minor,
            host,
            interval_ns,
            silent_ns: 0,
            came_ns: self.now_ns,
            leaves: false,
            evicted: false,
            moves: false,
        };
        out.push(self.class_of(key, &line).make(&self.of_line(key, &line)));
        out.push(tc::make_fifo(self.index, class_of(minor), FIFO_PACKETS));
        self.lines.insert(*key, line);
        Some(minor)
    }

    /// No packet finds a line's class after all: it goes as that of an idle line does, unless it is made again before.
    pub fn take_back(&mut self, key: &mp_flow_key) {
        if let Some(line) = self.lines.get_mut(key) {
            line.leaves = true;
        }
    }

    /// A line's packets leave so far apart from the departure after the next on.
    pub fn change(&mut self, key: &mp_flow_key, interval_ns: u64, out: &mut Vec<Request>) {
        let Some(line) = self.lines.get_mut(key) else {
            return;
        };
        if line.leaves || line.interval_ns == interval_ns {
            return;
        }
        line.interval_ns = interval_ns;
        out.push(self.changed(key, &self.lines[key]));
    }

    /// What tells of a line's rate as it is now.
    fn changed(&self, key: &mp_flow_key, line: &Line) -> Request {
        let rate = self.of_line(key, line);
        self.class_of(key, line).change(&rate)
    }

    /// An address turns out to be another host's than was thought: lines of its flows are free until they are empty, so
    /// that nothing overtakes, and then [`Self::moved`].
    pub fn follow_hosts(&mut self, standing: impl Fn(&Address) -> Address, out: &mut Vec<Request>) {
        let mut changed = Vec::new();
        for (key, line) in &mut self.lines {
            let of_flow = line_of(key) == intf::mp_line_MP_LINE_FLOW;
            let moves = of_flow && standing(&key.mesh) != line.host;
            if !line.leaves && line.moves != moves {
                line.moves = moves;
                changed.push(*key);
            }
        }
        for key in changed {
            out.push(self.changed(&key, &self.lines[&key]));
        }
    }

    /// Lines that wait to be empty.
    pub fn moving(&self) -> Vec<mp_flow_key> {
        let moving = self.lines.iter().filter(|(_, line)| line.moves);
        moving.map(|(key, _)| *key).collect()
    }

    /// A line that moves is empty, and no packet finds it any more: its flow may have another.
    pub fn moved(&mut self, key: &mp_flow_key) {
        self.left.extend(self.lines.remove(key));
    }

    /// From now on nothing is held, and what waits leaves in its order at once; or all is as before.
    pub fn let_pass(&mut self, pass: bool, out: &mut Vec<Request>) {
        if pass == self.pass {
            return;
        }
        self.pass = pass;
        for host in self.hosts.values() {
            out.push(self.class(host.minor, None).change(&self.rate_of(host)));
        }
        for (key, line) in &self.lines {
            out.push(self.changed(key, line));
        }
    }

    fn rate_of(&self, host: &Host) -> Rate {
        match self.pass {
            true => self.of_host(0),
            false => host.rate,
        }
    }

    /// A host is held to so many bytes/s from now on; 0: to nothing.
    pub fn hold(&mut self, address: &Address, held_bytes_per_s: u64, out: &mut Vec<Request>) {
        let rate = self.of_host(held_bytes_per_s);
        self.set_host(address, rate, out);
        self.silence_acks(address, 0, out);
    }

    /// After one packet more of the host, and one ACK of its uploads, nothing of it leaves for so long; from then on its
    /// rate may be set again.
    pub fn silence(&mut self, address: &Address, silent_ns: u64, out: &mut Vec<Request>) {
        let rate = self.slots(silent_ns, false);
        self.set_host(address, rate, out);
        self.silence_acks(address, silent_ns, out);
    }

    fn silence_acks(&mut self, address: &Address, silent_ns: u64, out: &mut Vec<Request>) {
        let key = mp_flow_key {
            mesh: *address,
            mesh_port: intf::mp_line_MP_LINE_ACKS as u16,
            direction: intf::mp_direction_MP_UP,
            ..Default::default()
        };
        let acks = self.lines.get_mut(&key);
        let Some(line) = acks.filter(|line| line.silent_ns != silent_ns) else {
            return;
        };
        line.silent_ns = silent_ns;
        out.push(self.changed(&key, &self.lines[&key]));
    }

    /// Whether a packet may find a line.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether packets may wait in lines that are no flow's.
    pub fn has_host_lines(&self) -> bool {
        let of_host = |key: &mp_flow_key| line_of(key) != intf::mp_line_MP_LINE_FLOW;
        self.lines.keys().any(of_host)
    }

    fn set_host(&mut self, address: &Address, rate: Rate, out: &mut Vec<Request>) {
        let Some(host) = self.hosts.get_mut(address) else {
            return;
        };
        if host.rate == rate {
            return;
        }
        host.rate = rate;
        let host = &self.hosts[address];
        out.push(self.class(host.minor, None).change(&self.rate_of(host)));
    }

    /// Hosts that have a class.
    pub fn hosts(&self) -> Vec<Address> {
        self.hosts.keys().copied().collect()
    }

    /// What was idle before is taken away; what is idle now no packet is to find from now on: those lines. `came`: when
    /// something came to a line last, None: it is idle.
    pub fn tidy(
        &mut self,
        now_ns: u64,
        came: impl Fn(&mp_flow_key) -> Option<u64>,
        out: &mut Vec<Request>,
    ) -> Vec<mp_flow_key> {
        self.now_ns = now_ns;
        self.refused.clear();
        let mut gone = std::mem::take(&mut self.left);
        gone.extend(self.lines.extract_if(|_, line| line.leaves).map(|it| it.1));
        for line in gone {
            out.push(self.class(line.minor, None).remove());
            self.free.push(line.minor);
            self.leave_host(&line.host, out);
        }
        let mut idle = Vec::new();
        for (key, line) in &mut self.lines {
            let came_ns = came(key);
            line.leaves = came_ns.is_none();
            line.came_ns = came_ns.unwrap_or(line.came_ns);
            idle.extend(line.leaves.then_some(*key));
        }
        idle
    }

    fn leave_host(&mut self, address: &Address, out: &mut Vec<Request>) {
        let Some(host) = self.hosts.get_mut(address) else {
            return;
        };
        host.lines -= 1;
        if host.lines > 0 {
            return;
        }
        let minor = host.minor;
        self.hosts.remove(address);
        self.free.push(minor);
        out.push(self.class(minor, None).remove());
    }
}

#[cfg(test)]
#[path = "classes_tests.rs"]
mod tests;
