// SPDX-License-Identifier: GPL-2.0-only
//! What each host of the mesh gets in each direction (law `even`): core/'s shares, fed once a second
//! with what the kernel counted of flows and of UDP.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::hosts::identity::Aliases;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{self, mp_demand, mp_host_key, mp_host_share, mp_shares};
use crate::kernel::law;

/// The address that stands for a host, and a direction (enum mp_direction).
pub type Member = ([u8; 16], u32);
/// Bytes/s of those that have a cap.
pub type Caps = HashMap<Member, u64>;
/// What a member gets, and what each of its flows is told.
pub type Part = (Member, u64, u64);

#[derive(Default)]
pub struct Shares {
    /// which addresses are one host
    aliases: Arc<Aliases>,
    state: mp_shares,
    members: BTreeMap<Member, mp_host_share>,
    /// what each address had got when it was looked at last
    delivered: HashMap<Member, u64>,
    caps: Caps,
    /// what each flow of those that have a cap is told, bytes/s
    feedback: Caps,
}

pub fn key_of((address, direction): &Member) -> mp_host_key {
    mp_host_key {
        address: *address,
        direction: *direction,
    }
}

/// What a host has got since the previous look, how many of its flows move, and how many want more.
#[derive(Default)]
struct News {
    bytes: u64,
    flows: u32,
    wanting_flows: u32,
}

type AllNews = HashMap<Member, News>;

/// What is known of a flow's demand.
fn demand(direction: u32, flow: &FlowState, now_ns: u64) -> mp_demand {
    let up = direction == intf::mp_direction_MP_UP;
    let seen_ns = if up { flow.data_ns } else { flow.paused_ns };
    let (progress, waits) = (&flow.progress, flow.waits);
    mp_demand {
        window_bytes: flow.window_bytes,
        segment_bytes: flow.segment_bytes,
        ..law::demand_of(progress, flow.max_end, up, waits, seen_ns, now_ns)
    }
}

impl Shares {
    pub fn new(now_ns: u64) -> Self {
        let mut shares = Self::default();
        shares.state.before_ns = now_ns;
        shares
    }

    pub fn aliases(&self) -> &Arc<Aliases> {
        &self.aliases
    }

    pub fn set_aliases(&mut self, aliases: Arc<Aliases>) {
        self.aliases = aliases;
    }

    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Those that have a cap.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let feedback = |member: &Member| self.feedback.get(member).copied().unwrap_or(0);
        let part = move |(member, cap): (&Member, &u64)| (*member, *cap, feedback(member));
        self.caps.iter().map(part)
    }

    /// Whether a host has shown progress lately, in one direction.
    pub fn is_active(&self, member: &Member) -> bool {
        self.members
            .get(member)
            .is_some_and(|share| share.active > 0)
    }

    /// Hosts that share a mesh which loses routes; 0, 1: none do.
    pub fn active_hosts(&self) -> u32 {
        self.state.active_hosts
    }

    /// A second has passed; returns the members whose caps are others than before. `sums`: bytes so far of
    /// what is not in the table, of flows that have ended and of what is not read as TCP.
    pub fn step(&mut self, table: &Table, sums: &[(mp_host_key, u64)], now_ns: u64) -> Vec<Member> {
        let news = self.news(table, sums, now_ns);
        // Who was active a moment ago has to be seen leaving, also when its flows are forgotten already.
        self.members
            .retain(|member, share| news.contains_key(member) || share.active > 0 || share.left);
        for share in self.members.values_mut() {
            share.flows = 0;
            share.wanting_flows = 0;
        }
        for (member, news) in &news {
            let share = self.members.entry(*member).or_default();
            share.delivered_bytes += news.bytes;
            share.flows = news.flows;
            share.wanting_flows = news.wanting_flows;
        }
        let mut shares: Vec<_> = self.members.values().copied().collect();
        law::shares_step(&mut self.state, &mut shares, now_ns);
        for (share, new) in self.members.values_mut().zip(shares) {
            *share = new;
        }
        let capped = |(_, share): &(&Member, &mp_host_share)| share.cap_bytes_per_s > 0;
        let caps = self.members.iter().filter(capped);
        let feedback = |share| law::feedback_of(&self.state, share);
        self.feedback = caps
            .clone()
            .map(|(m, share)| (*m, feedback(share).bytes_per_s))
            .collect();
        self.change(caps.map(|(m, share)| (*m, share.cap_bytes_per_s)).collect())
    }

    /// Nobody has a cap any more.
    pub fn end(&mut self, now_ns: u64) -> Vec<Member> {
        let caps = std::mem::take(&mut self.caps);
        *self = Self {
            aliases: self.aliases.clone(),
            ..Self::new(now_ns)
        };
        caps.into_keys().collect()
    }

    fn change(&mut self, caps: Caps) -> Vec<Member> {
        let before = std::mem::replace(&mut self.caps, caps);
        let all = before.keys().chain(self.caps.keys());
        let mut changed: Vec<_> = all
            .filter(|member| before.get(*member) != self.caps.get(*member))
            .copied()
            .collect();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Of every host that has flows, or of which something else moved, which never wants: it does not tell.
    fn news(&mut self, table: &Table, sums: &[(mp_host_key, u64)], now_ns: u64) -> AllNews {
        let mut all = AllNews::new();
        let mut delivered = HashMap::<Member, u64>::new();
        for (key, flow) in table.iter().filter(|(_, flow)| !flow.outside) {
            let host = self.aliases.standing(key.mesh);
            let news = all.entry((host, key.direction)).or_default();
            let demand = demand(key.direction, flow, now_ns);
            news.flows += u32::from(law::flow_moves(&demand));
            news.wanting_flows += u32::from(law::flow_wants(&demand));
            *delivered.entry((key.mesh, key.direction)).or_default() += flow.progress.acked_bytes;
        }
        for (key, bytes) in sums {
            *delivered.entry((key.address, key.direction)).or_default() += bytes;
        }
        for ((address, direction), bytes) in &delivered {
            let member = (self.aliases.standing(*address), *direction);
            let before = self.delivered.get(&(*address, *direction));
            // A sum that shrank was forgotten, and begins anew from what it is.
            let more = bytes.saturating_sub(before.copied().unwrap_or(0));
            if more > 0 || self.caps.contains_key(&member) {
                all.entry(member).or_default().bytes += more;
            }
        }
        self.delivered = delivered;
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::intf::{mp_flow_key, mp_progress};

    const S: u64 = 1_000_000_000;
    const DOWN: u32 = intf::mp_direction_MP_DOWN;

    fn host(n: u8) -> [u8; 16] {
        [n; 16]
    }

    /// A download that has got so many bytes, with more under way.
    fn flow(n: u8, port: u16, acked_bytes: u64) -> (mp_flow_key, FlowState) {
        let key = mp_flow_key {
            mesh: host(n),
            mesh_port: port,
            ..Default::default()
        };
        let flow = FlowState {
            progress: mp_progress {
                acked_bytes,
                seen: 1,
                ..Default::default()
            },
            max_end: 1,
            ..Default::default()
        };
        (key, flow)
    }

    /// Else a host gets more by opening more connections, or keeps a cap that nobody gains by.
    #[test]
    fn a_host_with_more_gets_a_cap_until_it_is_alone() {
        let mut shares = Shares::new(0);
        let mut fast = 0;
        for second in 1..=20 {
            let cap = shares.caps().get(&(host(1), DOWN)).copied();
            let rate = cap.unwrap_or(500_000).min(500_000);
            fast += rate;
            // What the fast host leaves of 600 kB/s goes to the slow one.
            let slow = 600_000 * second - fast;
            // Its bytes are of two connections.
            let table = vec![flow(1, 1, fast / 2), flow(1, 2, fast / 2), flow(2, 1, slow)];
            shares.step(&table, &[], second * S);
        }
        let cap = shares.caps()[&(host(1), DOWN)];
        assert!((290_000..340_000).contains(&cap), "{cap}");
        // Each of its two connections is told half of it.
        let parts: Vec<_> = shares.parts().collect();
        assert_eq!(parts, [((host(1), DOWN), cap, cap / 2)]);
        assert!(!shares.caps().contains_key(&(host(2), DOWN)));
        // Alone its cap rises, and ends when it bounds nothing.
        for second in 21..=40 {
            let cap = shares.caps().get(&(host(1), DOWN)).copied();
            fast += cap.unwrap_or(500_000).min(500_000);
            shares.step(&vec![flow(1, 1, fast)], &[], second * S);
            let next = shares.caps().get(&(host(1), DOWN)).copied();
            assert!(
                next.unwrap_or(u64::MAX) >= cap.unwrap_or(0),
                "alone, and lowered"
            );
        }
        assert!(shares.caps().is_empty(), "{:?}", shares.caps());
    }

    /// Else files, which are over before they could use it, or a server that sends no more, would have the
    /// others lowered.
    #[test]
    fn a_download_wants_more_while_it_is_in_the_mesh_an_upload_for_a_second() {
        let over = FlowState {
            progress: mp_progress {
                seen: 1,
                ..Default::default()
            },
            data_ns: S,
            ..Default::default()
        };
        let under_way = FlowState { max_end: 1, ..over };
        let said_all = FlowState {
            paused_ns: S / 2,
            ..under_way
        };
        let up = intf::mp_direction_MP_UP;
        let wants =
            |direction, flow: &FlowState, now_ns| law::flow_wants(&demand(direction, flow, now_ns));
        assert!(wants(DOWN, &under_way, 9 * S));
        assert!(!wants(DOWN, &over, S));
        assert!(!wants(DOWN, &said_all, S), "its application is the limit");
        assert!(wants(up, &over, 2 * S - 1));
        assert!(!wants(up, &over, 2 * S));
    }

    /// Else whoever leaves in mid-download has all others throttled, for as long as its flow is remembered.
    #[test]
    fn who_leaves_holds_nobody() {
        let mut shares = Shares::new(0);
        let mut bytes = [0, 0];
        for second in 1..=60 {
            let cap = shares.caps().get(&(host(1), DOWN)).copied();
            let rate = cap.unwrap_or(500_000).min(500_000);
            bytes[0] += rate;
            // The other gets what is left of 600 kB/s, and is gone after half a minute.
            bytes[1] += if second <= 30 { 600_000 - rate } else { 0 };
            let table = vec![flow(1, 1, bytes[0]), flow(2, 1, bytes[1])];
            shares.step(&table, &[], second * S);
            if second == 30 {
                assert!(shares.caps().contains_key(&(host(1), DOWN)));
            }
            assert!(second < 35 || shares.caps().is_empty(), "{second} s");
        }
        assert!(shares.is_active(&(host(1), DOWN)));
        assert!(!shares.is_active(&(host(2), DOWN)));
        // An address that is never answered is none.
        for second in 61..=100 {
            bytes[0] += 500_000;
            let ghost = flow(second as u8, 1, 0);
            shares.step(&vec![flow(1, 1, bytes[0]), ghost], &[], second * S);
            assert!(!shares.is_active(&(host(second as u8), DOWN)));
            assert!(shares.caps().is_empty());
        }
    }

    /// Else who is on another port of this box, and takes none of the air, holds others to a cap.
    #[test]
    fn who_is_outside_takes_no_part() {
        let mut shares = Shares::new(0);
        for second in 1..=30 {
            let (key, state) = flow(1, 1, 900_000 * second);
            let outside = FlowState {
                outside: true,
                ..state
            };
            let table = vec![(key, outside), flow(2, 1, 300_000 * second)];
            shares.step(&table, &[], second * S);
            assert!(shares.caps().is_empty());
            assert!(!shares.is_active(&(host(1), DOWN)));
        }
        assert!(shares.is_active(&(host(2), DOWN)));
    }

    /// Else what waits of each goes on to cost the other its route.
    #[test]
    fn hosts_share_a_lossy_mesh_once_one_has_lost_its_route() {
        let mut shares = Shares::new(0);
        let mut bytes = [0, 0];
        for second in 1..=25 {
            bytes[0] += 50_000;
            let route = !(15..20).contains(&second);
            bytes[1] += if route { 50_000 } else { 0 };
            let table = vec![flow(1, 1, bytes[0]), flow(2, 1, bytes[1])];
            shares.step(&table, &[], second * S);
            assert_eq!(shares.active_hosts(), if second < 16 { 0 } else { 2 });
        }
    }

    /// Else it gets a share for each of its addresses, and what it has by one is not what it has.
    #[test]
    fn a_host_is_all_its_addresses() {
        let mut shares = Shares::new(0);
        let udp = |n: u8| mp_host_key {
            address: host(n),
            direction: DOWN,
        };
        shares.step(
            &vec![flow(1, 1, 1000), flow(3, 1, 500)],
            &[(udp(3), 100)],
            S,
        );
        assert_eq!(shares.members.len(), 2);
        // The second address is found to be the first one's, and sums go on.
        shares.aliases = Arc::new(Aliases([(host(3), host(1))].into()));
        let table = vec![flow(1, 1, 1000), flow(3, 1, 700), flow(2, 1, 9)];
        shares.step(&table, &[(udp(3), 130)], 2 * S);
        let got = |n| shares.members[&(host(n), DOWN)];
        assert_eq!((got(1).delivered_bytes, got(1).flows), (1230, 2));
        assert_eq!((got(2).delivered_bytes, got(2).flows), (9, 1));
        assert_eq!(got(3).flows, 0, "what it got is the first one's");
    }

    /// Else a host's sum would fall when a connection ends, and rise by all when another begins.
    #[test]
    fn a_sum_goes_on_when_flows_end_and_udp_is_part_of_it() {
        let mut shares = Shares::new(0);
        let key = mp_host_key {
            address: host(1),
            direction: DOWN,
        };
        let mut step = |second: u64, table: &Table, ended: u64, udp: u64| {
            shares.step(table, &[(key, ended), (key, udp)], second * S);
            shares.members.get(&(host(1), DOWN)).copied()
        };
        let delivered =
            |share: Option<mp_host_share>| share.map_or(0, |share| share.delivered_bytes);
        assert_eq!(delivered(step(1, &vec![flow(1, 1, 1000)], 0, 100)), 1100);
        let other = step(2, &vec![flow(1, 2, 50)], 1000, 150);
        assert_eq!(delivered(other), 1200, "another flow, more UDP");
        let anew = step(3, &vec![flow(1, 2, 20)], 1050, 150);
        assert_eq!(delivered(anew), 1220, "the same ports anew");
        assert_eq!(anew.map(|share| share.flows), Some(1));
        let forgotten = step(4, &vec![flow(1, 2, 20)], 0, 150);
        assert_eq!(delivered(forgotten), 1220, "a sum that was forgotten");
        let alone = step(5, &vec![], 20, 160);
        assert_eq!(alone.map(|share| share.flows), Some(0), "UDP alone");
        for second in 6..=9 {
            assert!(step(second, &vec![], 20, 160).is_some() == (second < 9));
        }
    }
}
