// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace sender`: the law as this host's congestion control, for flows from the mesh to the wired
//! Internet (linux/bpf/sender.bpf.c). Installed and pinned, it goes on without this program.
mod installed;
mod rows;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use meshpace_paths::{DefaultRoute, Sources};
use nix::sys::signal::{signal, SigHandler, Signal};

use crate::base::errors::{bail, usage, Context, Error, Result};
use crate::base::lock::{Lock, Owner};
use crate::base::system;
use crate::cli::{SenderCommand, SenderOn};
use crate::config::{Config, Law, Rates};
use crate::hosts::radio::{By, Ranges, Surroundings};
use crate::hosts::routes;
use crate::kernel::intf::{self, mp_link, mp_radio, mp_sender_settings};
use crate::setup::changes::{Change, Changes};
use installed::Installed;

/// Name of the notes on what was changed; no interface may have it, for it is too long.
const NOTES: &str = "sender-of-this-host";
/// So long may the mesh's tables take to tell hops at the start.
const PATIENCE: Duration = Duration::from_secs(3);
/// With --follow the path is looked up so often.
const FOLLOW: Duration = Duration::from_secs(5);

const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// 0: segments are not gathered because the RTT is long.
const TSO_RTT_LOG: &str = "/proc/sys/net/ipv4/tcp_tso_rtt_log";

pub fn run(command: &SenderCommand) -> Result<()> {
    match command {
        SenderCommand::On(arguments) => on(arguments),
        SenderCommand::Off => off(),
        SenderCommand::Status { json } => rows::show(*json),
    }
}

/// Whether this kernel takes the programs, for `doctor`; true: with a link for struct_ops.
pub fn loads() -> Result<bool> {
    installed::load().map(|(_, links)| links)
}

fn permitted() -> Result<()> {
    let missing = system::missing_capabilities();
    if !missing.is_empty() {
        bail!("not permitted: {} missing; run as root", missing.join(", "));
    }
    Ok(())
}

/// Only one at a time changes what this host's flows have.
fn lock(replace: bool) -> Result<Lock> {
    Owner {
        name: NOTES,
        runs: "a sender that follows the mesh runs".into(),
        remedy: "stop it, or end it with: meshpace sender off",
    }
    .lock(replace)
}

/// What the command line and the configuration say.
struct Choice<'a> {
    arguments: &'a SenderOn,
    config: Config,
    law: Law,
}

impl<'a> Choice<'a> {
    fn of(arguments: &'a SenderOn) -> Result<Self> {
        let config = match &arguments.config {
            Some(file) => Config::read(file)?,
            None => Config::default(),
        };
        let law = arguments.law.unwrap_or(config.law);
        if law == Law::Off {
            return Err(usage(
                "law off is none for a sender; choose --law gap, map or even, or meshpace sender off",
            ));
        }
        if let Some(rates) = Rates::of(&arguments.mbps) {
            rates.check("--mbps", arguments.hops).map_err(usage)?;
        }
        Ok(Self {
            arguments,
            config,
            law,
        })
    }
}

/// The path to the gateway as it is used, with what told it.
struct Path {
    hops: u32,
    kbps: u32,
    /// of links at different bit rates; else 0
    uneven_q16: i64,
    source: String,
    /// for the law `map`; else all zero and none
    link: mp_link,
    radio: mp_radio,
    surroundings: Option<Surroundings>,
}

fn look_up(choice: &Choice, sources: &Sources, gateway: Option<IpAddr>) -> Path {
    let (arguments, config) = (choice.arguments, &choice.config);
    let stated = gateway.and_then(|gateway| config.host_of(gateway));
    let link = gateway.and_then(|gateway| sources.lookup(gateway));
    let found = link.as_ref().and_then(|l| Some((l.hops?, l.source)));
    let rates = Rates::of(&arguments.mbps);
    let stated_hops = arguments.hops.or(rates.as_ref().and_then(Rates::hops));
    let stated_rates = stated.and_then(|host| host.mbps.clone());
    let (hops, source) = match (stated_hops, stated.and_then(Config::hops_of), found) {
        (Some(hops), _, _) => (hops, "--hops".into()),
        (None, Some(hops), _) => (hops, "config".into()),
        (None, None, Some((hops, source))) => (hops, source.to_string()),
        (None, None, None) => (config.default_path.hops, "default".into()),
    };
    // Of the file's rates only as many as there are hops: --hops may say otherwise.
    let fits = |rates: &Rates| rates.hops().is_none_or(|links| links == hops);
    let rates = rates.or(stated_rates.filter(fits));
    let known = link.as_ref().and_then(|link| link.kbps);
    let mut path = Path {
        hops,
        kbps: known.unwrap_or((config.default_path.mbps * 1e3) as u32),
        uneven_q16: 0,
        source,
        link: mp_link::default(),
        radio: mp_radio::default(),
        surroundings: None,
    };
    if choice.law == Law::Map {
        let unknown = || sources.first_hop();
        let hop = link.as_ref().map_or_else(unknown, |l| l.first_hop.clone());
        let (link, radio, surroundings) =
            Ranges::default().look_up(config, gateway, link.as_ref(), &hop);
        (path.link, path.radio) = (link, radio);
        path.surroundings = Some(surroundings);
    }
    if let Some(rates) = rates {
        (path.kbps, path.uneven_q16) = rates.told(&choice.law.parameters(), path.link);
    }
    path
}

fn signal_source(path: &Path) -> intf::mp_signal_source {
    let signal = path.surroundings.as_ref().and_then(|s| s.signal_dbm);
    match signal.map(|told| told.by) {
        None => intf::mp_signal_source_MP_SIGNAL_SOURCE_NOBODY,
        Some(By::Driver) => intf::mp_signal_source_MP_SIGNAL_SOURCE_DRIVER,
        Some(_) => intf::mp_signal_source_MP_SIGNAL_SOURCE_CONFIGURATION,
    }
}

fn settings(path: &Path, choice: &Choice, way: &Way) -> mp_sender_settings {
    mp_sender_settings {
        law: choice.config.parameters(choice.law),
        hops: path.hops,
        kbps: path.kbps,
        link: path.link,
        radio: path.radio,
        uneven_q16: path.uneven_q16,
        // An interface that is gone for a while paces nobody.
        mesh_ifindex: system::interface_index(&way.mesh).unwrap_or(0) as u32,
        mesh_netns: system::network_namespace().unwrap_or(0) as u32,
        by_gateway: way.gateway.is_some().into(),
        ask: (!choice.arguments.no_ask).into(),
        signal_source: signal_source(path) as u8,
    }
}

/// What the law `map` works with, and what it has to do without.
fn tell_surroundings(path: &Path) {
    let Some(around) = &path.surroundings else {
        return;
    };
    log::info!("law map: {}", around.summary());
    for lack in around.lacks(false) {
        log::info!("law map: {lack}");
    }
}

fn on(arguments: &SenderOn) -> Result<()> {
    let choice = Choice::of(arguments)?;
    permitted()?;
    let way = Way::of(&choice)?;
    let gateway = way.gateway;
    let (mut sources, findings) = Sources::survey(&way.mesh);
    let patient = gateway.is_some() && findings.iter().any(|finding| finding.present);
    let path = first_path(&choice, &mut sources, gateway, patient);
    let _lock = lock(false)?;
    let stays = Installed::open()?.filter(Installed::is_this_version);
    let is_new = stays.is_none();
    let installed = match stays {
        Some(installed) => installed,
        None => Installed::install(&settings(&path, &choice, &way))?,
    };
    installed.set(&settings(&path, &choice, &way))?;
    let mut changes = Changes::open(NOTES)?;
    let prepared = prepare_host(arguments, &way.mesh, is_new, &mut changes);
    if prepared.is_err() && is_new {
        // Who is told that it failed takes it for off. What cannot be undone stays noted.
        let _ = changes.undo_all();
        let _ = Installed::remove();
    }
    prepared?;
    log::info!(
        "on: congestion control \"meshpace\", {}, law {}, {} hops ({}), {} Mbit/s",
        way.mesh,
        choice.law,
        path.hops,
        path.source,
        f64::from(path.kbps) / 1e3
    );
    tell_surroundings(&path);
    system::notify_ready();
    if arguments.follow {
        Follower {
            choice: &choice,
            installed: &installed,
            changes: &mut changes,
            sources,
            ifindex: system::interface_index(&way.mesh).unwrap_or(0),
            way,
        }
        .run()?;
    }
    Ok(())
}

/// What is paced: what leaves by this interface, and by a next hop where its default route has one.
struct Way {
    mesh: String,
    gateway: Option<IpAddr>,
}

impl Way {
    fn of(choice: &Choice) -> Result<Self> {
        let routes = routes::default_routes();
        let named = choice
            .arguments
            .mesh
            .as_ref()
            .or(choice.config.mesh.as_ref());
        let mesh = named
            .or(routes.first().map(|route| &route.interface))
            .cloned();
        let mesh = mesh.ok_or_else(|| {
            usage("no default route; name the interface to the mesh with --mesh IF")
        })?;
        system::refuse_other_name(&mesh)?;
        Ok(Self {
            gateway: gateway_by(&mesh, &routes),
            mesh,
        })
    }
}

/// The next hop of the preferred default route through the interface.
fn gateway_by(mesh: &str, routes: &[DefaultRoute]) -> Option<IpAddr> {
    let chosen = routes.iter().find(|route| route.interface == mesh);
    chosen.and_then(|route| route.gateway)
}

/// The mesh's tables are read in the background; at the start they are waited for.
fn first_path(
    choice: &Choice,
    sources: &mut Sources,
    gateway: Option<IpAddr>,
    patient: bool,
) -> Path {
    let deadline = Instant::now() + if patient { PATIENCE } else { Duration::ZERO };
    loop {
        if let Err(error) = sources.refresh() {
            log::warn!("the mesh's tables cannot be read: {error}");
        }
        let path = look_up(choice, sources, gateway);
        if path.source != "default" || Instant::now() > deadline {
            return path;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What `--follow` goes on with.
struct Follower<'a> {
    choice: &'a Choice<'a>,
    installed: &'a Installed,
    changes: &'a mut Changes,
    sources: Sources,
    way: Way,
    ifindex: i32,
}

impl Follower<'_> {
    /// Until the process is ended: what cannot be read at the moment may be a moment later.
    fn run(mut self) -> Result<()> {
        let mut before = (0, 0, 0);
        let mut fault = None;
        loop {
            std::thread::sleep(FOLLOW);
            self.look_for_the_gateway();
            let looked = self.look_again();
            tell(looked.err(), &mut fault);
            let path = look_up(self.choice, &self.sources, self.way.gateway);
            let now = (path.hops, path.kbps, path.link.h_cs);
            if before != now {
                log::info!("{} hops ({}), {} kbit/s", path.hops, path.source, path.kbps);
                if let Some(around) = &path.surroundings {
                    log::info!("law map: {}", around.summary());
                }
                before = now;
            }
            self.installed
                .set(&settings(&path, self.choice, &self.way))?;
        }
    }

    /// The gateway may be another one by now, or have been told after the start. While no default route leads through the
    /// interface nothing leaves by one, and what was known stays. Another interface with the default route is no mesh
    /// for that: it may be the uplink in reserve.
    fn look_for_the_gateway(&mut self) {
        let Some(gateway) = gateway_by(&self.way.mesh, &routes::default_routes()) else {
            return;
        };
        if self.way.gateway != Some(gateway) {
            log::info!("the gateway is now {gateway}");
            self.way.gateway = Some(gateway);
        }
    }

    /// The tables, and the interface, which is another one where somebody made it anew.
    fn look_again(&mut self) -> Result<()> {
        let now = system::interface_index(&self.way.mesh)?;
        if now != self.ifindex {
            send_singly(&self.way.mesh, self.changes)?;
            log::info!("{} has been made anew", self.way.mesh);
            self.ifindex = now;
        }
        self.sources
            .refresh()
            .context("the mesh's tables cannot be read")
    }
}

/// Says once what is wrong, and that it no longer is.
fn tell(error: Option<Error>, fault: &mut Option<String>) {
    let now = error.map(|error| format!("{error:#}"));
    match &now {
        same if same == fault => {}
        Some(text) => log::warn!("{text}; looked for again in {FOLLOW:?}"),
        None => log::info!("the mesh's tables are read again"),
    }
    *fault = now;
}

/// One packet at a time out of TCP.
fn send_singly(mesh: &str, changes: &mut Changes) -> Result<()> {
    let gso = system::gso_max_segs(mesh)?;
    if gso != 1 {
        changes.note_anew(Change::GsoSegs {
            interface: mesh.into(),
            was: gso,
        })?;
        system::set_gso_max_segs(mesh, 1)?;
    }
    Ok(())
}

/// Packets one at a time; if asked for, the congestion control of all new flows.
/// `is_new`: the congestion control has just been registered.
fn prepare_host(
    arguments: &SenderOn,
    mesh: &str,
    is_new: bool,
    changes: &mut Changes,
) -> Result<()> {
    send_singly(mesh, changes)?;
    set_sysctl(TSO_RTT_LOG, "0", changes)?;
    if arguments.default {
        set_sysctl(CONGESTION_CONTROL, installed::NAME, changes)?;
    }
    if is_new {
        renew_default()?;
    }
    Ok(())
}

/// The default of new flows is a registration, and not the name that it shows: of another version's they would go on with
/// the programs that were taken out.
fn renew_default() -> Result<()> {
    let now = std::fs::read_to_string(CONGESTION_CONTROL).unwrap_or_default();
    match now.trim() == installed::NAME {
        true => std::fs::write(CONGESTION_CONTROL, installed::NAME).context(CONGESTION_CONTROL),
        false => Ok(()),
    }
}

/// A setting that this kernel does not have is done without.
fn set_sysctl(path: &str, value: &str, changes: &mut Changes) -> Result<()> {
    let Ok(was) = std::fs::read_to_string(path) else {
        return Ok(());
    };
    let was = was.trim().to_string();
    if was == value {
        return Ok(());
    }
    changes.note(Change::Sysctl {
        path: path.into(),
        was,
    })?;
    let written = std::fs::write(path, value).with_context(|| path.to_string());
    if written.is_err() {
        changes.forget_latest()?;
    }
    written
}

/// Another `off` ends who has the lock, as it has to end a follower: a unit runs one after its follower, which this one has
/// ended. Who is at it does what the other wants; this is over in seconds.
fn goes_on_to_its_end() -> Result<()> {
    // Safe: it is no function of ours.
    unsafe { signal(Signal::SIGTERM, SigHandler::SigIgn) }.context("SIGTERM")?;
    Ok(())
}

fn off() -> Result<()> {
    permitted()?;
    goes_on_to_its_end()?;
    let _lock = lock(true)?;
    // The default first: what it names has to exist.
    let mut changes = Changes::open(NOTES)?;
    let undone = changes.undo_all()?;
    let removed = Installed::remove()?;
    match removed || undone > 0 {
        true => log::info!("off: new flows use the congestion control from before"),
        false => log::info!("it was not on"),
    }
    changes.refuse_elsewhere()
}
