// SPDX-License-Identifier: GPL-2.0-only
//! A host around core/'s opaque.h: hosts of the mesh that get or send many datagrams, of which nothing that passes tells what
//! waits on their paths, are asked, and held by what they answer.
use std::collections::{HashMap, HashSet};

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::echo::{Answer, Echo};
use crate::kernel::intf::{
    mp_direction_MP_DOWN as DOWN, mp_direction_MP_UP as UP, mp_flow_key, mp_host_key, mp_opaque,
    mp_opaque_counts, MP_OPAQUE_PATH_NS,
};
use crate::kernel::law;
use crate::policy::asks::Asks;
use crate::policy::news::{AllNews, Member, News, NOBODY};

/// By now nothing is known any more of a host that got no datagram.
const REMEMBERED_NS: u64 = MP_OPAQUE_PATH_NS;

#[derive(Default)]
struct Host {
    state: mp_opaque,
    /// bytes of datagrams so far, by enum mp_direction, and which of its addresses got some last
    datagrams: [u64; 2],
    latest: Option<Address>,
    came_ns: u64,
    asked_ns: u64,
    wait_ns: u64,
    /// of the latest ask, and of the latest answer
    number: u16,
    heard: u16,
}

impl Host {
    /// So much more has come for one of its addresses.
    fn gets(&mut self, address: Address, bytes: u64, now_ns: u64) {
        self.datagrams[DOWN as usize] += bytes;
        self.latest = Some(address);
        self.came_ns = now_ns;
    }

    /// Returns whether it is to be asked.
    fn step(&mut self, known: Option<Known>, now_ns: u64) -> bool {
        // Of one that is not there nothing was delivered.
        let known = known.unwrap_or(Known {
            hops: 0,
            delivered_bytes: self.state.delivered_bytes,
            shared: false,
        });
        self.wait_ns = law::opaque_wait_ns(known.hops, law::even().hop_wait_ns);
        let counts = mp_opaque_counts {
            datagram_bytes: self.datagrams,
            delivered_bytes: known.delivered_bytes,
            shared: known.shared,
        };
        law::opaque_step(&mut self.state, &counts, self.wait_ns, now_ns)
    }

    /// Whom to ask next, and by which number: an answer that comes twice, or behind a later one's, tells nothing.
    fn next(&mut self, now_ns: u64) -> Option<(Address, u16)> {
        self.asked_ns = now_ns;
        law::opaque_asked(&mut self.state, self.wait_ns);
        self.number = self.number.wrapping_add(1);
        self.latest.map(|address| (address, self.number))
    }

    fn hear(&mut self, answer: &Answer) {
        let ahead = answer.number.wrapping_sub(self.heard);
        if ahead == 0 || ahead > u16::MAX / 2 {
            return;
        }
        self.heard = answer.number;
        law::opaque_answered(&mut self.state, self.wait_ns, answer.rtt_ns, answer.at_ns);
    }
}

#[derive(Default)]
pub struct Opaque {
    /// by the address that stands for each
    hosts: HashMap<Address, Host>,
    /// bytes so far, as they were, by each address and direction: no more of them than the kernel has room for
    before: HashMap<Member, u64>,
    asks: Asks,
    /// nobody was asked until now: what hosts have got meanwhile is not known
    rests: bool,
    /// open while somebody gets datagrams: the kernel then notes when packets come
    echo: Option<Echo>,
    pub asked: u64,
    /// hosts of which datagrams wait here, as of the latest step
    waiting: HashSet<Address>,
    /// what is sent of nobody, and what of it counts in the latest step, bytes
    nobody: mp_opaque,
    nobodys_bytes: u64,
}

/// What the caller knows of a host that is there.
#[derive(Clone, Copy)]
pub struct Known {
    pub hops: u32,
    /// what it got so far, of everything
    pub delivered_bytes: u64,
    /// what it gets is bounded by its share of the air
    pub shared: bool,
}

impl Opaque {
    /// Of these lines something waits here: those of datagrams are their hosts'.
    pub fn set_waiting(&mut self, lines: &HashSet<mp_flow_key>, aliases: &Aliases) {
        let of_hosts = lines.iter().filter(|key| key.wired == [0; 16]);
        self.waiting = of_hosts.map(|key| aliases.standing(key.mesh)).collect();
    }

    /// Some time has passed. `others`: bytes so far of what is not read as TCP; `known`: of a host, None of one that is not there.
    pub fn step(
        &mut self,
        others: &[(mp_host_key, u64)],
        aliases: &Aliases,
        known: impl Fn(&Address) -> Option<Known>,
        now_ns: u64,
    ) {
        let answers = self.echo.as_ref().map_or_else(Vec::new, Echo::answers);
        self.take(&answers, aliases);
        let due = self.count(others, aliases, known, now_ns);
        if self.hosts.is_empty() {
            self.echo = None;
        } else if self.echo.is_some() {
            self.ask(&due, now_ns);
        } else {
            // Whom it concerns is asked in the next step: what comes just after bears no time of its own yet.
            self.echo = Some(Echo::open());
        }
    }

    /// With each step: what addresses have sent so far that nothing ever answers, bytes.
    pub fn hear_nobody(&mut self, bytes: u64, now_ns: u64) {
        let hop_wait_ns = law::even().hop_wait_ns;
        self.nobodys_bytes = law::opaque_nobody_step(&mut self.nobody, bytes, hop_wait_ns, now_ns);
    }

    fn take(&mut self, answers: &[Answer], aliases: &Aliases) {
        for answer in answers {
            if let Some(host) = self.hosts.get_mut(&aliases.standing(answer.address)) {
                host.hear(answer);
            }
        }
    }

    /// Returns who is to be asked, who was asked longest ago first.
    fn count(
        &mut self,
        others: &[(mp_host_key, u64)],
        aliases: &Aliases,
        known: impl Fn(&Address) -> Option<Known>,
        now_ns: u64,
    ) -> Vec<Address> {
        let before = std::mem::take(&mut self.before);
        let rested = std::mem::take(&mut self.rests);
        for (key, bytes) in others {
            let member = (key.address, key.direction);
            self.before.insert(member, *bytes);
            // One that the kernel has forgotten meanwhile counts from 0.
            let before = before.get(&member).filter(|before| *before <= bytes);
            let more = bytes - before.unwrap_or(&0);
            if more > 0 && !rested {
                self.add(member, aliases.standing(key.address), more, now_ns);
            }
        }
        self.hosts.retain(|address, host| {
            aliases.standing(*address) == *address && now_ns - host.came_ns < REMEMBERED_NS
        });
        let mut due = Vec::new();
        for (address, host) in &mut self.hosts {
            if host.step(known(address), now_ns) {
                due.push(*address);
            }
        }
        self.asks.forget(now_ns);
        due.sort_by_key(|address| (self.hosts[address].asked_ns, *address));
        due
    }

    /// More has come of a member. Who has got nothing yet may be an address that somebody invents.
    fn add(&mut self, (address, direction): Member, standing: Address, more: u64, now_ns: u64) {
        if direction == DOWN {
            let host = self.hosts.entry(standing).or_default();
            host.gets(address, more, now_ns);
        } else if let Some(host) = self.hosts.get_mut(&standing) {
            host.datagrams[UP as usize] += more;
        }
    }

    fn ask(&mut self, due: &[Address], now_ns: u64) {
        for address in due {
            if !self.asks.spend(address, now_ns) {
                continue;
            }
            let host = self.hosts.get_mut(address);
            let next = host.and_then(|host| host.next(now_ns));
            if let (Some((to, number)), Some(echo)) = (next, &self.echo) {
                self.asked += u64::from(echo.ask(&to, number));
            }
        }
    }

    /// What answers tell of hosts, beside what flows do.
    pub fn tell(&mut self, news: &mut AllNews, now_ns: u64) {
        self.tell_of_nobody(news);
        for (address, host) in &mut self.hosts {
            let waits = self.waiting.contains(address);
            let more = law::opaque_has_more(&mut host.state, waits, now_ns);
            let waits_ns = law::opaque_waits_ns(&host.state);
            let heard_ns = law::opaque_heard_ns(&host.state);
            for way in [DOWN, UP] {
                if !host.state.way[way as usize].many {
                    continue;
                }
                let news: &mut News = news.entry((*address, way)).or_default();
                let wants = law::opaque_wants(&host.state, way, more, host.wait_ns);
                news.flows += 1;
                news.wanting_flows += u32::from(wants);
                news.held |= more && way == DOWN;
                law::queueing_add(&mut news.queueing, waits_ns, heard_ns, now_ns);
            }
        }
    }

    fn tell_of_nobody(&self, news: &mut AllNews) {
        if self.nobody.way[UP as usize].many {
            let news: &mut News = news.entry((NOBODY, UP)).or_default();
            news.bytes += self.nobodys_bytes;
            news.flows += 1;
            news.wanting_flows += 1;
        }
    }

    /// Nobody is asked any more.
    pub fn end(&mut self) {
        let asked = self.asked;
        *self = Self {
            asked,
            rests: true,
            ..Self::default()
        };
    }

    /// Who is held by what it answers where no share of the air bounds it, bytes/s.
    pub fn held(&self) -> impl Iterator<Item = (Member, u64)> + '_ {
        let held = |host: &Host| law::opaque_cap(&host.state, 0);
        let all = self
            .hosts
            .iter()
            .map(move |(a, host)| ((*a, DOWN), held(host)));
        all.filter(|(_, held)| *held > 0)
    }
}

#[cfg(test)]
#[path = "opaque_tests.rs"]
mod tests;
