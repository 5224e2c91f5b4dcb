// SPDX-License-Identifier: GPL-2.0-only
//! The gateway's configuration: a TOML file, over which the command line goes. Every key has a
//! default; docs/operate/gateway.toml shows them all.
mod groups;
mod interfaces;
mod mesh;
mod places;
mod prefix;
mod radio;
mod rates;
mod rights;
#[cfg(test)]
mod tests;
mod web;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::errors::{usage, Result};
use crate::kernel::intf::{self, mp_fairness, mp_law};
use crate::kernel::law;
pub use groups::{group_of, Group};
pub use mesh::NamedMesh;
pub use places::{Node, NodeName};
pub use prefix::Prefix;
pub use radio::Radio;
pub use rates::Rates;
pub use rights::{Right, Rights};
pub use web::Web;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// TCP-GAP as published
    Gap,
    /// MAP as published: by the range of the mesh's radios
    Map,
    /// the rate is sought at which little waits on the path
    Even,
    /// measure, pace nothing
    Off,
}

impl Law {
    /// What core/ has of it; measuring alone is GAP's.
    pub fn parameters(self) -> mp_law {
        match self {
            Self::Gap | Self::Off => law::gap(),
            Self::Map => law::map(),
            Self::Even => law::even(),
        }
    }

    /// Which law core/ says that these parameters are of.
    pub fn of(law: &mp_law) -> Self {
        match law::name(law) {
            "even" => Self::Even,
            "map" => Self::Map,
            _ => Self::Gap,
        }
    }

    /// Whether goodput control (GAP section 4.4) is part of it.
    pub fn has_goodput_control(self) -> bool {
        self != Self::Even
    }
}

impl std::fmt::Display for Law {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gap => "gap",
            Self::Map => "map",
            Self::Even => "even",
            Self::Off => "off",
        })
    }
}

/// What hosts that share evenly get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fairness {
    /// the same part of the air
    Air,
    /// the same goodput
    Rate,
}

impl Fairness {
    /// What core/ calls it.
    pub fn of_core(self) -> mp_fairness {
        match self {
            Self::Air => intf::mp_fairness_MP_FAIRNESS_AIR,
            Self::Rate => intf::mp_fairness_MP_FAIRNESS_RATE,
        }
    }
}

impl std::fmt::Display for Fairness {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Air => "air",
            Self::Rate => "rate",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(try_from = "String")]
pub enum ReleaseChoice {
    /// htb where it works, else nfqueue, else observe
    Auto,
    /// packets held by the kernel's HTB
    Htb,
    /// packets held in a netfilter queue
    Nfqueue,
    /// measure and show, touch nothing
    Observe,
}

impl TryFrom<String> for ReleaseChoice {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        <Self as clap::ValueEnum>::from_str(&text, false).map_err(|_| match &*text {
            "fq" => "there is no release `fq` any more; use `htb`".into(),
            _ => format!("`{text}` is no release; give `auto`, `htb`, `nfqueue` or `observe`"),
        })
    }
}

/// In which ACKs the gateway tells RTT_wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionPolicy {
    Never,
    /// in those for senders that asked
    Asked,
    Always,
}

/// What is stated of a path; the sources (802.11s, batman-adv, TTL) fill in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultPath {
    /// wireless hops from the gateway, 1 to 255
    #[serde(default = "one")]
    pub hops: u32,
    /// bit rate of the links, Mbit/s
    #[serde(default = "eleven")]
    pub mbps: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// an address, or a prefix such as 10.1.0.0/24
    pub address: Prefix,
    pub hops: Option<u32>,
    /// bit rate of the links there, or of each, the first first
    pub mbps: Option<Rates>,
    /// shares of the air: as so many hosts it counts
    pub weight: Option<f64>,
    /// shares of the air: payload, down and up together, that it gets at least if it wants as much
    pub least_kbps: Option<f64>,
    /// lengths of the hops there, the first first
    #[serde(default)]
    pub hop_m: Vec<f64>,
    /// or the nodes there, each a [[node]]
    #[serde(default)]
    pub way: Vec<NodeName>,
}

impl Host {
    fn tells_way(&self) -> bool {
        let by_links = self.hops.is_some() || self.mbps.is_some();
        by_links || !self.hop_m.is_empty() || !self.way.is_empty()
    }

    /// Whether another entry for the same addresses says what this one says: one of them would have no effect.
    fn says_again(&self, other: &Self) -> bool {
        let same_key = self.tells_way() && other.tells_way()
            || self.weight.is_some() && other.weight.is_some()
            || self.least_kbps.is_some() && other.least_kbps.is_some();
        same_key && self.address.is_same(&other.address)
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// the interface towards the mesh
    pub mesh: Option<String>,
    /// the interfaces towards the Internet; none: those of the default routes
    pub wired: Vec<String>,
    pub law: Law,
    pub release: ReleaseChoice,
    /// a try ends by itself where it makes things worse
    pub retreat: bool,
    pub goodput_control: bool,
    /// law `even`: hosts share evenly
    pub shares: bool,
    /// law `even`: what each gets
    pub fairness: Fairness,
    /// shares of the air: of every host; 0: none
    pub least_kbps: f64,
    pub local_retransmission: bool,
    /// law `even`: hosts that get or send many datagrams are asked (ICMP echo), and held by what they answer
    pub ask_hosts: bool,
    /// whose ACKs carry RTT_wired, of wireless-to-wired flows
    pub option: OptionPolicy,
    /// RTT samples above are discarded; 0: none are
    pub delay_bound_ms: f64,
    /// an RTT sample counts as so many means of the last 50 at most; 0: as it is
    pub delay_bound_means: u32,
    pub max_flows: u32,
    /// a flow silent for so long is forgotten
    pub idle_timeout_s: u64,
    /// memory for segments kept for local retransmission, MiB
    #[serde(alias = "store_mib")]
    pub retransmit_cache_mib: u32,
    /// number of the netfilter queue; none: the first from [`Config::QUEUE`] on that is free
    pub queue: Option<u16>,
    /// where Prometheus may ask; none: nowhere
    pub metrics: Option<SocketAddr>,
    /// the page for operators
    pub web: Web,
    pub default_path: DefaultPath,
    pub host: Vec<Host>,
    /// law `even`: addresses that are one host
    pub group: Vec<Group>,
    /// for the law `map`
    pub radio: Radio,
    pub node: Vec<Node>,
}

fn one() -> u32 {
    1
}

fn eleven() -> f64 {
    11.0
}

impl Default for DefaultPath {
    fn default() -> Self {
        Self {
            hops: one(),
            mbps: eleven(),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mesh: None,
            wired: Vec::new(),
            law: Law::Even,
            release: ReleaseChoice::Auto,
            retreat: true,
            goodput_control: true,
            shares: true,
            fairness: Fairness::Air,
            least_kbps: 0.0,
            local_retransmission: true,
            ask_hosts: true,
            option: OptionPolicy::Asked,
            delay_bound_ms: 500.0,
            delay_bound_means: 0,
            max_flows: 16384,
            idle_timeout_s: 180,
            retransmit_cache_mib: 32,
            queue: None,
            metrics: None,
            web: Web::default(),
            default_path: DefaultPath::default(),
            host: Vec::new(),
            group: Vec::new(),
            radio: Radio::default(),
            node: Vec::new(),
        }
    }
}

impl Config {
    /// Where the numbers of our netfilter queues begin, "mp" in ASCII.
    pub const QUEUE: u16 = 0x6d70;

    /// Reads and checks a file; the error names file, key and remedy in one line.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| usage(format!("{}: {error}; name a readable file", path.display())))?;
        let config: Self = toml::from_str(&text).map_err(|error| {
            let number = error
                .span()
                .map_or(0, |span| text[..span.start].matches('\n').count());
            let line = text.lines().nth(number).unwrap_or("").trim();
            let message = error.message().replace('\n', " ");
            usage(format!(
                "{}, line {}, '{line}': {message}",
                path.display(),
                number + 1
            ))
        })?;
        config
            .check()
            .map_err(|error| usage(format!("{}: {error}", path.display())))?;
        Ok(config)
    }

    fn check(&self) -> std::result::Result<(), String> {
        in_range("max_flows", self.max_flows.into(), 16.0, 1_048_576.0)?;
        in_range(
            "retransmit_cache_mib",
            self.retransmit_cache_mib.into(),
            0.0,
            4096.0,
        )?;
        in_range("idle_timeout_s", self.idle_timeout_s as f64, 1.0, 86_400.0)?;
        in_range("delay_bound_ms", self.delay_bound_ms, 0.0, 60_000.0)?;
        in_range(
            "delay_bound_means",
            self.delay_bound_means.into(),
            0.0,
            1000.0,
        )?;
        in_range(
            "default_path.hops",
            self.default_path.hops.into(),
            1.0,
            255.0,
        )?;
        in_range(
            "default_path.mbps",
            self.default_path.mbps,
            0.001,
            100_000.0,
        )?;
        interfaces::check(self)?;
        self.radio.check()?;
        self.web.check()?;
        places::check(&self.node)?;
        groups::check(&self.group)?;
        rights::check(self)?;
        for (n, host) in self.host.iter().enumerate() {
            let name = format!("host {}", host.address);
            if self.host[..n].iter().any(|other| host.says_again(other)) {
                return Err(format!(
                    "{name} is there twice, and both say the same key; keep one"
                ));
            }
            in_range(
                &format!("{name}: hops"),
                host.hops.unwrap_or(1).into(),
                1.0,
                255.0,
            )?;
            if let Some(rates) = &host.mbps {
                rates.check(&name, host.hops)?;
            }
            places::check_way(&name, &host.hop_m, &host.way, &self.node)?;
        }
        Ok(())
    }

    /// A law as configured. `even` cuts long samples itself and has no bound on them.
    pub fn parameters(&self, law: Law) -> mp_law {
        let mut parameters = law.parameters();
        if law != Law::Even {
            parameters.delay_bound_ns = (self.delay_bound_ms * 1e6) as u64;
            parameters.delay_bound_means = self.delay_bound_means;
        }
        parameters
    }

    /// What hosts that share evenly get; None: they do not.
    pub fn fairness(&self) -> Option<Fairness> {
        (self.shares && self.law == Law::Even).then_some(self.fairness)
    }

    /// What hosts would get that share evenly, where nothing is held: also of a law that only measures.
    pub fn watched_fairness(&self) -> Option<Fairness> {
        (self.shares && matches!(self.law, Law::Even | Law::Off)).then_some(self.fairness)
    }

    /// Whether goodput control is on.
    pub fn controls_goodput(&self) -> bool {
        self.goodput_control && self.law.has_goodput_control()
    }

    /// Where a node stands, if that is known.
    pub fn node(&self, name: NodeName) -> Option<&Node> {
        self.node.iter().find(|node| node.address == name)
    }

    /// What is stated of the hops to a host, by themselves or as bit rates of links.
    pub fn hops_of(host: &Host) -> Option<u32> {
        host.hops.or(host.mbps.as_ref().and_then(Rates::hops))
    }

    /// The most specific entry for an address that says something of the way there.
    pub fn host_of(&self, address: IpAddr) -> Option<&Host> {
        self.host
            .iter()
            .filter(|host| host.tells_way() && host.address.contains(address))
            .max_by_key(|host| host.address.length)
    }
}

fn in_range(key: &str, value: f64, least: f64, most: f64) -> std::result::Result<(), String> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(format!(
        "{key} = {value} is out of range; give {least} to {most}"
    ))
}

/// Where the configuration comes from, so that it can be read again.
#[derive(Clone, Debug)]
pub struct Source {
    pub file: Option<PathBuf>,
    pub overrides: Overrides,
}

/// What the command line says; it goes over the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub mesh: Option<String>,
    pub wired: Vec<String>,
    pub law: Option<Law>,
    pub release: Option<ReleaseChoice>,
}

impl Source {
    pub fn read(&self) -> Result<Config> {
        let mut config = match &self.file {
            Some(file) => Config::read(file)?,
            None => Config::default(),
        };
        let over = self.overrides.clone();
        config.mesh = over.mesh.or(config.mesh);
        if !over.wired.is_empty() {
            config.wired = over.wired;
        }
        config.law = over.law.unwrap_or(config.law);
        config.release = over.release.unwrap_or(config.release);
        interfaces::check(&config).map_err(usage)?;
        Ok(config)
    }
}
