// SPDX-License-Identifier: GPL-2.0-only
//! What the gateway is asked to do: its configuration, and the interfaces that it is for.
use crate::base::errors::{usage, Result};
use crate::base::system;
use crate::config::{Config, Law, ReleaseChoice, Source};
use crate::hosts::routes;

pub struct Task {
    source: Source,
    config: Config,
    mesh: String,
    wired: Vec<String>,
}

/// The mesh interface, which has to be named somewhere.
pub fn mesh_of(config: &Config) -> Result<String> {
    config.mesh.clone().ok_or_else(|| {
        usage("no mesh interface; name it with --mesh IF, or mesh = \"IF\" in the configuration")
    })
}

impl Task {
    pub fn read(source: Source) -> Result<Self> {
        let config = source.read()?;
        let mesh = mesh_of(&config)?;
        system::interface_index(&mesh)?;
        Ok(Self {
            source,
            config,
            mesh,
            wired: Vec::new(),
        })
    }

    /// The interfaces towards the Internet: those that are named, else those of the default routes.
    pub fn find_wired(&mut self) -> Result<()> {
        self.wired = match self.config.wired.as_slice() {
            [] => routes::default_interfaces(&self.mesh),
            named => named.to_vec(),
        };
        for interface in &self.wired {
            system::interface_index(interface)?;
        }
        Ok(())
    }

    /// Takes a new configuration; a bad one is refused and the old one stays. Whether it was taken.
    pub fn read_again(&mut self) -> bool {
        let mut config = match self.source.read() {
            Ok(config) => config,
            Err(error) => {
                log::error!("the old configuration stays: {error:#}");
                return false;
            }
        };
        let old = &self.config;
        for (key, _) in fixed(old, &config).iter().filter(|(_, changed)| *changed) {
            log::warn!("{key} takes effect at the next start");
        }
        if old.law == Law::Off || config.law == Law::Off {
            config.law = old.law;
        }
        config.local_retransmission &= old.local_retransmission;
        self.config = config;
        true
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn mesh(&self) -> &str {
        &self.mesh
    }

    pub fn wired(&self) -> &[String] {
        &self.wired
    }

    /// Without a law nothing has to wait.
    pub fn release(&self) -> ReleaseChoice {
        if self.config.law == Law::Off {
            ReleaseChoice::Observe
        } else {
            self.config.release
        }
    }
}

/// Keys that a running gateway does not take anew, and whether they were changed.
fn fixed(old: &Config, new: &Config) -> [(&'static str, bool); 10] {
    [
        ("mesh", new.mesh != old.mesh),
        ("wired", new.wired != old.wired),
        ("release", new.release != old.release),
        (
            "law (from or to off)",
            (new.law == Law::Off) != (old.law == Law::Off),
        ),
        ("max_flows", new.max_flows != old.max_flows),
        (
            "retransmit_cache_mib",
            new.retransmit_cache_mib != old.retransmit_cache_mib,
        ),
        ("queue", new.queue != old.queue),
        ("metrics", new.metrics != old.metrics),
        ("web", new.web != old.web),
        (
            "local_retransmission",
            new.local_retransmission && !old.local_retransmission,
        ),
    ]
}
