// SPDX-License-Identifier: GPL-2.0-only
//! Which lines have a class of HTB, and at which rate: one for each host, and below it one for each of its lines
//! (linux/bpf/intf.h, `mp_line`). Pure book-keeping: it says what netlink is to be told.
use std::collections::HashMap;

use meshpace_netlink::codec::Request;
use meshpace_netlink::tc::{self, Class, Rate};

use crate::hosts::identity::Address;
use crate::kernel::intf::{self, mp_flow_key};
use crate::kernel::law;
use crate::setup::ifb::{class_of, HTB};

/// Lines that have a class. HTB finds classes in lists that do not grow with their number: with 1000 of them one is
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
    /// whose class is above it; None: it stands by itself
    host: Option<Address>,
    interval_ns: u64,
    /// it is taken away at the next opportunity: no packet finds it any more
    leaves: bool,
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
    /// numbers that were used and are not any more
    free: Vec<u16>,
    used: u16,
}

/// A host's lines bear their number where a flow has its port.
fn line_of(key: &mp_flow_key) -> u32 {
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

    pub fn has(&self, key: &mp_flow_key) -> bool {
        self.lines.contains_key(key)
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
        }
    }

    fn in_force_ns(&self, interval_ns: u64) -> u64 {
        match self.pass {
            true => 0,
            false => interval_ns,
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
        }
    }

    fn of_line(&self, key: &mp_flow_key, interval_ns: u64) -> Rate {
        let interval_ns = self.in_force_ns(interval_ns);
        match line_of(key) {
            intf::mp_line_MP_LINE_FLOW => self.slots(interval_ns, true),
            intf::mp_line_MP_LINE_ACKS => self.slots(interval_ns, false),
            _ => Rate {
                least_bytes: 0,
                ..self.slots(0, true)
            },
        }
    }

    /// The class above a host's lines, made if it is not there.
    fn host(&mut self, address: Address, held_bytes_per_s: u64, out: &mut Vec<Request>) -> u16 {
        if let Some(host) = self.hosts.get_mut(&address) {
            host.lines += 1;
            return host.minor;
        }
        let (minor, rate) = (self.number(), self.of_host(held_bytes_per_s));
        let host = Host {
            minor,
            rate,
            lines: 1,
        };
        out.push(self.class(minor, None).make(&self.rate_of(&host)));
        self.hosts.insert(address, host);
        minor
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
        if let Some(line) = self.lines.get_mut(key).filter(|line| line.leaves) {
            line.leaves = false;
            let minor = line.minor;
            self.change(key, interval_ns, out);
            return Some(minor);
        }
        if self.lines.len() >= MOST || self.has(key) {
            return None;
        }
        let alone = line_of(key) == intf::mp_line_MP_LINE_ACKS;
        let host = (!alone).then_some(host);
        let parent = host.map(|host| self.host(host, held_bytes_per_s, out));
        let minor = self.number();
        let rate = self.of_line(key, interval_ns);
        out.push(self.class(minor, parent).make(&rate));
        let handle = u32::from(minor) << 16;
        out.push(tc::make_fifo(
            self.index,
            handle,
            class_of(minor),
            FIFO_PACKETS,
        ));
        let line = Line {
            minor,
            host,
            interval_ns,
            leaves: false,
        };
        self.lines.insert(*key, line);
        Some(minor)
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
        let line = &self.lines[key];
        out.push(self.changed(key, line));
    }

    /// What tells of a line's rate as it is now.
    fn changed(&self, key: &mp_flow_key, line: &Line) -> Request {
        let parent = line.host.and_then(|host| self.hosts.get(&host));
        let class = self.class(line.minor, parent.map(|host| host.minor));
        class.change(&self.of_line(key, line.interval_ns))
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
        for (key, line) in self.lines.iter().filter(|(_, line)| !line.leaves) {
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
    }

    /// After one packet more of the host nothing of it leaves for so long, or until its rate is set again.
    pub fn silence(&mut self, address: &Address, silent_ns: u64, out: &mut Vec<Request>) {
        let rate = self.slots(silent_ns, false);
        self.set_host(address, rate, out);
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

    /// What was idle before is taken away; what is idle now no packet is to find from now on: those lines.
    pub fn tidy(
        &mut self,
        is_idle: impl Fn(&mp_flow_key) -> bool,
        out: &mut Vec<Request>,
    ) -> Vec<mp_flow_key> {
        let gone: Vec<_> = self.lines.extract_if(|_, line| line.leaves).collect();
        for (_, line) in gone {
            out.push(self.class(line.minor, None).remove());
            self.free.push(line.minor);
            line.host.inspect(|host| self.leave_host(host, out));
        }
        let mut idle = Vec::new();
        for (key, line) in &mut self.lines {
            line.leaves = is_idle(key);
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
