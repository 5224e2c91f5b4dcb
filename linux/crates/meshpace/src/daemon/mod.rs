// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace gateway`: sets everything up, keeps it going once a second, puts everything back.
mod report;
mod second;
mod upkeep;

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::errors::{bail, usage, Result};
use crate::base::system::{self, now_ns};
use crate::config::{Config, Law, OptionPolicy, ReleaseChoice, Source};
use crate::hosts::flows::Meter;
use crate::hosts::identity::Identities;
use crate::hosts::paths::Hosts;
use crate::hosts::routes;
use crate::kernel::intf::{self, mp_limits, mp_settings};
use crate::kernel::programs::{Maps, Programs};
use crate::policy::goodput::GoodputControl;
use crate::policy::prompts::Prompts;
use crate::policy::shares::Shares;
use crate::policy::strangers::Strangers;
use crate::release::cache::{self, Gauge, Living};
use crate::release::liveness::{Heart, Liveness};
use crate::release::nfqueue;
use crate::setup::bypass::Bypass;
use crate::setup::changes::Changes;
use crate::setup::release::{self, Release, SetUp};
use crate::setup::rules::Rules;
use crate::setup::watch::{self, Watch};
use crate::show::control;
use crate::show::metrics;

/// The BPF programs hear of new settings so often.
const ROUND: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_secs(1);

/// A gateway at work.
pub struct Gateway {
    pub source: Source,
    pub config: Config,
    pub mesh: String,
    pub wired: Vec<String>,
    /// the mesh interface, and what was set up on it
    pub watch: Watch,
    pub maps: Arc<Maps>,
    pub meter: Meter,
    pub goodput: GoodputControl,
    pub shares: Shares,
    pub identities: Identities,
    strangers: Strangers,
    /// where packets are held
    pub prompts: Option<Prompts>,
    pub gauge: Arc<Gauge>,
    pub queue: Arc<nfqueue::Control>,
    pub expired: u64,
    pub started: Instant,
    liveness: Arc<Liveness>,
    /// beats as long as all is well; without it packets pass
    heart: Option<Heart>,
    /// that bring packets before the daemon
    rules: Option<Arc<Rules>>,
    bypass: Bypass,
    /// why packets do not come before the daemon
    unpaced: Option<String>,
    complaint: Option<String>,
    /// what waits goes first, nothing is paced any more
    ending: bool,
    hosts: Hosts,
    /// as set up; [`Gateway::release`] is what is possible at the moment
    set_up: Release,
    living: Living,
    shared: control::Shared,
    /// has to end before the changes are undone
    queue_thread: Option<std::thread::JoinHandle<()>>,
    changes: Changes,
    _lock: control::Lock,
}

/// What the caller of [`Gateway::run`] sends.
pub enum Order {
    Stop,
    Reload,
}

/// The mesh interface, which has to be named somewhere.
pub fn mesh_of(config: &Config) -> Result<String> {
    config.mesh.clone().ok_or_else(|| {
        usage("no mesh interface; name it with --mesh IF, or mesh = \"IF\" in the configuration")
    })
}

impl Gateway {
    /// Sets everything up. On an error everything is as it was.
    pub fn start(source: Source, replace: bool) -> Result<Self> {
        let config = source.read()?;
        let mesh = mesh_of(&config)?;
        system::interface_index(&mesh)?;
        let missing = system::missing_capabilities();
        if !missing.is_empty() {
            bail!("not permitted: {} missing; run as root", missing.join(", "));
        }
        let lock = control::lock(&mesh, replace)?;
        let mut changes = Changes::open(&mesh)?.whatever_can_be_noted();
        match changes.undo_all() {
            Ok(0) => {}
            Ok(_) => log::info!("cleaned up after a gateway that ended without"),
            Err(error) => log::warn!("a gateway that ended left something behind: {error:#}"),
        }
        let wired = match config.wired.as_slice() {
            [] => routes::default_interfaces(&mesh),
            named => named.to_vec(),
        };
        for interface in &wired {
            system::interface_index(interface)?;
        }
        let choice = if config.law == Law::Off {
            ReleaseChoice::Observe
        } else {
            config.release
        };
        let observes = choice == ReleaseChoice::Observe;
        watch::refuse_port(&mesh, observes)?;
        let limits = mp_limits {
            l2_bytes: system::link_header_bytes(&mesh)?,
            max_flows: config.max_flows,
            ..Default::default()
        };
        let mut programs = Programs::load(limits)?;
        let maps = Arc::new(programs.maps()?);
        let watch = Watch::new(&mesh, limits, &programs)?;
        let queue = Arc::new(nfqueue::Control::default());
        let liveness = Arc::new(Liveness::default());
        let mut queue_thread = None;
        let release = release::set_up(
            choice,
            &mut SetUp {
                mesh: &mesh,
                wired: &wired,
                programs: &mut programs,
                changes: &mut changes,
                serve_queue: &mut || {
                    let (maps, queue) = (maps.clone(), queue.clone());
                    let (number, thread) = nfqueue::start(&config, maps, queue, liveness.clone())?;
                    queue_thread = Some(thread);
                    Ok(number)
                },
            },
        );
        let (sources, findings) = meshpace_paths::Sources::probe(&mesh);
        findings.iter().for_each(|finding| log::info!("{finding}"));
        let mut gateway = Self {
            source,
            wired,
            watch,
            maps,
            meter: Meter::default(),
            goodput: GoodputControl::new(),
            shares: Shares::new(now_ns()),
            identities: Identities::default(),
            strangers: Strangers::default(),
            prompts: None,
            gauge: Arc::default(),
            queue,
            expired: 0,
            started: Instant::now(),
            liveness,
            heart: None,
            rules: None,
            bypass: Bypass::new(Instant::now()),
            unpaced: None,
            complaint: None,
            ending: false,
            hosts: Hosts::new(sources),
            set_up: Release::Observe,
            living: Living::default(),
            shared: control::Shared::default(),
            queue_thread,
            changes,
            _lock: lock,
            config,
            mesh,
        };
        (gateway.set_up, gateway.rules) = release?;
        gateway.begin()?;
        Ok(gateway)
    }

    /// The second half of the start, on a gateway that is put back when it fails.
    fn begin(&mut self) -> Result<()> {
        self.hosts.write_stated(&self.maps, &self.config);
        if self.holds() {
            self.prompts = Some(Prompts::new(self.watch.port.clone()));
        }
        if self.holds() && self.config.local_retransmission {
            let budget = u64::from(self.config.store_mib) << 20;
            cache::start(
                self.maps.events()?,
                self.maps.unsent()?,
                self.watch.port.clone(),
                budget,
                self.gauge.clone(),
                self.living.clone(),
                self.liveness.clone(),
            )?;
        }
        self.write_settings()?;
        self.heart = Some(Heart::start(
            self.maps.clone(),
            self.liveness.clone(),
            self.rules.clone(),
        )?);
        self.watch.attach(&mut self.changes)?;
        self.tick()?;
        control::serve(&self.mesh, self.shared.clone())?;
        if let Some(address) = self.config.metrics {
            metrics::serve(address, self.shared.clone())?;
        }
        for lack in self.hosts.lacks(&self.config) {
            log::info!("law map: {lack}");
        }
        system::notify_ready();
        log::info!(
            "ready: {}, law {}, release {}, attached by {}, wired side {}",
            self.mesh,
            self.config.law,
            self.set_up,
            self.watch.attached(),
            if self.wired.is_empty() {
                "unknown".into()
            } else {
                self.wired.join(" ")
            },
        );
        Ok(())
    }

    /// How packets are held at the moment: not at all while something is missing for it.
    pub fn release(&self) -> Release {
        match (self.watch.fault(), &self.unpaced) {
            (None, None) => self.set_up,
            _ => Release::Observe,
        }
    }

    /// "ready", or why packets pass as without meshpace at the moment.
    pub fn state(&self) -> String {
        match (self.watch.fault(), &self.unpaced) {
            (None, Some(why)) => why.clone(),
            _ => self.watch.state(),
        }
    }

    /// Whether packets are held at all; else nothing is touched.
    fn holds(&self) -> bool {
        self.release() != Release::Observe
    }

    fn settings(&self) -> mp_settings {
        let config = &self.config;
        mp_settings {
            law: config.parameters(config.law),
            default_hops: config.default_path.hops,
            default_kbps: (config.default_path.mbps * 1e3) as u32,
            default_link: self.hosts.default_link(),
            pace: (config.law != Law::Off && !self.ending).into(),
            stamp: (self.release() == Release::Fq && config.law != Law::Off).into(),
            option: self.option_policy() as u8,
            local_retransmission: (self.holds() && config.local_retransmission).into(),
            aliases: (!self.shares.caps().is_empty() && !self.shares.aliases.is_empty()).into(),
            udp_waits: self.udp_waits().into(),
            blanks: self.holds().into(),
            sharers: self.shares.sharers(),
            // Where nothing is held, nothing is lost either.
            unanswered_bps: if self.holds() {
                self.strangers.bps()
            } else {
                0
            },
            changes: self.maps.changes(),
        }
    }

    fn option_policy(&self) -> intf::mp_option_policy {
        match self.config.option {
            _ if !self.holds() => intf::mp_option_policy_MP_OPTION_NEVER,
            OptionPolicy::Never => intf::mp_option_policy_MP_OPTION_NEVER,
            OptionPolicy::Asked => intf::mp_option_policy_MP_OPTION_ASKED,
            OptionPolicy::Always => intf::mp_option_policy_MP_OPTION_ALWAYS,
        }
    }

    fn udp_waits(&self) -> bool {
        !self.shares.caps().is_empty()
    }

    fn write_settings(&self) -> Result<()> {
        self.liveness.main.made();
        self.liveness
            .udp_waits
            .store(self.udp_waits(), Ordering::Relaxed);
        let ends_waits = self.config.law == Law::Even;
        self.queue.ends_waits.store(ends_waits, Ordering::Relaxed);
        // Intervals that nobody measures any more are obeyed by nobody.
        let pass = self.ending || !self.holds();
        self.queue.pass.store(pass, Ordering::Relaxed);
        self.maps.set_settings(&self.settings())
    }

    /// Runs until told to stop.
    pub fn run(&mut self, orders: &Receiver<Order>) -> Result<()> {
        let mut next_tick = Instant::now() + TICK;
        loop {
            match orders.recv_timeout(ROUND) {
                Ok(Order::Stop) => return Ok(()),
                Ok(Order::Reload) => self.reload()?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the signals' thread has ended"),
            }
            if Instant::now() >= next_tick {
                // What was missed while the process stood still is not made up for.
                next_tick = (next_tick + TICK).max(Instant::now());
                self.look_after_run_files();
                if let Err(error) = self.tick() {
                    self.complain(Some(error));
                }
            }
            self.look_after_mesh();
            self.watch_rules();
            if let Err(error) = self.write_settings() {
                self.complain(Some(error));
            }
        }
    }

    /// What failed once in a round may work in the next: it is said, once, and the gateway goes on.
    fn complain(&mut self, error: Option<crate::base::errors::Error>) {
        let complaint = error.map(|error| format!("{error:#}"));
        if let Some(text) = complaint.as_ref().filter(|_| complaint != self.complaint) {
            log::error!("{text}; the gateway goes on without");
        }
        self.complaint = complaint;
    }

    /// Takes a new configuration; a bad one is refused and the old one stays.
    fn reload(&mut self) -> Result<()> {
        let mut config = match self.source.read() {
            Ok(config) => config,
            Err(error) => {
                log::error!("the old configuration stays: {error:#}");
                return Ok(());
            }
        };
        let old = &self.config;
        let fixed = [
            ("mesh", config.mesh != old.mesh),
            ("wired", config.wired != old.wired),
            ("release", config.release != old.release),
            (
                "law (from or to off)",
                (config.law == Law::Off) != (old.law == Law::Off),
            ),
            ("max_flows", config.max_flows != old.max_flows),
            ("store_mib", config.store_mib != old.store_mib),
            ("queue", config.queue != old.queue),
            ("metrics", config.metrics != old.metrics),
            (
                "local_retransmission",
                config.local_retransmission && !old.local_retransmission,
            ),
        ];
        for (key, _) in fixed.iter().filter(|(_, changed)| *changed) {
            log::warn!("{key} takes effect at the next start");
        }
        if old.law == Law::Off || config.law == Law::Off {
            config.law = old.law;
        }
        config.local_retransmission &= old.local_retransmission;
        self.config = config;
        self.hosts.write_stated(&self.maps, &self.config);
        self.identities.forget();
        log::info!("configuration read again");
        Ok(())
    }
}

impl Gateway {
    /// Pacing ends, and what waits leaves in its order, before anything is taken away.
    fn end_pacing(&mut self) -> Result<()> {
        self.ending = true;
        self.write_settings()?;
        self.queue.pass.store(true, Ordering::Relaxed);
        match self.release() {
            Release::Fq => release::drain(&self.mesh, || self.write_settings()),
            Release::Nfqueue => {
                self.queue.wait_until_empty();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Gateway {
    /// Puts everything back: what waits first, then programs, rules and qdiscs.
    fn drop(&mut self) {
        if let Err(error) = self.end_pacing() {
            log::warn!("packets that waited may be lost: {error:#}");
        }
        self.watch.detach();
        if let Err(error) = self.changes.undo_all() {
            log::error!(
                "not everything was put back: {error:#}; meshpace gateway --clean --mesh {}",
                self.mesh
            );
        }
        self.queue.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.queue_thread.take() {
            let _ = thread.join();
        }
        control::remove_socket(&self.mesh);
    }
}

/// `--clean`: removes what a gateway that died has left.
pub fn clean(mesh: &str) -> Result<()> {
    let _lock = control::lock(mesh, false)?;
    let undone = Changes::open(mesh)?.undo_all()?;
    control::remove_socket(mesh);
    log::info!("{mesh}: {undone} changes put back");
    Ok(())
}
