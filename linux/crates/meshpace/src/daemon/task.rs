// SPDX-License-Identifier: GPL-2.0-only
//! What the gateway is asked to do: its configuration, and the interfaces that it is for.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::base::errors::{usage, Context, Result};
use crate::base::system;
use crate::config::{Config, Law, ReleaseChoice, Source};
use crate::hosts::routes;
use crate::setup::watch;
use crate::show::web;

/// Default routes come and go; a table of routes may be long.
const WIRED_EVERY: Duration = Duration::from_secs(10);

pub struct Task {
    /// of the command line
    source: Source,
    /// that goes over it
    release: Option<ReleaseChoice>,
    config: Config,
    mesh: String,
    wired: Vec<String>,
    wired_found: Instant,
}

/// The mesh interface, which has to be named somewhere.
pub fn named(mesh: Option<String>) -> Result<String> {
    mesh.ok_or_else(|| {
        usage("no mesh interface; name it with --mesh IF, or mesh = \"IF\" in the configuration")
    })
}

/// The configuration, with the files that it names.
fn read_whole(source: &Source) -> Result<Config> {
    let config = source.read()?;
    web::check(&config.web)?;
    Ok(config)
}

impl Task {
    /// `release`: how packets are released whatever the configuration says.
    /// An error for what cannot be: everything about which a start can be refused before it has changed anything.
    pub fn read(source: Source, release: Option<ReleaseChoice>) -> Result<Self> {
        let config = read_whole(&source)?;
        let mesh = named(config.mesh.clone())?;
        system::refuse_other_name(&mesh)?;
        system::link_header_bytes(&mesh)?;
        let task = Self {
            source,
            release,
            config,
            mesh,
            wired: Vec::new(),
            wired_found: Instant::now(),
        };
        watch::refuse_port(&task.mesh, task.release() == ReleaseChoice::Observe)?;
        Ok(task)
    }

    /// The interfaces towards the Internet: those that are named, else those of the default routes. They are shown, and
    /// nothing is done there: one that is not there yet hinders nothing.
    pub fn find_wired(&mut self) {
        self.wired_found = Instant::now();
        self.wired = match self.config.wired.as_slice() {
            [] => routes::default_interfaces(&self.mesh).unwrap_or_default(),
            named => named.to_vec(),
        };
        for interface in &self.wired {
            if system::interface_index(interface).is_err() {
                log::warn!("wired: no interface '{interface}' now; `ip link` lists them");
            }
        }
    }

    /// The default routes may lead elsewhere by now, or there may be some: looked for again after a while. What cannot be
    /// read stays as it was.
    pub fn find_wired_again(&mut self, now: Instant) {
        if !self.config.wired.is_empty() || now < self.wired_found + WIRED_EVERY {
            return;
        }
        self.wired_found = now;
        let found = routes::default_interfaces(&self.mesh);
        let Some(found) = found.filter(|found| *found != self.wired) else {
            return;
        };
        log::info!("wired side: {} now", wired_words(&found));
        self.wired = found;
    }

    /// Takes a new configuration; a bad one is refused and the old one stays. Whether it was taken.
    pub fn read_again(&mut self) -> bool {
        let mut config = match read_whole(&self.source) {
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
        config.release = old.release;
        config.wired.clone_from(&old.wired);
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
        Self::read(self.source.clone(), release).map(drop)
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

/// The interfaces towards the Internet as they are told of.
pub fn wired_words(wired: &[String]) -> String {
    match wired {
        [] => "unknown".into(),
        some => some.join(" "),
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::base::namespace::{alone, ip};

    const OBSERVES: &str = "mesh = \"lo\"\nrelease = \"observe\"\n";
    const PACES: &str = "mesh = \"lo\"\nrelease = \"auto\"\n";

    /// A configuration of a test's own.
    fn file(test: &str, text: &str) -> PathBuf {
        let name = format!("meshpace-task-{}-{test}.toml", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    /// On an interface that every machine has, though it is no mesh's.
    fn task(file: &std::path::Path) -> Task {
        let source = Source {
            file: Some(file.into()),
            overrides: crate::config::Overrides::default(),
        };
        Task {
            config: source.read().unwrap(),
            source,
            release: None,
            mesh: "lo".into(),
            wired: Vec::new(),
            wired_found: Instant::now(),
        }
    }

    /// Else `try` and `try --stay` go by what is not so: that it paces, or that it observes.
    #[test]
    fn a_release_that_is_read_again_waits_for_the_next_start() {
        let file = file("release", OBSERVES);
        for (first, then) in [(OBSERVES, PACES), (PACES, OBSERVES)] {
            std::fs::write(&file, first).unwrap();
            let mut task = task(&file);
            let before = task.release();
            std::fs::write(&file, then).unwrap();
            assert!(task.read_again());
            assert_eq!(task.release(), before);
            assert_eq!(task.says_to_pace().is_ok(), then == PACES);
        }
        std::fs::remove_file(&file).unwrap();
    }

    /// Else status tells for ever of the way to the Internet that there was at boot, or of none.
    #[test]
    fn the_wired_side_is_looked_for_again() {
        alone(|| {
            let file = file("wired", OBSERVES);
            let mut task = task(&file);
            std::fs::remove_file(&file).unwrap();
            let began = Instant::now();
            task.find_wired();
            assert!(task.wired().is_empty());
            for words in [
                "link add eth0 type veth peer name far",
                "link set far up",
                "link set eth0 up",
                "addr add 10.7.0.2/24 dev eth0",
                "route add default via 10.7.0.1",
            ] {
                ip(words);
            }
            task.find_wired_again(began + WIRED_EVERY / 2);
            assert!(task.wired().is_empty(), "seldom");
            task.find_wired_again(Instant::now() + WIRED_EVERY);
            assert_eq!(task.wired(), ["eth0"]);
            task.config.wired = vec!["named".into()];
            ip("link del eth0");
            task.find_wired_again(Instant::now() + WIRED_EVERY * 3);
            assert_eq!(task.wired(), ["eth0"], "only where none is named");
        });
    }

    /// Else `meshpace try` ends a gateway that cannot start again.
    #[test]
    fn what_a_start_would_refuse_is_found_before_it() {
        let token = file("token", "00112233445566778899aabbccddeeff");
        let web = format!(
            "[web]\nlisten = \"127.0.0.1:9871\"\ntoken_file = \"{}\"\n",
            token.display()
        );
        let file = file("start", &format!("{OBSERVES}{web}"));
        let mode = |mode| std::fs::set_permissions(&token, PermissionsExt::from_mode(mode));
        let mut task = task(&file);
        mode(0o600).unwrap();
        // Not an Ethernet of a mesh's: so a start refuses lo itself, by its link type.
        let refused = format!("{:#}", task.can_start(None).unwrap_err());
        assert!(refused.contains("link type"), "{refused}");
        assert!(task.read_again());
        mode(0o644).unwrap();
        let refused = format!("{:#}", task.can_start(None).unwrap_err());
        assert!(refused.contains("chmod 600"), "{refused}");
        assert!(!task.read_again(), "it would not start with that");
        std::fs::remove_file(&file).unwrap();
        std::fs::remove_file(&token).unwrap();
    }
}
