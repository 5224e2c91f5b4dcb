// SPDX-License-Identifier: GPL-2.0-only
//! What a running gateway does once a second: it reads the table, shares out, and says how things stand; and between
//! seconds, where the air is shared.
use std::collections::HashSet;

use super::{report, Gateway};
use crate::base::errors::Result;
use crate::base::system::now_ns;
use crate::config::Law;
use crate::hosts::identity::Address;
use crate::hosts::registry::Seen;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{self, mp_direction_MP_DOWN, mp_flow_key, mp_host_key};
use crate::policy::compare::Look;
use crate::policy::Sharing;
use crate::release::cache::{Acked, Round};
use crate::setup::release::Release;

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
            let way = |address: &_| self.hosts.neighbour_to(address);
            self.policy.wake(&self.maps, &table, way, now);
        }
        self.hear_opaque(&others, &held);
        let look = Look {
            table: &table,
            ended: &ended,
            aliases: self.policy.shares().aliases(),
            caps: self.policy.shares().caps(),
            now_ns: now,
            side: self.side(),
        };
        self.tries.compare.look(&look);
        let mut sums = others;
        sums.extend(ended);
        let config = self.task.config();
        let hosts = &mut self.hosts;
        let regrouped = hosts.identify(&self.maps, config, &table, &sums, now);
        if regrouped {
            self.policy.set_aliases(self.hosts.aliases().clone());
        }
        self.share(&table, &sums, regrouped, now_ns());
        self.policy.judge(&table, &sums, now);
        let config = self.task.config();
        let others = self.without_flows().into_iter();
        let paths = self.hosts.find_paths(&self.maps, config, &table, others);
        let known = paths.iter().filter(|(_, path)| path.is_known());
        let hops = known.map(|(address, path)| (*address, path.hops));
        self.policy.know_hops(hops);
        self.holding.set_round(self.round(&table, asks));
        let seconds = report::seconds(self);
        let is_paced = self.machine.release() != Release::Observe;
        self.files.remember(seconds, is_paced);
        self.files
            .renew(|| report::status(self, &table, &paths, now));
        Ok(())
    }

    /// Who is there by datagrams alone has no flow, and is shown all the same, with all of its addresses in use.
    fn without_flows(&self) -> HashSet<Address> {
        let capped = self.policy.shares().caps().keys();
        let capped = capped.map(|(address, _)| *address);
        let mut all: HashSet<_> = capped.chain(self.policy.served().active()).collect();
        let aliases = &self.policy.shares().aliases().0;
        let others = aliases.iter().filter(|(_, of)| all.contains(*of));
        let others: Vec<_> = others.map(|(address, _)| *address).collect();
        all.extend(others);
        all
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

    /// Whether there is something to do between seconds: who comes when nobody is there may wait for the next one.
    pub(super) fn shares_air(&self) -> bool {
        !matches!(self.sharing(), Sharing::No) && self.policy.shares().air().has_active()
    }

    /// Between seconds: shares of the air follow who comes and goes.
    pub(super) fn step(&mut self) -> Result<()> {
        let held = self.holding.held_flows();
        self.holding.ask_held();
        let config = self.task.config();
        let mut seen = self.hosts.glance(&self.maps, config, &held)?;
        self.hear_opaque(&seen.others, &held);
        seen.others.extend(seen.ended);
        self.share(&seen.table, &seen.others, false, now_ns());
        Ok(())
    }

    fn sharing(&self) -> Sharing {
        let config = self.task.config();
        let holds = self.machine.holds();
        match (config.fairness(), config.watched_fairness()) {
            (Some(fairness), _) if holds => Sharing::Held(fairness),
            (_, Some(fairness)) if !holds => Sharing::Watched(fairness),
            _ => Sharing::No,
        }
    }

    /// What hosts that get or send many datagrams tell; `others`: bytes so far of what is not read as TCP; `held`: lines
    /// of which something waits here.
    fn hear_opaque(&mut self, others: &[(mp_host_key, u64)], held: &HashSet<mp_flow_key>) {
        let config = self.task.config();
        let asks = config.ask_hosts && config.fairness().is_some() && self.machine.holds();
        let others = asks.then_some(others);
        let nobodys_bytes = self.maps.counter(intf::mp_counter_MP_COUNT_NOBODYS_BYTES);
        self.policy
            .hear_opaque(others, nobodys_bytes, held, now_ns());
    }

    /// Sets what hosts may get; the threads that hold packets hear of it. `regrouped`: other addresses are one host.
    fn share(&mut self, table: &Table, sums: &[(mp_host_key, u64)], regrouped: bool, now: u64) {
        let sharing = self.sharing();
        let shared = self.policy.share(&self.maps, table, sums, sharing, now);
        if shared.changed || regrouped {
            let shares = self.policy.shares();
            let (caps, aliases) = (shares.caps().clone(), shares.aliases().clone());
            self.holding.set_caps(caps, aliases, shares.busy().clone());
        }
        self.complain(shared.refusal);
    }
}
