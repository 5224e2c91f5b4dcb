// SPDX-License-Identifier: GPL-2.0-only
//! What hosts are held to, as the main loop publishes it for the thread that has packets wait, and who of them is to be
//! silent for a moment.
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use portable_atomic::AtomicU64;

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::intf::{self, mp_silence};
use crate::kernel::law;
use crate::policy::airtime::Busy;
use crate::policy::shares::{Caps, Member};

const ENDED: &str = "its holder ended the program";

type Latest = (Arc<Caps>, Arc<Aliases>, Arc<Busy>);

#[derive(Default)]
pub struct Published {
    number: AtomicU64,
    latest: Mutex<Latest>,
}

impl Published {
    pub fn publish(&self, caps: Caps, aliases: Arc<Aliases>, busy: Arc<Busy>) {
        let latest = (Arc::new(caps), aliases, busy);
        *self.latest.lock().expect(ENDED) = latest;
        self.number.fetch_add(1, Ordering::Release);
    }
}

#[derive(Default)]
pub struct Held {
    number: u64,
    caps: Arc<Caps>,
    aliases: Arc<Aliases>,
    busy: Arc<Busy>,
    silence: mp_silence,
}

impl Held {
    /// Takes what is new; whether something is.
    pub fn take(&mut self, published: &Published) -> bool {
        let number = published.number.load(Ordering::Acquire);
        if number == self.number {
            return false;
        }
        self.number = number;
        (self.caps, self.aliases, self.busy) = published.latest.lock().expect(ENDED).clone();
        true
    }

    /// The address that stands for the host that has this one.
    pub fn standing(&self, address: Address) -> Address {
        self.aliases.standing(address)
    }

    pub fn has_cap(&self, member: &Member) -> bool {
        self.caps.contains_key(member)
    }

    /// What a host is held to, bytes/s; 0: nothing.
    pub fn bytes_per_s(&self, member: &Member) -> u64 {
        let cap_bytes_per_s = self.caps.get(member).copied().unwrap_or(0);
        law::held_bytes_per_s(cap_bytes_per_s, member.1 == intf::mp_direction_MP_UP)
    }

    /// Hosts that keep the air busy.
    pub fn busy(&self) -> Vec<Address> {
        self.busy.hosts.iter().copied().collect()
    }

    /// A flow of the host begins that has this address: the busy ones are silent for a moment, unless it is one of
    /// them. Until when, if that is longer than before.
    pub fn begins(&mut self, address: Address, hop_wait_ns: u64, now_ns: u64) -> Option<u64> {
        let (busy, standing) = (&self.busy, self.aliases.standing(address));
        if busy.hosts.is_empty() || busy.hosts.contains(&standing) {
            return None;
        }
        let longer = law::silence_ask(&mut self.silence, busy.silence_ns, hop_wait_ns, now_ns);
        longer.then_some(self.silence.until_ns)
    }

    /// When TCP of a host leaves, or an ACK of its own, that would leave then.
    pub fn in_silence_ns(&self, member: &Member, due_ns: u64) -> u64 {
        law::silence_due_ns(&self.silence, self.busy.hosts.contains(&member.0), due_ns)
    }
}
