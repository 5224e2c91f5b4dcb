// SPDX-License-Identifier: GPL-2.0-only
//! What the gateway is asked to do: its configuration, and the interfaces that it is for.
use std::path::PathBuf;

use crate::base::errors::{usage, Context, Result};
use crate::base::system;
use crate::config::{Config, Law, ReleaseChoice, Source};
use crate::hosts::routes;
use crate::setup::watch;

pub struct Task {
    /// of the command line
    source: Source,
    /// that goes over it
    release: Option<ReleaseChoice>,
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
    /// `release`: how packets are released whatever the configuration says.
    pub fn read(source: Source, release: Option<ReleaseChoice>) -> Result<Self> {
        let config = source.read()?;
        let mesh = mesh_of(&config)?;
        system::interface_index(&mesh)?;
        Ok(Self {
            source,
            release,
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
        let changed = |(key, changed): &&(&str, bool)| {
            *changed && !(*key == "release" && self.release.is_some())
        };
        for (key, _) in fixed(old, &config).iter().filter(changed) {
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
            self.release.unwrap_or(self.config.release)
        }
    }

    /// Whether a program that starts in this one's place could: what it would refuse, as an error.
    pub fn can_start(&self, release: Option<ReleaseChoice>) -> Result<()> {
        let config = self.source.read()?;
        let mesh = mesh_of(&config)?;
        system::interface_index(&mesh)?;
        for interface in &config.wired {
            system::interface_index(interface)?;
        }
        let choice = release.unwrap_or(config.release);
        watch::refuse_port(&mesh, choice == ReleaseChoice::Observe)
    }

    /// The file that says how the next start releases packets.
    pub fn release_file(&self) -> Result<PathBuf> {
        if self.source.overrides.release.is_some() {
            return Err(usage(
                "the gateway was started with --observe or --release, which go over the configuration; start it with --config FILE alone",
            ));
        }
        let file = self.source.file.as_ref().ok_or_else(|| {
            usage("the gateway was started without a configuration, so the next start would know of nothing; write one: meshpace setup")
        })?;
        std::fs::canonicalize(file).with_context(|| file.display().to_string())
    }

    /// An error unless the configuration says to pace by now.
    pub fn says_to_pace(&self) -> Result<()> {
        match self.source.read()?.release {
            ReleaseChoice::Observe => Err(usage(
                "the configuration says release = \"observe\"; write \"auto\"",
            )),
            _ => Ok(()),
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
