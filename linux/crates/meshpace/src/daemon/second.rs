// SPDX-License-Identifier: GPL-2.0-only
//! What a running gateway does once a second: it reads the table, shares out, and says how things stand.
use super::{report, Gateway};
use crate::base::errors::Result;
use crate::base::system::now_ns;
use crate::config::Law;
use crate::hosts::registry::Seen;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{mp_direction_MP_DOWN, mp_host_key};
use crate::release::cache::{Acked, Round};

impl Gateway {
    pub(super) fn tick(&mut self) -> Result<()> {
        let now = now_ns();
        let held = self.holding.held_flows();
        let config = self.task.config();
        let seen = self.hosts.look(&self.maps, config, &held, now)?;
        let Seen {
            table,
            others,
            ended,
        } = seen;
        let acknowledged = self.hosts.meter().mesh_bytes_per_s(&table);
        self.policy.limit_strangers(acknowledged, &others);
        let (holds, controls) = (self.machine.holds(), config.controls_goodput());
        self.policy.throttle(&self.maps, &table, controls && holds);
        let asks = config.law == Law::Even && holds;
        if asks {
            self.policy.wake(&self.maps, &table, now);
        }
        let mut sums = others;
        sums.extend(ended);
        self.share(&table, &sums, now);
        let capped = self.policy.shares().caps().keys();
        let capped = capped.map(|(address, _)| *address);
        let config = self.task.config();
        let paths = self.hosts.find_paths(&self.maps, config, &table, capped);
        self.holding.set_round(self.round(&table, asks));
        self.files
            .renew(|| report::status(self, &table, &paths, now));
        Ok(())
    }

    /// For the retransmit cache.
    fn round(&self, table: &Table, probes: bool) -> Round {
        let downloads = table
            .iter()
            .filter(|(key, _)| key.direction == mp_direction_MP_DOWN);
        let acked = |flow: &FlowState| Acked {
            ack: flow.progress.ack,
            bytes: flow.progress.acked_bytes,
        };
        Round {
            acked: downloads.map(|(key, flow)| (*key, acked(flow))).collect(),
            probes,
            aliases: self.policy.shares().aliases().clone(),
        }
    }

    /// Sets what hosts may get; the threads that hold packets hear of it.
    fn share(&mut self, table: &Table, sums: &[(mp_host_key, u64)], now: u64) {
        let config = self.task.config();
        let regrouped = self.hosts.identify(&self.maps, config, table, sums);
        if regrouped {
            self.policy.set_aliases(self.hosts.aliases().clone());
        }
        let evenly = config.shares_evenly() && self.machine.holds();
        let shared = self.policy.share(&self.maps, table, sums, evenly, now);
        if shared.changed || regrouped {
            let shares = self.policy.shares();
            let (caps, aliases) = (shares.caps().clone(), shares.aliases().clone());
            self.holding.set_caps(caps, aliases);
        }
        self.complain(shared.refusal);
    }
}
