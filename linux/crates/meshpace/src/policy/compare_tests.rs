// SPDX-License-Identifier: GPL-2.0-only
//! Seconds of a mesh, before and while paced: who speaks against pacing, and who cannot.
use super::*;
use crate::kernel::flow_state::FlowState;
use crate::kernel::intf::{mp_flow_key, mp_progress, mp_retreat};

const S: u64 = 1_000_000_000;

fn address(n: u16) -> Address {
    let [high, low] = n.to_be_bytes();
    let mut address = [0; 16];
    (address[0], address[14], address[15]) = (0xfd, high, low);
    address
}

/// A mesh whose hosts download, each so many bytes a second; 0: it has died in the middle.
struct Mesh {
    compare: Compare,
    got: BTreeMap<u16, u64>,
    seconds: u64,
    caps: Caps,
    /// something waits here where packets are paced
    holds: bool,
    aliases: Arc<Aliases>,
}

impl Mesh {
    fn new() -> Self {
        Self {
            compare: Compare::default(),
            got: BTreeMap::new(),
            seconds: 1000,
            caps: Caps::new(),
            holds: true,
            aliases: Arc::default(),
        }
    }

    /// So many seconds in which each host gets so much; `wants`: there is more to come.
    fn pass(&mut self, seconds: u32, side: Side, hosts: &[(u16, u64)], wants: bool) {
        for _ in 0..seconds {
            self.seconds += 1;
            let mut table = Table::new();
            for (n, bytes) in hosts {
                let got = self.got.entry(*n).or_default();
                *got += bytes;
                let key = mp_flow_key {
                    mesh: address(*n),
                    ..mp_flow_key::default()
                };
                let flow = FlowState {
                    progress: mp_progress {
                        acked_bytes: *got,
                        seen: 1,
                        ..mp_progress::default()
                    },
                    max_end: u32::from(wants),
                    mean_rtt_ns: 20_000_000,
                    waits: side == Side::Paced && wants && self.holds,
                    ..FlowState::default()
                };
                table.push((key, flow));
            }
            self.compare.look(&Look {
                table: &table,
                ended: &[],
                aliases: &self.aliases,
                caps: &self.caps,
                now_ns: self.seconds * S,
                side: Some(side),
            });
        }
    }

    /// As the program that begins to pace has it.
    fn begins_to_pace(&mut self) {
        let before = serde_json::to_vec(&self.compare.before()).unwrap();
        self.compare = Compare::after(serde_json::from_slice(&before).unwrap());
    }
}

const BEFORE: &[(u16, u64)] = &[(1, 400_000), (2, 100_000), (3, 50_000)];

fn observed() -> Mesh {
    let mut mesh = Mesh::new();
    mesh.pass(120, Side::Before, BEFORE, true);
    mesh.begins_to_pace();
    mesh
}

/// Host 1, by another of its addresses too.
fn by_two_addresses() -> Arc<Aliases> {
    Arc::new(Aliases([(address(9), address(1))].into()))
}

/// Else a host whose address that stood for it is no longer in use would be a stranger to the try, and could not end it.
#[test]
fn a_host_is_the_same_by_another_of_its_addresses() {
    let mut mesh = Mesh::new();
    mesh.aliases = by_two_addresses();
    mesh.pass(120, Side::Before, &[(1, 300_000), (9, 100_000)], true);
    mesh.begins_to_pace();
    mesh.aliases = Arc::default();
    mesh.pass(300, Side::Paced, &[(9, 20_000)], true);
    assert_eq!(mesh.compare.verdict(), Some((1, 1)));
    let (rows, _) = mesh.compare.rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].before.kbps().unwrap().round(), 3200.0);
}

/// Else each new privacy address would be a row of its own, and in the end take somebody's place.
#[test]
fn what_an_address_had_as_a_stranger_is_its_host_s() {
    let mut mesh = observed();
    mesh.pass(2, Side::Paced, &[(1, 400_000), (9, 100_000)], true);
    assert_eq!(mesh.compare.rows().0.len(), 2);
    mesh.aliases = by_two_addresses();
    mesh.pass(1, Side::Paced, &[(1, 400_000), (9, 200_000)], true);
    let (rows, _) = mesh.compare.rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].before.kbps().unwrap().round(), 3200.0);
}

#[test]
fn a_rate_held_far_too_low_is_harm() {
    let mut mesh = observed();
    let low = [(1, 50_000), (2, 20_000), (3, 10_000)];
    mesh.pass(44, Side::Paced, &low, true);
    assert_eq!(mesh.compare.verdict(), None, "too little is known");
    mesh.pass(5, Side::Paced, &low, true);
    assert_eq!(mesh.compare.verdict(), Some((3, 3)));
    let (rows, all) = mesh.compare.rows();
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.worse && row.tells));
    let kbps = |sum: &Sum| sum.kbps().unwrap().round();
    assert_eq!(
        (kbps(&rows[0].before), kbps(&rows[0].paced)),
        (3200.0, 400.0)
    );
    assert_eq!((kbps(&all.before), kbps(&all.paced)), (4400.0, 640.0));
    assert_eq!(all.before.wait_ms().unwrap().round(), 20.0);
}

/// What is shared out anew is what pacing is for.
#[test]
fn who_had_more_than_his_part_ends_nobody_s() {
    let mut mesh = observed();
    mesh.pass(
        300,
        Side::Paced,
        &[(1, 100_000), (2, 110_000), (3, 80_000)],
        true,
    );
    assert_eq!(mesh.compare.verdict(), None);
    let (rows, _) = mesh.compare.rows();
    assert!(rows[0].worse && !rows[1].worse && !rows[2].worse);
}

#[test]
fn who_ends_leaves_or_comes_is_no_harm() {
    for after in [&[][..], &[(1, 0), (2, 0), (3, 0)], &[(2, 250_000)]] {
        let mut mesh = observed();
        mesh.pass(300, Side::Paced, after, true);
        assert_eq!(mesh.compare.verdict(), None, "{after:?}");
    }
    let mut mesh = observed();
    mesh.pass(300, Side::Paced, &[(1, 1000), (2, 1000), (3, 1000)], false);
    assert_eq!(mesh.compare.verdict(), None, "they want no more");
    let (rows, all) = mesh.compare.rows();
    assert!(rows.is_empty() && !all.tells, "nothing is said");
    // Nine more come, and each gets a quarter of what it had.
    let mut mesh = observed();
    let more: Vec<_> = (1..=12)
        .map(|n| (n, 400_000 / if n > 2 { 12 } else { 4 * u64::from(n) }))
        .collect();
    mesh.pass(300, Side::Paced, &more, true);
    assert_eq!(mesh.compare.verdict(), None, "twelve share what three had");
}

/// A liar has its own vote, and needs more than half of them.
#[test]
fn one_who_lies_ends_nobody_s() {
    let mut mesh = observed();
    mesh.pass(
        300,
        Side::Paced,
        &[(1, 2000), (2, 100_000), (3, 50_000)],
        true,
    );
    assert_eq!(mesh.compare.verdict(), None);
    // New names have no past to compare with.
    let mut mesh = observed();
    let many: Vec<_> = (100..130)
        .map(|n| (n, 100))
        .chain(BEFORE.iter().copied())
        .collect();
    mesh.pass(300, Side::Paced, &many, true);
    assert_eq!(mesh.compare.verdict(), None);
}

#[test]
fn nothing_is_said_without_a_time_before() {
    let mut mesh = Mesh::new();
    mesh.pass(300, Side::Paced, &[(1, 1000)], true);
    assert_eq!(mesh.compare.verdict(), None);
    let (rows, all) = mesh.compare.rows();
    assert!(!rows[0].tells && !all.tells);
}

/// Else a thousand hosts, or a flood of names, would fill the memory of a router.
#[test]
fn hosts_are_bounded_and_who_was_at_work_longest_stays() {
    let mut mesh = observed();
    mesh.pass(60, Side::Before, BEFORE, true);
    let many: Vec<_> = (100..2000).map(|n| (n, 10)).collect();
    mesh.pass(10, Side::Before, &many, true);
    assert_eq!(mesh.compare.hosts.len(), HOSTS);
    let stays = BEFORE
        .iter()
        .filter(|(n, _)| mesh.compare.hosts.contains_key(&address(*n)));
    assert_eq!(stays.count(), 3);
    let bytes = serde_json::to_vec(&mesh.compare.before()).unwrap().len();
    assert!(bytes < HOSTS * 4096, "{bytes}");
    assert_eq!(std::mem::size_of::<mp_retreat>(), 16);
}
