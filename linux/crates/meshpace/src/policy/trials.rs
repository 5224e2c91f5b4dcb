// SPDX-License-Identifier: GPL-2.0-only
//! `fairness = "trials"`: core/'s shares, by which the fast are lowered for as long as the slow gain by it.
use std::collections::BTreeMap;

use crate::kernel::intf::{mp_host_share, mp_shares};
use crate::kernel::law;
use crate::policy::news::{AllNews, Member};
use crate::policy::shares::Part;

pub struct Trials {
    state: mp_shares,
    members: BTreeMap<Member, mp_host_share>,
}

impl Trials {
    pub fn new(now_ns: u64) -> Self {
        let state = mp_shares {
            before_ns: now_ns,
            ..Default::default()
        };
        Self {
            state,
            members: BTreeMap::new(),
        }
    }

    /// A second has passed; returns those that have a cap.
    pub fn step(&mut self, news: &AllNews, now_ns: u64) -> Vec<Part> {
        // Who was active a moment ago has to be seen leaving, also when its flows are forgotten already.
        self.members
            .retain(|member, share| news.contains_key(member) || share.active > 0 || share.left);
        for share in self.members.values_mut() {
            share.flows = 0;
            share.wanting_flows = 0;
        }
        for (member, news) in news {
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
        let capped = self.members.iter().filter(|(_, s)| s.cap_bytes_per_s > 0);
        let flow = |share| law::feedback_of(&self.state, share).bytes_per_s;
        capped
            .map(|(member, share)| (*member, share.cap_bytes_per_s, flow(share)))
            .collect()
    }

    pub fn is_active(&self, member: &Member) -> bool {
        let share = self.members.get(member);
        share.is_some_and(|share| share.active > 0)
    }

    /// Hosts that share a mesh which loses routes; 0, 1: none do.
    pub fn active_hosts(&self) -> u32 {
        self.state.active_hosts
    }

    #[cfg(test)]
    pub fn members(&self) -> &BTreeMap<Member, mp_host_share> {
        &self.members
    }
}
