// SPDX-License-Identifier: GPL-2.0-only
//! What hosts of the mesh have got beside what the table of flows tells: of flows that have ended, and of what is not
//! read as TCP. Numbers of bytes so far, of which others take what came between two looks: so each byte has to be in
//! them once, and what a host got elsewhere never.
use std::collections::HashMap;

use crate::hosts::identity::Address;
use crate::kernel::flow_state::{Sums, Table};
use crate::kernel::intf::mp_host_key;

/// Of flows that the kernel has ended, while the table is read. One that ends meanwhile is in the table or is not, and
/// the later sums have it in either case.
#[derive(Default)]
pub struct Ended {
    /// what each host had got by the latest look, in the table and beside it
    got: HashMap<mp_host_key, u64>,
    /// of which flows have ended
    hosts: Vec<mp_host_key>,
}

fn total(sums: &[(mp_host_key, u64)]) -> HashMap<mp_host_key, u64> {
    let mut all = HashMap::new();
    for (key, bytes) in sums {
        *all.entry(*key).or_default() += bytes;
    }
    all
}

/// Who has nothing has no entry: of flows that nobody answers there may be many.
fn of_table(table: &Table) -> HashMap<mp_host_key, u64> {
    let mut all = HashMap::new();
    for (key, flow) in table {
        let bytes = flow.progress.acked_bytes;
        if bytes > 0 {
            let (address, direction) = (key.mesh, key.direction);
            *all.entry(mp_host_key { address, direction }).or_default() += bytes;
        }
    }
    all
}

impl Ended {
    /// What goes with this table, of sums read before it and after it. Where the two differ, what has ended meanwhile
    /// counts as far as the host had got it by the latest look, and the rest with the next one: nothing twice.
    pub fn beside(&mut self, table: &Table, before: &Sums, after: &Sums) -> Sums {
        let (in_table, before, after) = (of_table(table), total(before), total(after));
        let mut sums = Sums::with_capacity(after.len());
        let mut got = in_table.clone();
        for (key, most) in after {
            // A sum that shrank was forgotten by the kernel.
            let least = before.get(&key).copied().unwrap_or(0).min(most);
            let here = in_table.get(&key).copied().unwrap_or(0);
            let had = self.got.get(&key).copied().unwrap_or(0);
            let bytes = had.saturating_sub(here).clamp(least, most);
            sums.push((key, bytes));
            got.insert(key, here + bytes);
        }
        self.got = got;
        self.hosts = sums.iter().map(|(host, _)| *host).collect();
        sums
    }

    /// Of which the kernel has sums.
    pub fn hosts(&self) -> impl Iterator<Item = &mp_host_key> {
        self.hosts.iter()
    }
}

/// Leaves out what hosts got while they were on another port of this box, where they take none of the mesh's air.
#[derive(Default)]
pub struct Inside {
    /// what each had got when it was seen there last
    outside: HashMap<mp_host_key, u64>,
}

impl Inside {
    /// The sums of hosts that are across the mesh, of what they got there.
    pub fn of(&mut self, sums: Sums, is_outside: impl Fn(&Address) -> bool) -> Sums {
        let was = std::mem::take(&mut self.outside);
        let mut inside = Sums::with_capacity(sums.len());
        for (key, bytes) in sums {
            if is_outside(&key.address) {
                self.outside.insert(key, bytes);
                continue;
            }
            // One that the kernel has forgotten meanwhile counts from 0.
            let elsewhere = was.get(&key).copied().filter(|was| *was <= bytes);
            self.outside.extend(elsewhere.map(|was| (key, was)));
            inside.push((key, bytes - elsewhere.unwrap_or(0)));
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::flow_state::FlowState;
    use crate::kernel::intf::{mp_flow_key, mp_progress};

    fn of(n: u8, direction: u32) -> mp_host_key {
        let address = [n; 16];
        mp_host_key { address, direction }
    }

    /// A host's downloads, by what each has got.
    fn table(flows: &[u64]) -> Table {
        let flow = |(port, acked_bytes): (usize, &u64)| {
            let key = mp_flow_key {
                mesh: [1; 16],
                mesh_port: port as u16,
                ..Default::default()
            };
            let progress = mp_progress {
                acked_bytes: *acked_bytes,
                ..Default::default()
            };
            let flow = FlowState {
                progress,
                ..Default::default()
            };
            (key, flow)
        };
        flows.iter().enumerate().map(flow).collect()
    }

    /// Else a host gets in one step all that the flow ever got, and others' caps fall for it.
    #[test]
    fn a_flow_that_ends_while_the_table_is_read_counts_once() {
        let (mut ended, host) = (Ended::default(), of(1, 0));
        let mut got = |flows: &[u64], before: u64, after: u64| {
            let sums = |bytes| vec![(host, bytes)];
            let beside = ended.beside(&table(flows), &sums(before), &sums(after));
            flows.iter().sum::<u64>() + beside[0].1
        };
        assert_eq!(got(&[5000, 100], 70, 70), 5170);
        let read = got(&[5000, 200], 70, 5070);
        assert_eq!(read, 5270, "it ended when it had been read");
        assert_eq!(got(&[300], 5070, 5070), 5370);
        let missed = got(&[], 5070, 5470);
        assert_eq!(missed, 5370, "it ended before: the rest comes next");
        assert_eq!(got(&[], 5470, 5470), 5470);
        assert_eq!(got(&[10], 20, 20), 30, "forgotten by the kernel");
    }

    /// Else one that ends in the second in which its host is first seen is all that host's, twice.
    #[test]
    fn of_who_is_new_the_least_counts() {
        let mut ended = Ended::default();
        let sums = ended.beside(&table(&[900]), &vec![], &vec![(of(1, 0), 900)]);
        assert_eq!(sums, [(of(1, 0), 0)]);
    }

    /// Else the mesh is shared with hosts that are not in it, by their UDP and by what they have sent.
    #[test]
    fn sums_of_who_is_on_another_port_count_for_nothing() {
        let sums = vec![
            (of(1, 0), 10),
            (of(2, 0), 20),
            (of(2, 1), 30),
            (of(3, 1), 40),
        ];
        let left = Inside::default().of(sums, |address| address == &[2; 16]);
        assert_eq!(left, [(of(1, 0), 10), (of(3, 1), 40)]);
    }

    /// Else a host that comes back from there gets in one second all that it ever got, and is held for it.
    #[test]
    fn who_comes_back_from_another_port_has_got_nothing_by_that() {
        let (mut inside, host) = (Inside::default(), of(2, 0));
        let mut bytes = |bytes: u64, is_outside: bool| {
            let sums = inside.of(vec![(host, bytes)], |_| is_outside);
            sums.first().map(|(_, bytes)| *bytes)
        };
        assert_eq!(bytes(1_000_000, true), None);
        assert_eq!(bytes(1_000_300, false), Some(300));
        assert_eq!(bytes(1_000_400, false), Some(400));
        assert_eq!(bytes(2_000_000, true), None, "there again");
        assert_eq!(bytes(2_000_050, false), Some(50));
        assert_eq!(bytes(70, false), Some(70), "forgotten by the kernel");
        assert_eq!(bytes(80, false), Some(80));
    }
}
