// SPDX-License-Identifier: GPL-2.0-only
//! What may be spent on asking stalled paths and on waking up stalled senders, by host and in all (core's
//! budget.h), and whose turn it is: the host's that was asked longest ago, and of its flows likewise.
use std::collections::HashMap;

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::intf::{mp_budget, mp_flow_key, mp_probe, MP_PROBE_END_NS};
use crate::kernel::law;

/// By now every budget is full again, and whose turn it was is forgotten.
const REMEMBERED_NS: u64 = MP_PROBE_END_NS;

#[derive(Default)]
struct Host {
    budget: mp_budget,
    latest_ns: u64,
}

/// Bounded by the budget of all: nobody gets in but by an ask.
#[derive(Default)]
pub struct Asks {
    hosts: HashMap<Address, Host>,
    all: mp_budget,
}

impl Asks {
    /// Puts those that are due in the order of their turns.
    pub fn by_turns(&self, due: &mut [(mp_flow_key, mp_probe)], aliases: &Aliases) {
        let latest_ns = |host: &Address| self.hosts.get(host).map_or(0, |host| host.latest_ns);
        due.sort_by_cached_key(|(key, probe)| {
            (latest_ns(&aliases.standing(key.mesh)), probe.latest_ns)
        });
    }

    /// Whether the host, by the address that stands for it, may be asked now; then it counts as asked.
    pub fn spend(&mut self, host: &Address, now_ns: u64) -> bool {
        let mut budget = self
            .hosts
            .get(host)
            .map_or_else(mp_budget::default, |host| host.budget);
        let may = law::ask_spend(&mut budget, &mut self.all, now_ns);
        if may {
            let latest_ns = now_ns;
            self.hosts.insert(*host, Host { budget, latest_ns });
        }
        may
    }

    /// Once a second: who was not asked for long is as one that never was.
    pub fn forget(&mut self, now_ns: u64) {
        self.hosts
            .retain(|_, host| now_ns.saturating_sub(host.latest_ns) < REMEMBERED_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::intf::{MP_ASKS_PER_S, MP_HOST_ASKS_PER_S};

    const S: u64 = 1_000_000_000;

    fn flow(host: u8, port: u16) -> (mp_flow_key, mp_probe) {
        let key = mp_flow_key {
            mesh: [host; 16],
            mesh_port: port,
            ..Default::default()
        };
        (key, mp_probe::default())
    }

    /// Three hosts with a hundred flows each do not keep a fourth from being asked every other second.
    #[test]
    fn hosts_take_turns_however_many_flows_they_have() {
        let mut asks = Asks::default();
        let mut flows: Vec<_> = (0..300).map(|i| flow((i % 3) as u8, i)).collect();
        flows.push(flow(9, 1));
        let mut asked = 0;
        for second in 1..=20 {
            let now_ns = second * S;
            asks.by_turns(&mut flows, &Aliases::default());
            let mut all = 0;
            for (key, probe) in &mut flows {
                if asks.spend(&key.mesh, now_ns) {
                    probe.latest_ns = now_ns;
                    all += 1;
                    asked += u32::from(key.mesh == [9; 16]);
                }
            }
            assert_eq!(all, MP_ASKS_PER_S, "the budget is used");
        }
        assert!(asked >= 20 / (3 + 1) * 2, "{asked}");
        assert!(flows.iter().filter(|(_, p)| p.latest_ns > 0).count() > 100);
    }

    #[test]
    fn one_host_gets_its_part_and_is_forgotten_later() {
        let mut asks = Asks::default();
        let asked = (0..100).filter(|_| asks.spend(&[1; 16], S)).count();
        assert_eq!(asked, MP_HOST_ASKS_PER_S as usize);
        asks.forget(2 * S);
        assert_eq!(asks.hosts.len(), 1);
        asks.forget(S + REMEMBERED_NS);
        assert!(asks.hosts.is_empty());
    }
}
