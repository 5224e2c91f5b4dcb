// SPDX-License-Identifier: GPL-2.0-only
//! All that is known of who is in the mesh, from the kernel's tables and the mesh's.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use meshpace_paths::{Mac, Sources};

use crate::base::errors::{Context, Result};
use crate::config::Config;
use crate::hosts::flows::{self, Meter};
use crate::hosts::identity::{self, Address, Aliases, Identities};
use crate::hosts::paths::{HostPath, Hosts};
use crate::hosts::radio::Lack;
use crate::hosts::sums::{Ended, Inside};
use crate::hosts::uses::Uses;
use crate::kernel::flow_state::{FlowState, Sums, Table};
use crate::kernel::intf::{mp_flow_key, mp_link};
use crate::kernel::law;
use crate::kernel::programs::Maps;

pub struct Registry {
    paths: Hosts,
    identities: Identities,
    meter: Meter,
    ended: Ended,
    ended_inside: Inside,
    others_inside: Inside,
    uses: Uses,
    expired: u64,
}

/// What the kernel's tables hold.
pub struct Seen {
    pub table: Table,
    /// bytes so far of what is not read as TCP, to and from each host of the mesh
    pub others: Sums,
    /// likewise, of flows that have ended
    pub ended: Sums,
}

/// Hops to a flow's host as the kernel reckons them, which does so for downloads alone: what is known, else by TTL.
fn hops(known: Option<u32>, flow: &FlowState, default: u32) -> u32 {
    let told = [known.unwrap_or(0), flow.hops, law::hops_of_ttl(flow.ttl)];
    told.into_iter().find(|hops| *hops > 0).unwrap_or(default)
}

fn idle_ns(config: &Config) -> u64 {
    config.idle_timeout_s * 1_000_000_000
}

impl Registry {
    pub fn new(sources: Sources) -> Self {
        Self {
            paths: Hosts::new(sources),
            identities: Identities::default(),
            meter: Meter::default(),
            ended: Ended::default(),
            ended_inside: Inside::default(),
            others_inside: Inside::default(),
            uses: Uses::default(),
            expired: 0,
        }
    }

    /// A second has passed. `held`: flows of which something waits.
    pub fn look(
        &mut self,
        maps: &Maps,
        config: &Config,
        held: &HashSet<mp_flow_key>,
        now_ns: u64,
    ) -> Result<Seen> {
        let before = maps.ended_bytes()?;
        let mut table = maps.all_flows().context("reading the flow table")?;
        self.expire(maps, config, &mut table, now_ns);
        let seen = self.complete(table, before, maps, config, held)?;
        self.meter.update(&seen.table, now_ns);
        Ok(seen)
    }

    /// Between seconds: the kernel's tables as they are.
    pub fn glance(
        &mut self,
        maps: &Maps,
        config: &Config,
        held: &HashSet<mp_flow_key>,
    ) -> Result<Seen> {
        let before = maps.ended_bytes()?;
        let table = maps.all_flows().context("reading the flow table")?;
        self.complete(table, before, maps, config, held)
    }

    /// What else is known of flows, and what the table does not hold. `before`: bytes of flows that had ended before
    /// the table was read.
    fn complete(
        &mut self,
        mut table: Table,
        mut before: Sums,
        maps: &Maps,
        config: &Config,
        held: &HashSet<mp_flow_key>,
    ) -> Result<Seen> {
        for (key, flow) in &mut table {
            let known = self.paths.known_hops(config, &key.mesh);
            flow.outside |= known == Some(0);
            flow.hops = hops(known, flow, config.default_path.hops);
            flow.waits = held.contains(key);
        }
        let others = maps.other_bytes().context("what is not TCP")?;
        let (mut after, expired) = (maps.ended_bytes()?, maps.expired_bytes()?);
        before.extend(&expired);
        after.extend(expired);
        let ended = self.ended.beside(&table, &before, &after);
        let is_outside = |address: &Address| self.paths.is_outside(config, address);
        Ok(Seen {
            table,
            others: self.others_inside.of(others, is_outside),
            ended: self.ended_inside.of(ended, is_outside),
        })
    }

    fn expire(&mut self, maps: &Maps, config: &Config, table: &mut Table, now_ns: u64) {
        let idle_ns = idle_ns(config);
        table.retain(|(key, flow)| {
            let over = flows::is_over(flow, now_ns, idle_ns);
            if over {
                maps.remove_flow(key);
                self.expired += 1;
            }
            !over
        });
    }

    /// Finds out which addresses in use are one host, of flows and of sums by host; whether that has changed. What flows
    /// had of others is forgotten.
    pub fn identify(
        &mut self,
        maps: &Maps,
        config: &Config,
        table: &Table,
        sums: &Sums,
        now_ns: u64,
    ) -> bool {
        let used = self.uses.step(table, sums, now_ns, idle_ns(config));
        let unused = self.ended.hosts();
        for host in unused.filter(|host| !used.contains(&host.address)) {
            maps.forget_ended(host);
        }
        let before = self.identities.aliases().clone();
        let answered = table
            .iter()
            .filter(|(_, flow)| flow.progress.acked_bytes > 0);
        let answers = answered.map(|(key, _)| key.mesh).collect();
        let place = |address| self.paths.place(address);
        let changed = self.identities.update(config, &used, &answers, place);
        if changed {
            identity::write(maps, &before, self.identities.aliases());
        }
        changed
    }

    /// Looks up the paths of all hosts that have flows, and of these others.
    pub fn find_paths(
        &mut self,
        maps: &Maps,
        config: &Config,
        table: &Table,
        others: impl Iterator<Item = Address>,
    ) -> HashMap<Address, HostPath> {
        let mut hosts = flows::hosts_of(table);
        for address in others {
            hosts.entry(address).or_insert(0);
        }
        self.paths.refresh(maps, config, &hosts)
    }

    /// Whom frames to an address on the mesh are sent to now, as far as the kernel tells.
    pub fn neighbour_to(&self, address: &Address) -> Option<Mac> {
        self.paths.neighbour_to(address)
    }

    /// There is a configuration, or another one.
    pub fn configure(&mut self, maps: &Maps, config: &Config) {
        self.paths.write_stated(maps, config);
        self.identities.forget();
    }

    /// What the law `map` has to do without, and that costs.
    pub fn lacks(&mut self, config: &Config) -> Vec<Lack> {
        self.paths.lacks(config)
    }

    /// The first hop to a host of which nothing is known yet.
    pub fn default_link(&self) -> mp_link {
        self.paths.default_link()
    }

    pub fn aliases(&self) -> &Arc<Aliases> {
        self.identities.aliases()
    }

    /// The group that the configuration puts an address in use into.
    pub fn group(&self, address: &Address) -> Option<&str> {
        self.identities.group(address)
    }

    /// Goodput over the latest second.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Flows that were forgotten.
    pub fn expired(&self) -> u64 {
        self.expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else who is far and sends is taken for near, and gets more of the air than others.
    #[test]
    fn an_upload_has_its_host_s_hops() {
        let upload = |ttl| FlowState {
            ttl,
            ..Default::default()
        };
        assert_eq!(
            hops(Some(3), &upload(63), 1),
            3,
            "the configuration's, or the mesh's"
        );
        assert_eq!(hops(None, &upload(63), 1), 2, "by TTL");
        assert_eq!(hops(None, &upload(0), 5), 5, "by default");
        let download = FlowState {
            hops: 4,
            ..upload(63)
        };
        assert_eq!(hops(None, &download, 1), 4, "the kernel's");
    }
}
