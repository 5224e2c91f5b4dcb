// SPDX-License-Identifier: GPL-2.0-only
//! Which addresses are in use: those of which something moved lately. Others are forgotten, here and in the kernel's
//! tables, or what a host had in weeks would fill them.
use std::collections::{BTreeSet, HashMap};

use crate::hosts::identity::Address;
use crate::kernel::flow_state::{Sums, Table};

/// What is not in the table of flows, by address: how much there was of it, and when it became as much.
#[derive(Default)]
pub struct Uses {
    moved: HashMap<Address, (u64, u64)>,
}

impl Uses {
    /// The addresses that are in use. `sums`: bytes so far of what is not in the table.
    pub fn step(
        &mut self,
        table: &Table,
        sums: &Sums,
        now_ns: u64,
        idle_ns: u64,
    ) -> BTreeSet<Address> {
        let before = std::mem::take(&mut self.moved);
        for (key, bytes) in sums {
            self.moved.entry(key.address).or_insert((0, now_ns)).0 += bytes;
        }
        for (address, (bytes, at_ns)) in &mut self.moved {
            let same = before.get(address).filter(|(was, _)| was == bytes);
            *at_ns = same.map_or(now_ns, |(_, at_ns)| *at_ns);
        }
        let lately = |at_ns: u64| now_ns.saturating_sub(at_ns) <= idle_ns;
        let flows = table.iter().filter(|(_, flow)| lately(flow.last_ns));
        let others = self.moved.iter().filter(|(_, (_, at_ns))| lately(*at_ns));
        let flows = flows.map(|(key, _)| key.mesh);
        flows.chain(others.map(|(address, _)| *address)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::flow_state::FlowState;
    use crate::kernel::intf::{mp_flow_key, mp_host_key};

    const S: u64 = 1_000_000_000;
    const IDLE: u64 = 180 * S;

    fn sum(n: u8, direction: u32, bytes: u64) -> (mp_host_key, u64) {
        let address = [n; 16];
        (mp_host_key { address, direction }, bytes)
    }

    /// Else each privacy address that a host had in weeks is one of its own until the table of aliases is full, and those
    /// that come then are hosts apart.
    #[test]
    fn an_address_is_in_use_while_something_of_it_moves() {
        let mut uses = Uses::default();
        let flow = |n: u8, last_ns| {
            let key = mp_flow_key {
                mesh: [n; 16],
                ..Default::default()
            };
            let flow = FlowState {
                last_ns,
                ..Default::default()
            };
            (key, flow)
        };
        let mut used = |second: u64, table: Table, sums: Sums| {
            let used = uses.step(&table, &sums, second * S, IDLE);
            used.into_iter()
                .map(|address| address[0])
                .collect::<Vec<_>>()
        };
        let first = vec![sum(2, 0, 10), sum(2, 0, 5), sum(3, 1, 10)];
        assert_eq!(used(1, vec![flow(1, S)], first.clone()), [1, 2, 3]);
        let more = vec![sum(2, 0, 10), sum(2, 0, 6), sum(3, 1, 10)];
        assert_eq!(used(60, vec![flow(1, S)], more.clone()), [1, 2, 3]);
        assert_eq!(used(181, vec![flow(1, S)], more.clone()), [1, 2, 3]);
        assert_eq!(used(182, vec![flow(1, S)], more.clone()), [2]);
        assert_eq!(used(240, vec![], more), [2]);
        assert_eq!(used(241, vec![], first.clone()), [2], "forgotten, anew");
        assert_eq!(used(242, vec![flow(3, 242 * S)], first), [2, 3]);
        assert!(used(243, vec![], vec![]).is_empty());
    }
}
