// SPDX-License-Identifier: GPL-2.0-only
//! Which addresses are one host to the law `even`: a host is what the configuration groups; else all that
//! one MAC address answers for on the mesh; else, behind a router, an IPv6 /64; else an address.
//!
//! One of a host's addresses stands for all of them: its share and its cap go by that one, here, in the
//! kernel and at the thread that holds packets, for as long as any of the host's addresses is in use.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use meshpace_paths::{Mac, Place};

use crate::config::{group_of, Config};
use crate::kernel::address::address_of;
use crate::kernel::programs::Maps;

/// As in the flow table.
pub type Address = [u8; 16];

/// More than a host gives itself: Linux has at most 16 IPv6 addresses of an interface by itself
/// (net.ipv6.conf.*.max_addresses), and there is one of IPv4. It is still one host, or many addresses
/// would be many shares; but the operator hears of what may be a router with proxy ARP.
const MOST_OF_A_HOST: usize = 17;

/// A route with a longer prefix leads to a single host, or to a part of a /64 that several share.
const HOST_PREFIX: u8 = 64;

/// By what an address is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Holder {
    Group(String),
    Neighbour(Mac),
    /// the first 64 bits
    Prefix([u8; 8]),
    /// nothing but itself
    Address,
}

/// Of each address that another one of its host's stands for: that one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases(pub HashMap<Address, Address>);

impl Aliases {
    /// The address that stands for this one's host.
    pub fn standing(&self, address: Address) -> Address {
        self.0.get(&address).copied().unwrap_or(address)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The hosts behind the addresses in use.
#[derive(Default)]
pub struct Identities {
    /// of each address in use
    holders: HashMap<Address, Holder>,
    /// of each host of which an address is in use: the one that stands for all
    standing: HashMap<Holder, Address>,
    aliases: Arc<Aliases>,
    /// neighbours of which the log says that they have many addresses
    noted: HashSet<Mac>,
}

fn holder_by_place(address: &Address, place: Place) -> Option<Holder> {
    match place {
        Place::OnLink(mac) => Some(Holder::Neighbour(mac)),
        Place::Routed { prefix_length } => {
            let whole = prefix_length <= HOST_PREFIX && address_of(address).is_ipv6();
            let prefix = || address[..8].try_into().expect("8 bytes of 16");
            Some(if whole {
                Holder::Prefix(prefix())
            } else {
                Holder::Address
            })
        }
        Place::Unknown => None,
    }
}

impl Identities {
    pub fn aliases(&self) -> &Arc<Aliases> {
        &self.aliases
    }

    /// The group that the configuration puts an address in use into.
    pub fn group(&self, address: &Address) -> Option<&str> {
        match self.holders.get(address) {
            Some(Holder::Group(name)) => Some(name),
            _ => None,
        }
    }

    /// Once a second, with all addresses in use, and those of them that somebody answers at; whether another address stands
    /// for one of them now. Beyond `max_flows` of them each is a host of its own: first those that may be anybody's
    /// inventions, then those that were not there before.
    pub fn update(
        &mut self,
        config: &Config,
        used: &BTreeSet<Address>,
        answers: &HashSet<Address>,
        place: impl Fn(IpAddr) -> Place,
    ) -> bool {
        let used = self.first_of(config.max_flows as usize, used, answers);
        let used = || used.iter();
        let holder = |address: &Address| (*address, self.holder(config, address, &place));
        self.holders = used().map(holder).collect();
        let mut hosts: HashMap<&Holder, Vec<Address>> = HashMap::new();
        for address in used() {
            match &self.holders[address] {
                Holder::Address => {}
                holder => hosts.entry(holder).or_default().push(*address),
            }
        }
        let standing: HashMap<Holder, Address> = hosts
            .iter()
            .map(|(holder, addresses)| ((*holder).clone(), self.stands(holder, addresses)))
            .collect();
        let others = hosts.iter().flat_map(|(holder, addresses)| {
            let stands = standing[*holder];
            let others = addresses.iter().filter(move |other| **other != stands);
            others.map(move |other| (*other, stands))
        });
        let aliases = Aliases(others.collect());
        let many: HashSet<Mac> = hosts.iter().filter_map(has_many).collect();
        self.standing = standing;
        self.note(many);
        let changed = aliases != *self.aliases;
        if changed {
            self.aliases = Arc::new(aliases);
        }
        changed
    }

    fn first_of(
        &self,
        most: usize,
        used: &BTreeSet<Address>,
        answers: &HashSet<Address>,
    ) -> BTreeSet<Address> {
        if used.len() <= most {
            return used.clone();
        }
        let mut all: Vec<_> = used.iter().copied().collect();
        all.sort_by_key(|address| {
            let is_known = self.holders.contains_key(address);
            (!answers.contains(address), !is_known)
        });
        all.truncate(most);
        all.into_iter().collect()
    }

    /// The configuration has been read again: groups may be others.
    pub fn forget(&mut self) {
        self.holders.clear();
    }

    /// A neighbour that the kernel has forgotten, as it does with those that are silent, is still the same.
    fn holder(
        &self,
        config: &Config,
        address: &Address,
        place: impl Fn(IpAddr) -> Place,
    ) -> Holder {
        let known = self.holders.get(address);
        if let Some(Holder::Group(_)) = known {
            return known.cloned().expect("it is there");
        }
        let ip = address_of(address);
        match group_of(&config.group, ip) {
            Some(group) if group.split => Holder::Address,
            Some(group) => Holder::Group(group.name.clone()),
            None => holder_by_place(address, place(ip))
                .or_else(|| known.cloned())
                .unwrap_or(Holder::Address),
        }
    }

    /// The address that stands for a host: the one that did, unless it is somebody else's now; else the
    /// lowest in use. IPv4 is lower than IPv6.
    fn stands(&self, holder: &Holder, addresses: &[Address]) -> Address {
        let before = self.standing.get(holder);
        let before = before.filter(|a| self.holders.get(*a).is_none_or(|now| now == holder));
        before.copied().unwrap_or(addresses[0])
    }

    fn note(&mut self, many: HashSet<Mac>) {
        for mac in many.difference(&self.noted) {
            log::warn!(
                "{mac} answers for more than {MOST_OF_A_HOST} addresses, which are one host; if it is a \
                 router with proxy ARP, name them in a [[group]] with split = true"
            );
        }
        self.noted = many;
    }
}

fn has_many((holder, addresses): (&&Holder, &Vec<Address>)) -> Option<Mac> {
    match holder {
        Holder::Neighbour(mac) if addresses.len() > MOST_OF_A_HOST => Some(*mac),
        _ => None,
    }
}

/// The kernel finds a host's cap by whichever of its addresses a packet bears.
pub fn write(maps: &Maps, before: &Aliases, now: &Aliases) {
    for gone in before
        .0
        .keys()
        .filter(|address| !now.0.contains_key(*address))
    {
        maps.set_alias(gone, None);
    }
    for (address, standing) in &now.0 {
        if before.0.get(address) != Some(standing) {
            maps.set_alias(address, Some(standing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::address::bytes_of;

    fn address(text: &str) -> Address {
        bytes_of(text.parse().unwrap())
    }

    fn on_link(last: u8) -> Place {
        Place::OnLink(Mac([2, 0, 0, 0, 0, last]))
    }

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    /// A mesh by its addresses, in whatever order, and what it says of each.
    fn look(hosts: &mut Identities, config: &Config, mesh: &[(&str, Place)]) -> bool {
        let used = mesh.iter().map(|(a, _)| address(a)).collect();
        hosts.update(config, &used, &HashSet::new(), |ip| {
            let of = |(a, _): &&(&str, Place)| a.parse() == Ok(ip);
            mesh.iter().find(of).unwrap().1
        })
    }

    /// By which address each is known.
    fn standing(hosts: &Identities, addresses: &[&str]) -> Vec<String> {
        let stands = |a: &&str| address_of(&hosts.aliases().standing(address(a))).to_string();
        addresses.iter().map(stands).collect()
    }

    /// Else a dual-stack host has two shares, and one more for each privacy address.
    #[test]
    fn what_one_mac_address_answers_for_is_one_host() {
        let mut hosts = Identities::default();
        let mesh = [
            ("fd00::2", on_link(2)),
            ("fd00::aaaa", on_link(2)),
            ("10.1.0.2", on_link(2)),
            ("10.1.0.3", on_link(3)),
            ("fd00::4", Place::Unknown),
        ];
        assert!(look(&mut hosts, &Config::default(), &mesh));
        assert!(!look(&mut hosts, &Config::default(), &mesh), "nothing new");
        let all = mesh.map(|(a, _)| a);
        let expected = ["10.1.0.2", "10.1.0.2", "10.1.0.2", "10.1.0.3", "fd00::4"];
        assert_eq!(standing(&hosts, &all), expected);
    }

    /// Else a host would lose its cap, and what is known of its rate, with each new privacy address.
    #[test]
    fn the_address_that_stands_for_a_host_stays_while_any_of_its_is_in_use() {
        let mut hosts = Identities::default();
        let config = Config::default();
        look(&mut hosts, &config, &[("fd00::9", on_link(2))]);
        look(
            &mut hosts,
            &config,
            &[("fd00::9", on_link(2)), ("10.1.0.2", on_link(2))],
        );
        assert_eq!(standing(&hosts, &["10.1.0.2"]), ["fd00::9"]);
        look(
            &mut hosts,
            &config,
            &[("10.1.0.2", on_link(2)), ("fd00::7", on_link(2))],
        );
        let both = standing(&hosts, &["10.1.0.2", "fd00::7"]);
        assert_eq!(both, ["fd00::9", "fd00::9"], "though it is idle");
        // It is somebody else's now.
        look(
            &mut hosts,
            &config,
            &[("10.1.0.2", on_link(2)), ("fd00::9", on_link(3))],
        );
        let both = standing(&hosts, &["10.1.0.2", "fd00::9"]);
        assert_eq!(both, ["10.1.0.2", "fd00::9"]);
        look(&mut hosts, &config, &[]);
        assert!(hosts.aliases().is_empty());
        look(&mut hosts, &config, &[("fd00::7", on_link(2))]);
        assert_eq!(
            standing(&hosts, &["fd00::7"]),
            ["fd00::7"],
            "it begins anew"
        );
    }

    /// Else a host would fall apart whenever the kernel forgets a neighbour, or an address would keep
    /// an owner that it has no more.
    #[test]
    fn a_neighbour_that_is_forgotten_is_the_same_one_that_answers_is_another() {
        let mut hosts = Identities::default();
        let config = Config::default();
        let four = ("10.1.0.2", on_link(2));
        look(&mut hosts, &config, &[four, ("fd00::2", on_link(2))]);
        assert!(!look(
            &mut hosts,
            &config,
            &[four, ("fd00::2", Place::Unknown)]
        ));
        assert_eq!(standing(&hosts, &["fd00::2"]), ["10.1.0.2"]);
        assert!(look(&mut hosts, &config, &[four, ("fd00::2", on_link(3))]));
        assert_eq!(standing(&hosts, &["fd00::2"]), ["fd00::2"]);
    }

    /// Behind a router no MAC address tells. A route to a single address of a /64 says that others of it
    /// are elsewhere, as in a routed mesh whose nodes share one prefix.
    #[test]
    fn behind_a_router_a_whole_64_is_one_host_and_an_ipv4_address_is() {
        let mut hosts = Identities::default();
        let routed = |prefix_length| Place::Routed { prefix_length };
        let mesh = [
            ("fd00:7::1", routed(64)),
            ("fd00:7::2", routed(48)),
            ("fd00:8::1", routed(48)),
            ("fd00:9::1", routed(128)),
            ("fd00:9::2", routed(128)),
            ("10.9.0.1", routed(24)),
            ("10.9.0.2", routed(24)),
            ("fd00::fe", on_link(1)),
            ("10.1.0.254", on_link(1)),
        ];
        look(&mut hosts, &Config::default(), &mesh);
        let all = mesh.map(|(a, _)| a);
        let mut expected: Vec<_> = all.to_vec();
        expected[1] = "fd00:7::1";
        expected[7] = "10.1.0.254";
        assert_eq!(standing(&hosts, &all), expected);
    }

    /// What the operator knows better goes before what the mesh shows, in both directions.
    #[test]
    fn a_group_goes_before_all_else() {
        let mut hosts = Identities::default();
        let grouped = config(
            "[[group]]\nname='home'\naddresses=['10.1.0.2','10.1.0.3','fd00:7::/48']\n\
             [[group]]\nname='proxied'\naddresses=['10.2.0.0/16']\nsplit=true\n\
             [[group]]\nname='in it'\naddresses=['10.2.7.0/24']",
        );
        let mesh = [
            ("10.1.0.2", on_link(2)),
            ("10.1.0.3", on_link(3)),
            ("10.1.0.4", on_link(3)),
            ("10.2.0.1", on_link(9)),
            ("10.2.0.2", on_link(9)),
            ("10.2.7.1", on_link(9)),
            ("10.2.7.2", on_link(8)),
            ("fd00:7::1", Place::Unknown),
        ];
        look(&mut hosts, &grouped, &mesh);
        let all = mesh.map(|(a, _)| a);
        let mut expected: Vec<_> = all.to_vec();
        (expected[1], expected[7]) = ("10.1.0.2", "10.1.0.2");
        expected[6] = "10.2.7.1";
        assert_eq!(standing(&hosts, &all), expected);
        assert_eq!(hosts.group(&address("10.1.0.3")), Some("home"));
        assert_eq!(hosts.group(&address("10.2.0.1")), None);
        // The groups are no more.
        hosts.forget();
        look(&mut hosts, &Config::default(), &mesh);
        let of_neighbours = ["10.1.0.4", "10.1.0.4", "10.2.0.1"];
        let some = ["10.1.0.3", "10.1.0.4", "10.2.7.1"];
        assert_eq!(standing(&hosts, &some), of_neighbours);
    }

    /// Else who gives itself more than a host has would be many hosts again, and a flood of addresses
    /// would fill the memory.
    #[test]
    fn ever_more_addresses_are_one_host_and_they_are_bounded() {
        let mut hosts = Identities::default();
        let used: BTreeSet<Address> = (0..40_000_u32)
            .map(|n| bytes_of(IpAddr::from((0x0a00_0000 + n).to_be_bytes())))
            .collect();
        hosts.update(&Config::default(), &used, &HashSet::new(), |_| on_link(2));
        assert_eq!(hosts.aliases().0.len(), 16_383);
        assert_eq!(hosts.standing.len(), 1);
        assert_eq!(hosts.noted.len(), 1);
        let few = used.into_iter().take(MOST_OF_A_HOST).collect();
        hosts.update(&Config::default(), &few, &HashSet::new(), |_| on_link(2));
        assert!(hosts.noted.is_empty(), "a host may have so many");
    }

    /// Else who invents addresses makes a host of each of others', of IPv6 before all: the highest.
    #[test]
    fn beyond_the_bound_are_those_that_nobody_answers_at() {
        let mut hosts = Identities::default();
        let config = config("max_flows = 4");
        let mesh = ["fd00::1", "fd00::2"].map(address);
        let forged = (1..9).map(|n| address(&format!("10.9.0.{n}")));
        let used: BTreeSet<Address> = forged.chain(mesh).collect();
        let stands = |hosts: &Identities| standing(hosts, &["fd00::2"]);
        hosts.update(&config, &used, &HashSet::new(), |_| on_link(2));
        assert_eq!(stands(&hosts), ["fd00::2"]);
        hosts.update(&config, &used, &HashSet::from(mesh), |_| on_link(2));
        let all = [stands(&hosts), standing(&hosts, &["fd00::1"])].concat();
        assert_eq!(all[0], all[1], "one host");
        // They are known by now, and pause.
        hosts.update(&config, &used, &HashSet::new(), |_| on_link(2));
        assert_eq!(
            [stands(&hosts), standing(&hosts, &["fd00::1"])].concat(),
            all
        );
    }
}
