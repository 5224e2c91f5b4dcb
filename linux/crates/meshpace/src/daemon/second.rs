// SPDX-License-Identifier: GPL-2.0-only
//! What a running gateway does once a second: it reads the table, shares out, and says how things stand.
use std::sync::Arc;

use super::report;
use super::Gateway;
use crate::base::errors::{Context, Result};
use crate::base::system::now_ns;
use crate::config::Law;
use crate::hosts::flows;
use crate::hosts::identity;
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::intf::{mp_direction_MP_DOWN, mp_host_key};
use crate::policy::shares;
use crate::policy::shares::Member;
use crate::release::cache::{self, Acked};

impl Gateway {
    pub(super) fn tick(&mut self) -> Result<()> {
        let now = now_ns();
        let mut table = self.maps.all_flows().context("reading the flow table")?;
        self.expire(&mut table, now);
        let held = &self.queue.held_flows;
        let held = held.lock().expect("its holder ended the program").clone();
        for (key, flow) in &mut table {
            flow.outside |= self.hosts.is_outside(&key.mesh);
            flow.waits = held.contains(key);
        }
        self.meter.update(&table, now);
        let mut others = self.maps.other_bytes().context("what is not TCP")?;
        others.retain(|(key, _)| !self.hosts.is_outside(&key.address));
        self.strangers.step(self.meter.mesh_bps(&table), &others);
        let controlled = self.config.controls_goodput() && self.holds();
        let floors = self.goodput.tick(if controlled { &table } else { &[] });
        for (key, floor_ns) in floors {
            // One that cannot be written is tried again when it changes.
            match self.maps.set_floor(&key, floor_ns) {
                Ok(()) => report::throttle(&key, floor_ns, &table),
                Err(error) => log::warn!("{}: not throttled: {error:#}", flows::name(&key)),
            }
        }
        let asks = self.config.law == Law::Even && self.holds();
        if let Some(prompts) = self.prompts.as_mut().filter(|_| asks) {
            prompts.tick(&self.maps, &table, &self.shares.aliases, now);
        }
        let mut hosts = flows::hosts_of(&table);
        others.extend(self.maps.ended_bytes());
        for (address, _) in self.share(&table, &others, now) {
            hosts.entry(address).or_insert(0);
        }
        let paths = self.hosts.refresh(&self.maps, &self.config, &hosts);
        *self.living.lock().expect("its holder ended the program") = Some(self.round(&table, asks));
        let status = report::status(self, &table, &paths, now);
        *self.shared.lock().expect("its holder ended the program") = Arc::new(status);
        Ok(())
    }

    /// For the retransmit cache.
    fn round(&self, table: &Table, probes: bool) -> cache::Round {
        let downloads = table
            .iter()
            .filter(|(key, _)| key.direction == mp_direction_MP_DOWN);
        let acked = |flow: &FlowState| Acked {
            ack: flow.ack,
            bytes: flow.acked_bytes,
        };
        cache::Round {
            acked: downloads.map(|(key, flow)| (*key, acked(flow))).collect(),
            probes,
            aliases: self.shares.aliases.clone(),
        }
    }

    /// Sets what hosts may get; returns those that have a cap.
    fn share(&mut self, table: &Table, sums: &[(mp_host_key, u64)], now: u64) -> Vec<Member> {
        let regrouped = self.identify(table, sums);
        let changed = if self.config.shares_evenly() && self.holds() {
            self.shares.step(table, sums, now)
        } else {
            self.shares.end(now)
        };
        let caps = self.shares.caps();
        for member in changed.iter().filter(|member| !caps.contains_key(*member)) {
            self.maps.lift_cap(&shares::key_of(member));
        }
        let mut refusal = None;
        for (member, cap_bps, flow_bps) in self.shares.parts() {
            let key = shares::key_of(&member);
            refusal = self.maps.set_cap(&key, cap_bps, flow_bps).err().or(refusal);
        }
        if !changed.is_empty() || regrouped {
            let aliases = self.shares.aliases.clone();
            self.queue.caps.publish(caps.clone(), aliases);
        }
        self.complain(refusal);
        self.shares.caps().keys().copied().collect()
    }

    /// Finds out which addresses in use are one host; whether that has changed.
    fn identify(&mut self, table: &Table, udp: &[(mp_host_key, u64)]) -> bool {
        let of_flows = table.iter().map(|(key, _)| key.mesh);
        let used = of_flows.chain(udp.iter().map(|(key, _)| key.address));
        let place = |address| self.hosts.place(address);
        let changed = self.identities.update(&self.config, &used.collect(), place);
        if changed {
            let aliases = self.identities.aliases().clone();
            identity::write(&self.maps, &self.shares.aliases, &aliases);
            self.shares.aliases = aliases;
        }
        changed
    }

    fn expire(&mut self, table: &mut Table, now: u64) {
        let idle_ns = self.config.idle_timeout_s * 1_000_000_000;
        table.retain(|(key, flow)| {
            let over = flows::is_over(flow, now, idle_ns);
            if over {
                self.maps.remove_flow(key);
                self.expired += 1;
            }
            !over
        });
    }
}
