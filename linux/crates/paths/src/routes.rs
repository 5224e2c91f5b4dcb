// SPDX-License-Identifier: GPL-2.0-only
//! The routers of hosts that are not on-link. The kernel is asked for each such host (so that every
//! rule and metric counts, and a table of any size costs nothing), never from the caller's own
//! thread.

use crate::error::is_lost;
use crate::rtnetlink::{
    matched_route_request, parse_prefix_length, parse_route, route_request, Route,
};
use meshpace_netlink::socket::NetlinkSocket;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A host that nobody asked for this long is forgotten.
const INTEREST: Duration = Duration::from_secs(60);
/// A route is asked for again after this long.
const FRESH: Duration = Duration::from_secs(10);
/// When there is no answer then, it counts for as long again, and is asked for each time.
const KEPT: Duration = Duration::from_secs(2 * FRESH.as_secs());
/// As many hosts as the gateway has flows at most; further ones wait until others are forgotten.
const MOST: usize = 16_384;
/// Routes asked for in one refresh, some 10 us each.
const AT_ONCE: usize = 2_000;

/// The hosts that lookups missed in the neighbour table.
#[derive(Default)]
pub(crate) struct Wanted(Mutex<HashMap<IpAddr, Instant>>);

impl Wanted {
    pub fn note(&self, host: IpAddr) {
        let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.len() < MOST || wanted.contains_key(&host) {
            wanted.insert(host, Instant::now());
        }
    }

    fn current(&self, now: Instant) -> HashSet<IpAddr> {
        let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.retain(|_, at| now.saturating_duration_since(*at) < INTEREST);
        wanted.keys().copied().collect()
    }
}

/// A router, and how many bits of the host's address the route to it goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Router {
    pub address: IpAddr,
    pub prefix_length: u8,
}

/// A host's route, and its prefix's length.
type Known = Option<(Route, u8)>;

#[derive(Default)]
pub(crate) struct Routes(HashMap<IpAddr, (Known, Instant)>);

impl Routes {
    /// The router of each wanted host that is reached through a router on one of `interfaces`, and why
    /// others may be missing.
    pub fn refresh(
        &mut self,
        socket: &mut NetlinkSocket,
        wanted: &Wanted,
        interfaces: &HashSet<u32>,
    ) -> (HashMap<IpAddr, Router>, Option<io::Error>) {
        let trouble = self.update(wanted, Instant::now(), |host| ask(socket, host));
        let routers = self.0.iter().filter_map(|(host, (known, _))| {
            let (route, prefix_length) = (*known)?;
            let address = route
                .gateway
                .filter(|_| interfaces.contains(&route.interface))?;
            let router = Router {
                address,
                prefix_length,
            };
            Some((*host, router))
        });
        (routers.collect(), trouble)
    }

    /// Ends with the first question that nobody answers: each takes seconds then.
    fn update(
        &mut self,
        wanted: &Wanted,
        now: Instant,
        mut ask: impl FnMut(IpAddr) -> io::Result<Known>,
    ) -> Option<io::Error> {
        let wanted = wanted.current(now);
        self.0.retain(|host, _| wanted.contains(host));
        let stale = wanted.iter().filter(|host| {
            let known = self.0.get(*host);
            known.is_none_or(|(_, at)| now.saturating_duration_since(*at) >= FRESH)
        });
        let stale: Vec<IpAddr> = stale.take(AT_ONCE).copied().collect();
        for host in stale {
            match ask(host) {
                Ok(known) => drop(self.0.insert(host, (known, now))),
                Err(error) => {
                    self.0
                        .retain(|_, (_, at)| now.saturating_duration_since(*at) < KEPT);
                    return Some(error);
                }
            }
        }
        None
    }
}

/// What the kernel says no to is an answer.
fn answered(asked: io::Result<()>) -> io::Result<()> {
    match asked {
        Err(error) if is_lost(&error) => Err(error),
        _ => Ok(()),
    }
}

/// No route to it: no link either.
fn ask(socket: &mut NetlinkSocket, host: IpAddr) -> io::Result<Known> {
    let mut route = None;
    answered(socket.exchange(route_request(host), |body| route = parse_route(body)))?;
    let Some(route) = route else {
        return Ok(None);
    };
    // Where the kernel does not say, the route is taken for the host's own.
    let mut length = if host.is_ipv4() { 32 } else { 128 };
    if route.gateway.is_some() {
        answered(socket.exchange(matched_route_request(host), |body| {
            length = parse_prefix_length(body).unwrap_or(length);
        }))?;
    }
    Ok(Some((route, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_asked_for_once_in_ten_seconds_and_forgotten_after_a_minute() {
        let host = IpAddr::from([10, 9, 0, 1]);
        let wanted = Wanted::default();
        wanted.note(host);
        let mut routes = Routes::default();
        let start = Instant::now();
        let mut asked = 0;
        for second in 0..=60 {
            routes.update(&wanted, start + Duration::from_secs(second), |_| {
                asked += 1;
                Ok(None)
            });
        }
        assert_eq!(asked, 6);
        assert!(routes.0.is_empty());
        assert!(wanted.0.lock().unwrap().is_empty());
    }

    /// Else a host behind a router is of unknown hops for ten seconds, and another host, for one answer that is lost.
    #[test]
    fn a_route_that_is_known_stays_while_nobody_answers() {
        let host = IpAddr::from([10, 9, 0, 1]);
        let wanted = Wanted::default();
        wanted.note(host);
        let mut routes = Routes::default();
        let start = Instant::now();
        let mut update = |second, answer: io::Result<Known>| {
            let mut answer = Some(answer);
            let now = start + Duration::from_secs(second);
            let trouble = routes.update(&wanted, now, |_| answer.take().unwrap());
            let known = routes
                .0
                .get(&host)
                .is_some_and(|(known, _)| known.is_some());
            (known, trouble.is_some())
        };
        let route = Route {
            interface: 7,
            gateway: None,
        };
        let lost = || Err(io::Error::from_raw_os_error(libc::ENOBUFS));
        assert_eq!(update(0, Ok(Some((route, 32)))), (true, false));
        assert_eq!(update(10, lost()), (true, true));
        assert_eq!(update(19, lost()), (true, true), "asked again");
        assert_eq!(update(20, lost()), (false, true));
        assert_eq!(update(21, Ok(Some((route, 32)))), (true, false));
        assert_eq!(update(31, Ok(None)), (false, false), "it has none now");
    }

    #[test]
    fn a_flood_of_hosts_is_bounded() {
        let wanted = Wanted::default();
        for number in 0..200_000u32 {
            wanted.note(IpAddr::from(number.to_be_bytes()));
        }
        let mut routes = Routes::default();
        let mut asked = 0;
        routes.update(&wanted, Instant::now(), |_| {
            asked += 1;
            Ok(None)
        });
        assert_eq!(wanted.0.lock().unwrap().len(), MOST);
        assert_eq!(asked, AT_ONCE);
    }
}
