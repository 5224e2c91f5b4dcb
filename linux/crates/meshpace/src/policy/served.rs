// SPDX-License-Identifier: GPL-2.0-only
//! What each host got in the latest second and what bounds it, for who looks at the gateway: a host around core/'s verdict.h.
use std::collections::HashMap;

use crate::hosts::identity::Address;
use crate::kernel::flow_state::Table;
use crate::kernel::intf::{
    mp_air_host, mp_direction_MP_DOWN as DOWN, mp_direction_MP_UP as UP, mp_host_key, mp_verdict,
};
use crate::kernel::law;
use crate::policy::news::{AllNews, Delivered, NOBODY};
use crate::policy::shares::{Caps, Shares};

const WAYS: [u32; 2] = [DOWN, UP];

/// A host's latest second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Service {
    /// goodput, by direction
    pub kbps: [f64; 2],
    pub is_active: bool,
    /// what waits in the mesh; None: nothing was heard
    pub waits_ms: Option<f64>,
    /// None: the law shares nothing out, or the host has not been there
    pub verdict: Option<mp_verdict>,
}

#[derive(Clone, Copy)]
struct Judged {
    verdict: mp_verdict,
    is_active: bool,
    waits_ms: Option<f64>,
}

#[derive(Default)]
pub struct Served {
    delivered: Delivered,
    before_ns: u64,
    kbps: HashMap<Address, [f64; 2]>,
    judged: HashMap<Address, Judged>,
}

/// Of downloads, else of uploads.
fn waits_ms(host: &mp_air_host) -> Option<f64> {
    let heard = host.way.iter().find(|way| way.present && way.heard);
    heard.map(|way| way.waits_ns as f64 / 1e6)
}

impl Served {
    /// A second has passed, and the shares were reckoned. `sums`: bytes so far of what is not in the table.
    pub fn step(
        &mut self,
        shares: &Shares,
        table: &Table,
        sums: &[(mp_host_key, u64)],
        now_ns: u64,
    ) {
        self.delivered.set_aliases(shares.aliases().clone());
        let news = self.delivered.news(table, sums, |_| false, now_ns);
        self.count(&news, now_ns);
        self.judge(shares);
    }

    fn count(&mut self, news: &AllNews, now_ns: u64) {
        let before_ns = std::mem::replace(&mut self.before_ns, now_ns);
        self.kbps.clear();
        if before_ns == 0 {
            return; // what was got before the first look was not got in a second
        }
        let elapsed_ms = (now_ns.saturating_sub(before_ns) as f64 / 1e6).max(1.0);
        for ((address, direction), news) in news.iter().filter(|(_, news)| news.bytes > 0) {
            let kbps = self.kbps.entry(*address).or_default();
            kbps[*direction as usize] = news.bytes as f64 * 8.0 / elapsed_ms;
        }
    }

    fn judge(&mut self, shares: &Shares) {
        let (air, addresses, hosts) = shares.air().all();
        let level = law::verdict_level(air, &hosts);
        let mut judged = HashMap::with_capacity(hosts.len());
        let hosts = addresses.into_iter().zip(&hosts);
        for (address, host) in hosts.filter(|(address, _)| *address != NOBODY) {
            let bound = |caps: &Caps, way| caps.get(&(address, way)).copied();
            let before = self.judged.get(&address);
            let mut verdict = before.map(|judged| judged.verdict).unwrap_or_default();
            let held = WAYS.map(|way| {
                let held = bound(shares.caps(), way);
                held.or(bound(shares.would(), way)).unwrap_or(0)
            });
            let by_shares = host.way.iter().any(|way| way.cap_bytes_per_s > 0);
            verdict.path_holds = !by_shares && bound(shares.caps(), DOWN).is_some();
            law::verdict_step(&mut verdict, air, host, level, held);
            let now = Judged {
                verdict,
                is_active: host.way.iter().any(|way| way.present),
                waits_ms: waits_ms(host),
            };
            judged.insert(address, now);
        }
        self.judged = judged;
    }

    /// By the address that stands for each.
    pub fn service(&self, address: &Address) -> Service {
        let judged = self.judged.get(address);
        Service {
            kbps: self.kbps.get(address).copied().unwrap_or_default(),
            is_active: judged.is_some_and(|judged| judged.is_active),
            waits_ms: judged.and_then(|judged| judged.waits_ms),
            verdict: judged.map(|judged| judged.verdict),
        }
    }

    /// Who is there, or got something.
    pub fn seen(&self) -> impl Iterator<Item = (Address, Service)> + '_ {
        let got = self.kbps.keys().filter(|a| !self.judged.contains_key(*a));
        let judged = self.judged.keys();
        judged
            .chain(got)
            .map(|address| (*address, self.service(address)))
    }

    /// Who is there by the law's evidence.
    pub fn active(&self) -> impl Iterator<Item = Address> + '_ {
        let active = self.judged.iter().filter(|(_, judged)| judged.is_active);
        active.map(|(address, _)| *address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Fairness;
    use crate::kernel::flow_state::FlowState;
    use crate::kernel::intf::{mp_bound_MP_BOUND_OTHERS, mp_flow_key, mp_progress};

    const STEP_NS: u64 = 100_000_000;

    /// Two downloads of which the second gets a tenth of what it was held to have, lossy, at so many seconds.
    fn table(tenths: u64) -> Table {
        let flow = |n: u8, bytes_per_s: u64| {
            let key = mp_flow_key {
                mesh: [n; 16],
                direction: DOWN,
                ..Default::default()
            };
            let progress = mp_progress {
                acked_bytes: bytes_per_s * tenths / 10,
                seen: 1,
                ..Default::default()
            };
            let flow = FlowState {
                progress,
                max_end: 1,
                hops: 1,
                retransmits: tenths,
                ..Default::default()
            };
            (key, flow)
        };
        vec![flow(1, 900_000), flow(2, 50_000)]
    }

    /// Else an operator who looks before pacing sees neither who is there nor what pacing would change.
    #[test]
    fn where_nothing_is_held_it_is_seen_who_lacks_what() {
        let (mut shares, mut served) = (Shares::new(Fairness::Air, 0), Served::default());
        for tenths in 1..200 {
            let now_ns = tenths * STEP_NS;
            shares.watch(Fairness::Air, &table(tenths), &[], now_ns);
            if tenths % 10 == 0 {
                served.step(&shares, &table(tenths), &[], now_ns);
            }
        }
        assert!(shares.caps().is_empty(), "nobody is held");
        let [near, far] = [1, 2].map(|n| served.service(&[n; 16]));
        assert!((near.kbps[0] - 7200.0).abs() < 100.0, "{near:?}");
        assert!(near.is_active && far.is_active);
        let of = |service: &Service| service.verdict.unwrap();
        assert!(!of(&near).underserved, "{near:?}");
        assert!(
            of(&far).underserved && of(&far).lacks_bytes_per_s > 100_000,
            "{far:?}"
        );
        assert_eq!(of(&far).bound, mp_bound_MP_BOUND_OTHERS);
        assert!(of(&near).over_bytes_per_s > 100_000, "{near:?}");
        assert_eq!(of(&far).over_bytes_per_s, 0);
        assert!(shares.would().contains_key(&([1; 16], DOWN)));
        shares.step(Fairness::Air, &table(200), &[], 200 * STEP_NS);
        assert!(shares.would().is_empty() && !shares.caps().is_empty());
    }

    /// Else all that a flow ever got shows as its first second's goodput.
    #[test]
    fn what_was_got_before_the_first_look_is_no_goodput() {
        let (shares, mut served) = (Shares::new(Fairness::Air, 0), Served::default());
        served.step(&shares, &table(600), &[], 1_000_000_000);
        assert_eq!(served.service(&[1; 16]).kbps, [0.0; 2]);
        served.step(&shares, &table(610), &[], 2_000_000_000);
        assert_eq!(served.service(&[1; 16]).kbps, [7200.0, 0.0]);
    }
}
