// SPDX-License-Identifier: GPL-2.0-only
//! What brings packets before the daemon: nftables where it can, else iptables. Either does so only as long as
//! the daemon is well.
use crate::base::errors::{anyhow, Error, Result};
use crate::kernel::programs::Programs;
use crate::setup::changes::Changes;
use crate::setup::iptables::Iptables;
use crate::setup::nftables::Nftables;

/// What came of looking after them.
#[derive(Default)]
pub struct Back {
    /// what something else had removed, and is there again
    pub put: Vec<String>,
    /// of IPv4 and of IPv6: why the rules are not there
    pub failed: [Option<Error>; 2],
}

pub enum Rules {
    Nftables(Nftables),
    Iptables(Iptables),
}

impl std::fmt::Display for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nftables(_) => "nftables",
            Self::Iptables(_) => "iptables",
        })
    }
}

impl Rules {
    /// Sets them; the queue has to be served already.
    pub fn add(mesh: &str, queue: u16, programs: &Programs, changes: &mut Changes) -> Result<Self> {
        let rules = match Nftables::add(mesh, queue, changes) {
            Ok(nftables) => Self::Nftables(nftables),
            Err(first) => match Iptables::add(mesh, queue, programs, changes) {
                Ok(iptables) => Self::Iptables(iptables),
                Err(second) => return Err(anyhow!("{first:#}; {second:#}")),
            },
        };
        log::info!("{mesh}: {rules} brings packets to netfilter queue {queue}");
        Ok(rules)
    }

    /// The daemon is well: to be told often. False: they are not there any more.
    pub fn beat(&self, udp: bool) -> bool {
        match self {
            Self::Nftables(nftables) => nftables.beat(udp),
            Self::Iptables(_) => true, // their program reads the heartbeat
        }
    }

    /// Of which IP versions packets come before the daemon, IPv4 and IPv6, as far as rules go.
    pub fn versions(&self) -> [bool; 2] {
        match self {
            Self::Nftables(_) => [true; 2],
            Self::Iptables(iptables) => iptables.versions(),
        }
    }

    /// Puts back what something else removed.
    pub fn put_back(&self) -> Back {
        match self {
            Self::Nftables(nftables) => match nftables.put_back() {
                Ok(put) => Back {
                    put,
                    ..Back::default()
                },
                Err(error) => {
                    let words = format!("{error:#}");
                    Back {
                        failed: [Some(error), Some(anyhow!(words))],
                        ..Back::default()
                    }
                }
            },
            Self::Iptables(iptables) => iptables.put_back(),
        }
    }
}
