// SPDX-License-Identifier: GPL-2.0-only
//! The crate's face: survey, refresh, look up.

use crate::collector::Reading;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::mac::Mac;
use crate::routes::Wanted;
use crate::tables::{Air, Tables};
use crate::tracer::Tracer;
use crate::worker::Worker;
use crate::{survey, FirstHop, Link, Place};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A refresh waits no longer than this for the kernel.
const PATIENCE: Duration = Duration::from_millis(100);
/// The first one, at start, may: `doctor` wants to know.
const PATIENCE_AT_START: Duration = Duration::from_secs(2);
/// Refreshes closer together than this do nothing: once per second, with room for the caller's
/// jitter.
const INTERVAL: Duration = Duration::from_millis(900);
/// What was read last counts for so long while it cannot be read anew, as routes that are known do (routes.rs): one answer
/// of the kernel's that finds no room takes no host's hops away.
const KEPT: Duration = Duration::from_secs(10);

/// What is known of the mesh behind one interface. Holds two threads, which end when it is dropped.
pub struct Sources {
    worker: Worker,
    tracer: Tracer,
    wanted: Arc<Wanted>,
    tables: Tables,
    /// when all of them were read last
    whole: Option<Instant>,
    refreshed: Instant,
}

impl Sources {
    /// Looks at what there is on (below) the mesh interface, within 2 s, and reads its tables for
    /// the first time. Never fails: what is missing, the interface itself included, is among the
    /// findings, and is found by a later [`refresh`](Sources::refresh) when it appears.
    pub fn survey(mesh_if: &str) -> (Sources, Vec<Finding>) {
        let wanted = Arc::new(Wanted::default());
        let (tracer, echoes) = Tracer::start();
        let mut sources = Sources {
            worker: Worker::start(mesh_if, wanted.clone()),
            tracer,
            wanted,
            tables: Tables::default(),
            whole: None,
            refreshed: Instant::now(),
        };
        let troubles = match sources.worker.read(PATIENCE_AT_START) {
            Ok(Some(reading)) => sources.take(reading),
            Ok(None) => vec![timed_out()],
            Err(error) => vec![error],
        };
        let findings = survey::findings(mesh_if, &sources.tables, &troubles, &echoes);
        (sources, findings)
    }

    /// Reads the tables anew; call it once per second (more often does nothing). Waits for the
    /// kernel 100 ms at most: what comes later is taken by the next call, and lookups answer from
    /// the last tables until then.
    ///
    /// # Errors
    /// The first table that could not be read: the interface is gone, a capability is missing. Lookups
    /// answer from the last tables for 10 s more, then from what could be read. The error repeats with
    /// each call while its cause lasts; log it when it changes.
    pub fn refresh(&mut self) -> Result<()> {
        if self.refreshed.elapsed() < INTERVAL {
            return Ok(());
        }
        self.refreshed = Instant::now();
        let reading = match self.worker.read(PATIENCE) {
            Ok(Some(reading)) => reading,
            Ok(None) => {
                log::debug!("the mesh's tables take longer than {PATIENCE:?}");
                return Ok(());
            }
            Err(error) => Reading {
                tables: Tables::default(),
                troubles: vec![error],
                failed: true,
            },
        };
        let troubles = self.take(reading);
        let news = troubles.into_iter().find(Error::is_news);
        news.map_or(Ok(()), Err)
    }

    /// The link to a host of the mesh, from memory: takes microseconds, no system call. `None`: not
    /// (or not yet) known to the kernel or the mesh protocol.
    ///
    /// A host is known once the kernel has a neighbour entry for it or its router, which traffic
    /// makes. A host behind a router, and a count of hops through batman-adv, are found out because
    /// of the lookup itself: they are there one refresh later.
    pub fn lookup(&self, mesh_host: IpAddr) -> Option<Link> {
        let (mac, via) = self.resolve(mesh_host.to_canonical())?;
        self.tables
            .link(mac, via, |target| self.tracer.hops(target))
    }

    /// Whom frames to a host are sent to now: itself, or the router to it. From memory, like
    /// [`lookup`](Sources::lookup).
    pub fn neighbour_to(&self, mesh_host: IpAddr) -> Option<Mac> {
        let (mac, _) = self.resolve(mesh_host.to_canonical())?;
        Some(mac)
    }

    fn resolve(&self, host: IpAddr) -> Option<(Mac, Option<IpAddr>)> {
        let resolved = self.tables.resolve(host);
        if resolved.is_none_or(|(_, via)| via.is_some()) {
            self.wanted.note(host);
        }
        resolved
    }

    /// Who answers for an address on the mesh: from memory, like [`lookup`](Sources::lookup). That a
    /// router does is found out because of the question itself, of IPv6 alone, where it matters: it is
    /// there one refresh later.
    pub fn place(&self, mesh_host: IpAddr) -> Place {
        let host = mesh_host.to_canonical();
        let place = self.tables.place(host);
        if host.is_ipv6() && !matches!(place, Place::OnLink(_)) {
            self.wanted.note(host);
        }
        place
    }

    /// The first hop to a host of which nothing is known: over the mesh's radio (the first where
    /// there are several), to its only neighbour if there is but one. All unknown when the mesh runs
    /// over no Wi-Fi of this box.
    pub fn first_hop(&self) -> FirstHop {
        let air = self.tables.air();
        air.map(|air| air.hop(air.only_station()))
            .unwrap_or_default()
    }

    /// The neighbours on all radios of the mesh, each with its signal here, dBm.
    pub fn neighbours(&self) -> Vec<(Mac, Option<i32>)> {
        let stations = self.tables.airs().flat_map(Air::neighbours);
        let mut list: Vec<_> = stations.map(|s| (s.mac, s.signal_dbm)).collect();
        list.sort_unstable();
        list
    }

    fn take(&mut self, reading: Reading) -> Vec<Error> {
        let now = Instant::now();
        if !reading.failed {
            self.whole = Some(now);
        }
        if !reading.failed || !counts_still(self.whole, now) {
            self.tables = reading.tables;
        }
        reading.troubles
    }
}

/// Whether what was read whole then is better than what lacks something now.
fn counts_still(whole: Option<Instant>, now: Instant) -> bool {
    whole.is_some_and(|at| now.saturating_duration_since(at) < KEPT)
}

fn timed_out() -> Error {
    Error::new("the mesh's tables", std::io::ErrorKind::TimedOut.into())
}

/// The gateway may hand them to the thread of its choice.
const _: fn() = || {
    fn send<T: Send>() {}
    send::<Sources>();
};

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(failed: bool, found: bool) -> Reading {
        Reading {
            tables: Tables {
                found,
                ..Tables::default()
            },
            troubles: Vec::new(),
            failed,
        }
    }

    /// Else all hosts are as far as TTL says, or one hop, whenever netlink has no room for one answer.
    #[test]
    fn what_was_read_counts_for_ten_seconds_when_a_reading_fails() {
        let (mut sources, _) = Sources::survey("no-such-if");
        sources.whole = None;
        sources.take(reading(true, true));
        assert!(sources.tables.found, "there is nothing better");
        sources.take(reading(false, true));
        sources.take(reading(true, false));
        assert!(sources.tables.found, "of the reading before");
        let long_ago = Instant::now().checked_sub(KEPT);
        sources.whole = long_ago;
        sources.take(reading(true, false));
        assert!(!sources.tables.found, "it is too old");
        sources.take(reading(false, true));
        sources.take(reading(false, false));
        assert!(!sources.tables.found, "the interface is gone");
    }
}
