// SPDX-License-Identifier: GPL-2.0-only
//! A host around core/'s shares of the air (law/airtime.h). Both directions of a mesh host are one: they use the same air.
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::config::{Right, Rights};
use crate::hosts::identity::{Address, Aliases};
use crate::kernel::address::address_of;
use crate::kernel::intf::{
    self, mp_air, mp_air_host, mp_air_way, mp_fairness, MP_ALONE_UNKNOWN_Q16,
};
use crate::kernel::law;
use crate::policy::news::{AllNews, Member, News, NOBODY};
use crate::policy::opaque::Known;
use crate::policy::shares::Part;

/// Who keeps the air busy (core's air.h), and is silent for a moment when another's flow begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Busy {
    pub hosts: HashSet<Address>,
    /// silence that was earned so far, ns
    pub silence_ns: u64,
}

const WAYS: [u32; 2] = [intf::mp_direction_MP_DOWN, intf::mp_direction_MP_UP];

pub struct Airtime {
    state: mp_air,
    hosts: BTreeMap<Address, mp_air_host>,
    rights: Arc<Rights>,
    aliases: Arc<Aliases>,
    /// what hosts had got before the first step was not got in it
    begun: bool,
}

fn is_present(host: &mp_air_host) -> bool {
    host.way.iter().any(|way| way.present)
}

/// Whether more is known of what a way gets alone than of a newcomer's.
fn is_known(way: &mp_air_way) -> bool {
    way.alone_bytes_per_s > 0 && way.unsure_q16 < MP_ALONE_UNKNOWN_Q16
}

/// A host's news, as core/ wants them before a step.
fn fill_in(host: &mut mp_air_host, news: [Option<&News>; 2]) {
    let news = news.map(|news| news.copied().unwrap_or_default());
    let hops = news[0].hops.max(news[1].hops);
    // The path of who has no flow at the moment has not changed.
    host.hops = if hops > 0 { hops } else { host.hops };
    for (way, news) in host.way.iter_mut().zip(news) {
        way.delivered_bytes += news.bytes;
        way.excess_bytes += news.excess_bytes;
        way.flows = news.flows;
        way.wanting_flows = news.wanting_flows;
        way.again_packets = news.again_packets;
        law::queueing_tell(&news.queueing, way);
        way.held = news.held;
    }
}

/// What is stated of the address that stands for a host, and of all those for which it stands.
fn right_of(rights: &Rights, aliases: &Aliases, standing: Address) -> Right {
    let all = rights.of_all();
    if rights.are_alike() {
        return all;
    }
    let others = aliases.0.iter().filter(|(_, of)| **of == standing);
    let addresses = others.map(|(address, _)| address);
    let own = rights.of_address(address_of(&standing));
    let stated = addresses.fold(own, |right, address| {
        right.or(rights.of_address(address_of(address)))
    });
    Right {
        weight: stated.weight.or(all.weight),
        least_kbps: stated.least_kbps.or(all.least_kbps),
    }
}

fn entitle(host: &mut mp_air_host, right: &Right) {
    host.weight_q16 = right.weight_q16();
    host.least_bytes_per_s = right.least_bytes_per_s();
}

impl Airtime {
    pub fn new(
        fairness: mp_fairness,
        rights: Arc<Rights>,
        aliases: Arc<Aliases>,
        now_ns: u64,
    ) -> Self {
        let state = mp_air {
            fairness,
            before_ns: now_ns,
            ..Default::default()
        };
        Self {
            state,
            hosts: BTreeMap::new(),
            rights,
            aliases,
            begun: false,
        }
    }

    /// What is known of hosts stays.
    pub fn set_fairness(&mut self, fairness: mp_fairness) {
        self.state.fairness = fairness;
    }

    /// Who is another address's host now is none of its own.
    pub fn join(&mut self, aliases: Arc<Aliases>) {
        self.hosts
            .retain(|address, _| aliases.standing(*address) == *address);
        self.aliases = aliases;
        self.entitle_all();
    }

    /// What the configuration or the mesh tell of the hops to an address; of a host with flows these tell it.
    pub fn know_hops(&mut self, address: Address, hops: u32) {
        if let Some(host) = self.hosts.get_mut(&self.aliases.standing(address)) {
            host.hops = hops;
        }
    }

    pub fn set_rights(&mut self, rights: Arc<Rights>) {
        self.rights = rights;
        self.entitle_all();
    }

    fn entitle_all(&mut self) {
        for (address, host) in &mut self.hosts {
            entitle(host, &right_of(&self.rights, &self.aliases, *address));
        }
    }

    /// Some time has passed; returns those that have a cap.
    pub fn step(&mut self, news: &AllNews, now_ns: u64) -> Vec<Part> {
        self.meet(news);
        let mut hosts: Vec<_> = self.hosts.values().copied().collect();
        law::airtime_step(&mut self.state, &mut hosts, now_ns);
        for (host, new) in self.hosts.values_mut().zip(hosts) {
            *host = new;
        }
        self.forget(news);
        self.parts()
    }

    /// Who has shown no progress yet takes no part: of addresses that nobody answers there may be thousands.
    fn meet(&mut self, news: &AllNews) {
        for ((address, _), _) in news.iter().filter(|(_, news)| news.bytes > 0) {
            self.hosts.entry(*address).or_insert_with(|| {
                let mut host = mp_air_host {
                    nobody: *address == NOBODY,
                    ..Default::default()
                };
                entitle(&mut host, &right_of(&self.rights, &self.aliases, *address));
                host
            });
        }
        for (address, host) in &mut self.hosts {
            fill_in(host, WAYS.map(|way| news.get(&(*address, way))));
        }
        if !self.begun {
            let ways = self.hosts.values_mut().flat_map(|host| &mut host.way);
            ways.for_each(|way| {
                way.before_bytes = way.delivered_bytes;
                way.before_excess = way.excess_bytes;
            });
            self.begun = true;
        }
    }

    /// Who has no flow, is not there and of whom no more is known than of a newcomer is one.
    fn forget(&mut self, news: &AllNews) {
        self.hosts.retain(|address, host| {
            let has_flows = || WAYS.iter().any(|way| news.contains_key(&(*address, *way)));
            is_present(host) || host.way.iter().any(is_known) || has_flows()
        });
    }

    /// Nobody is held to what the latest step says, nor was meanwhile: what it says is what the law would have held to.
    pub fn let_go(&mut self) {
        let ways = self.hosts.values_mut().flat_map(|host| &mut host.way);
        ways.for_each(|way| way.cap_bytes_per_s = 0);
    }

    /// All of them, as core/ keeps them.
    pub(super) fn all(&self) -> (&mp_air, Vec<Address>, Vec<mp_air_host>) {
        let (addresses, hosts) = self.hosts.iter().map(|(a, h)| (*a, *h)).unzip();
        (&self.state, addresses, hosts)
    }

    pub fn busy(&self) -> Busy {
        let is_busy = |host: &mp_air_host| law::air_is_busy(&self.state, host);
        let hosts = self.hosts.iter().filter(|(_, host)| is_busy(host));
        Busy {
            hosts: hosts.map(|(address, _)| *address).collect(),
            silence_ns: self.state.silence_ns,
        }
    }

    fn parts(&self) -> Vec<Part> {
        let ways = self.hosts.iter().flat_map(|(address, host)| {
            let members = WAYS.map(|way| (*address, way));
            members.into_iter().zip(&host.way)
        });
        ways.filter(|(_, way)| way.cap_bytes_per_s > 0)
            .map(|(member, way)| {
                (
                    member,
                    way.cap_bytes_per_s,
                    law::feedback_part(way.cap_bytes_per_s, way.flows),
                )
            })
            .collect()
    }

    pub(super) fn way(&self, (address, direction): &Member) -> Option<&mp_air_way> {
        let host = self.hosts.get(address);
        host.map(|host| &host.way[*direction as usize])
    }

    /// What is known of a host for what it is asked (opaque.rs).
    pub fn known(&self, address: &Address) -> Option<Known> {
        let host = self.hosts.get(address)?;
        let down = &host.way[intf::mp_direction_MP_DOWN as usize];
        Some(Known {
            hops: host.hops,
            delivered_bytes: down.delivered_bytes,
            shared: down.cap_bytes_per_s > 0,
        })
    }

    pub fn is_active(&self, member: &Member) -> bool {
        self.way(member).is_some_and(|way| way.present)
    }

    /// Whether anybody is there.
    pub fn has_active(&self) -> bool {
        self.state.present > 0
    }

    /// As so many hosts a host counts, and what it is to have at least, bytes/s; None: it has not been there.
    pub fn right(&self, address: &Address) -> Option<(f64, u64)> {
        let host = self.hosts.get(address)?;
        Some((f64::from(host.weight_q16) / 65536.0, host.least_bytes_per_s))
    }

    /// What a member gets when its host is alone, bytes/s; None: not known.
    pub fn alone_bytes_per_s(&self, member: &Member) -> Option<u64> {
        let alone = self.way(member).map_or(0, |way| way.alone_bytes_per_s);
        (alone > 0).then_some(alone)
    }

    /// L, the air that there is, of what one host alone has; None: nobody shares it.
    pub fn air(&self) -> Option<f64> {
        let air = f64::from(self.state.air_q16) / 65536.0;
        self.is_shared().then_some(air)
    }

    /// Whether shares bound hosts, and not the search of their flows.
    pub fn is_shared(&self) -> bool {
        self.state.shared
    }
}

#[cfg(test)]
#[path = "airtime_tests.rs"]
mod tests;
