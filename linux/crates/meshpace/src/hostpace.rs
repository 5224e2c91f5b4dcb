// SPDX-License-Identifier: GPL-2.0-only
//! The pacers of whole hosts, beside those of their flows: what its flow lets go waits here for its
//! host's turn, if the host has a cap (shares.rs). Who is ready first leaves first, so that the flows
//! of a host take turns.
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::intf::{self, mp_flow_key, mp_pacer};
use crate::shares::{Caps, Member};

const CAP_WAIT_NS: u64 = intf::MP_CAP_WAIT_NS as u64;

/// The caps in force, from the daemon to the thread that holds packets.
#[derive(Default)]
pub struct Published {
    number: AtomicU64,
    latest: Mutex<Arc<Caps>>,
}

impl Published {
    pub fn publish(&self, caps: Caps) {
        *self.latest.lock().expect("its holder ended the program") = Arc::new(caps);
        self.number.fetch_add(1, Ordering::Release);
    }
}

/// What waits for its host's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// the head of a flow's queue
    Flow(mp_flow_key),
    /// UDP, by its number in the netfilter queue
    Datagram(u32),
}

struct Ready {
    who: Who,
    bytes: u32,
    since_ns: u64,
}

/// One host's pacer in one direction, and who waits for it.
#[derive(Default)]
struct HostPace {
    pacer: mp_pacer,
    /// of the latest that left, whose time the next one waits
    bytes: u32,
    ready: VecDeque<Ready>,
    ready_bytes: u64,
    /// when the caller was told last that the next may leave
    told_ns: Option<u64>,
}

fn interval_ns(cap_bps: u64, bytes: u64) -> u64 {
    // Safe: a plain function of core/.
    unsafe { intf::mp_share_interval_ns(cap_bps, bytes.min(u64::from(u32::MAX)) as u32) }
}

impl HostPace {
    /// When what is ready since then may leave.
    fn due(&self, cap_bps: u64, since_ns: u64) -> u64 {
        let interval = interval_ns(cap_bps, self.bytes.into());
        // However long it waited, only its turn counts.
        let earliest = since_ns.max(self.pacer.last_ns);
        // Safe: a plain function of core/.
        unsafe { intf::mp_departure_ns(&self.pacer, earliest, interval) }
    }

    fn departed(&mut self, departure_ns: u64, bytes: u32) {
        // Safe: a plain function of core/.
        unsafe { intf::mp_departed(&mut self.pacer, departure_ns) };
        self.bytes = bytes;
    }
}

/// All hosts that have a cap, or of which something still waits.
#[derive(Default)]
pub struct HostPaces {
    hosts: HashMap<Member, HostPace>,
    caps: Arc<Caps>,
    number: u64,
}

/// What the host's turn is.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    /// this one's, by its departure
    Of(Who, u64),
    /// nobody's before this time; told once for each time
    At(u64),
    /// nobody's, or the time has been told
    Nobodys,
}

impl HostPaces {
    /// Takes caps that are new, and returns who waits: for them it may be time.
    pub fn take_caps(&mut self, published: &Published) -> Vec<Member> {
        let number = published.number.load(Ordering::Acquire);
        if number == self.number {
            return Vec::new();
        }
        self.number = number;
        self.caps = published
            .latest
            .lock()
            .expect("its holder ended the program")
            .clone();
        let caps = &self.caps;
        self.hosts
            .retain(|member, host| !host.ready.is_empty() || caps.contains_key(member));
        let waiting = self.hosts.iter().filter(|(_, h)| !h.ready.is_empty());
        waiting.map(|(member, _)| *member).collect()
    }

    fn cap(&self, member: &Member) -> u64 {
        self.caps.get(member).copied().unwrap_or(0)
    }

    /// Whether packets of the host have to wait for their turn.
    pub fn takes_turns(&self, member: &Member) -> bool {
        self.caps.contains_key(member)
            || self
                .hosts
                .get(member)
                .is_some_and(|host| !host.ready.is_empty())
    }

    /// The interval between packets of so many bytes of a flow that takes turns with those in line; 0:
    /// no cap.
    pub fn turn_interval_ns(&self, member: &Member, bytes: u32) -> u64 {
        let in_line = self.hosts.get(member).map_or(0, |host| host.ready_bytes);
        interval_ns(self.cap(member), in_line.max(bytes.into()))
    }

    /// Puts somebody, who is ready since then, at the end.
    pub fn wait(&mut self, member: Member, who: Who, bytes: u32, since_ns: u64) {
        let host = self.hosts.entry(member).or_default();
        host.ready_bytes += u64::from(bytes);
        host.ready.push_back(Ready {
            who,
            bytes,
            since_ns,
        });
    }

    /// Whether UDP that comes now would leave within its time.
    pub fn has_room(&self, member: &Member, now_ns: u64) -> bool {
        let (cap, Some(host)) = (self.cap(member), self.hosts.get(member)) else {
            return true;
        };
        let wait_ns =
            host.due(cap, now_ns).saturating_sub(now_ns) + interval_ns(cap, host.ready_bytes);
        wait_ns <= CAP_WAIT_NS
    }

    /// Whose turn it is; who leaves is taken off and paced by.
    pub fn next(&mut self, member: &Member, now_ns: u64) -> Turn {
        let cap = self.cap(member);
        let Some(host) = self.hosts.get_mut(member) else {
            return Turn::Nobodys;
        };
        let Some(first) = host.ready.front() else {
            host.told_ns = None;
            return Turn::Nobodys;
        };
        let departure = host.due(cap, first.since_ns);
        if departure > now_ns {
            let told = host
                .told_ns
                .is_some_and(|at| now_ns < at && at <= departure);
            host.told_ns = if told { host.told_ns } else { Some(departure) };
            return if told {
                Turn::Nobodys
            } else {
                Turn::At(departure)
            };
        }
        let first = host.ready.pop_front().expect("it was there");
        host.ready_bytes -= u64::from(first.bytes);
        host.departed(departure, first.bytes);
        Turn::Of(first.who, departure)
    }

    /// When an ACK of so many new bytes of the host's leaves, that is here now: as they would, but not
    /// too late (linux/bpf/up.h has the same).
    pub fn ack_departure(&mut self, member: &Member, bytes: u32, now_ns: u64) -> u64 {
        let cap = self.cap(member);
        if cap == 0 || bytes == 0 {
            return now_ns;
        }
        let host = self.hosts.entry(*member).or_default();
        let interval = interval_ns(cap, host.bytes.into());
        // Safe: a plain function of core/.
        let due = unsafe { intf::mp_departure_ns(&host.pacer, now_ns, interval) };
        let departure = due.min(now_ns + CAP_WAIT_NS);
        host.departed(departure, bytes);
        departure
    }

    /// At the end: the numbers of all UDP that waits.
    pub fn empty(&mut self) -> Vec<u32> {
        let hosts = std::mem::take(&mut self.hosts);
        let ready = hosts.into_values().flat_map(|host| host.ready);
        ready
            .filter_map(|ready| match ready.who {
                Who::Datagram(id) => Some(id),
                Who::Flow(_) => None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const HOST: Member = ([1; 16], 0);

    /// 1000 bytes each 10 ms.
    fn capped() -> HostPaces {
        let published = Published::default();
        published.publish(Caps::from([(HOST, 100_000)]));
        let mut paces = HostPaces::default();
        assert!(paces.take_caps(&published).is_empty());
        paces
    }

    fn flow(port: u16) -> Who {
        Who::Flow(mp_flow_key {
            mesh_port: port,
            ..Default::default()
        })
    }

    /// Else a host would get more than its cap, or one of its flows everything.
    #[test]
    fn flows_take_turns_at_the_host_s_rate() {
        let mut paces = capped();
        for port in 1..=3 {
            paces.wait(HOST, flow(port), 1000, 5 * MS);
        }
        assert_eq!(paces.next(&HOST, 5 * MS), Turn::Of(flow(1), 5 * MS));
        paces.wait(HOST, flow(1), 1000, 5 * MS);
        assert_eq!(paces.next(&HOST, 5 * MS), Turn::At(15 * MS));
        assert_eq!(paces.next(&HOST, 6 * MS), Turn::Nobodys, "told");
        // A wakeup that comes late does not slow the host down.
        assert_eq!(paces.next(&HOST, 17 * MS), Turn::Of(flow(2), 15 * MS));
        assert_eq!(paces.next(&HOST, 25 * MS), Turn::Of(flow(3), 25 * MS));
        assert_eq!(paces.next(&HOST, 35 * MS), Turn::Of(flow(1), 35 * MS));
        assert_eq!(paces.next(&HOST, 99 * MS), Turn::Nobodys);
    }

    /// Else a flood would fill the memory, and its host's TCP would wait for ever.
    #[test]
    fn udp_that_would_wait_too_long_has_no_room() {
        let mut paces = capped();
        let mut taken = 0;
        while paces.has_room(&HOST, 0) {
            paces.wait(HOST, Who::Datagram(taken), 1000, 0);
            taken += 1;
            assert!(taken < 100);
        }
        assert_eq!(taken, 21, "200 ms of 10 each, and the first");
        assert!(paces.has_room(&([2; 16], 0), 0), "another host");
        assert_eq!(paces.empty().len(), 21);
    }

    /// Else an upload would not slow down, or its sender would time out.
    #[test]
    fn an_ack_waits_as_its_data_would_but_not_too_long() {
        let mut paces = capped();
        assert_eq!(paces.ack_departure(&HOST, 1000, MS), MS);
        assert_eq!(paces.ack_departure(&HOST, 2000, MS), 11 * MS);
        assert_eq!(paces.ack_departure(&HOST, 90_000, 2 * MS), 31 * MS);
        assert_eq!(paces.ack_departure(&HOST, 1000, 3 * MS), 203 * MS);
        assert_eq!(paces.ack_departure(&HOST, 0, 4 * MS), 4 * MS);
        assert_eq!(paces.ack_departure(&([2; 16], 0), 1000, MS), MS);
    }

    /// Else what waited for a cap would wait for ever when there is none any more.
    #[test]
    fn a_cap_that_is_lifted_lets_all_go() {
        let mut paces = capped();
        for port in 1..=3 {
            paces.wait(HOST, flow(port), 1000, 0);
        }
        assert_eq!(paces.next(&HOST, 0), Turn::Of(flow(1), 0));
        let published = Published::default();
        published.publish(Caps::new());
        published.publish(Caps::new());
        assert_eq!(paces.take_caps(&published), [HOST]);
        assert_eq!(paces.next(&HOST, MS), Turn::Of(flow(2), 0));
        assert_eq!(paces.next(&HOST, MS), Turn::Of(flow(3), 0));
        assert!(!paces.takes_turns(&HOST));
    }
}
