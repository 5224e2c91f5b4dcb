// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace sender`: the law as this host's congestion control, for flows from the mesh to the wired
//! Internet (linux/bpf/sender.bpf.c). Installed and pinned, it goes on without this program.
mod installed;
mod rows;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use meshpace_paths::Sources;

use crate::changes::{Change, Changes};
use crate::cli::{SenderCommand, SenderOn};
use crate::errors::{bail, usage, Context, Result};
use crate::intf::{self, mp_sender_settings};
use crate::{control, routes, system};
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

/// The path to the gateway as it is used, with what told it.
struct Path {
    hops: u32,
    kbps: u32,
    told_by: String,
}

fn look_up(arguments: &SenderOn, sources: &Sources, gateway: Option<IpAddr>) -> Path {
    let link = gateway.and_then(|gateway| sources.lookup(gateway));
    let found = link.as_ref().and_then(|link| link.hops);
    let (hops, told_by) = match (arguments.hops, found) {
        (Some(hops), _) => (hops, "--hops".into()),
        (None, Some(hops)) => (
            hops,
            link.as_ref()
                .map_or_else(String::new, |l| l.source.to_string()),
        ),
        (None, None) => (1, "default".into()),
    };
    let stated_kbps = arguments.mbps.map(|mbps| (mbps * 1e3) as u32);
    let kbps = stated_kbps
        .or(link.and_then(|link| link.kbps))
        .unwrap_or(11_000);
    Path {
        hops,
        kbps,
        told_by,
    }
}

fn settings(path: &Path, arguments: &SenderOn) -> mp_sender_settings {
    // Safe: a plain function of core/.
    let law = unsafe { intf::mp_law_gap() };
    mp_sender_settings {
        law,
        hops: path.hops,
        kbps: path.kbps,
        ask: (!arguments.no_ask).into(),
    }
}

fn on(arguments: &SenderOn) -> Result<()> {
    permitted()?;
    let (mesh, gateway) = mesh_and_gateway(arguments)?;
    let (mut sources, findings) = Sources::probe(&mesh);
    let patient = gateway.is_some() && findings.iter().any(|finding| finding.present);
    let path = first_path(arguments, &mut sources, gateway, patient);
    let _lock = control::lock(NOTES, false)?;
    let installed = match Installed::open()? {
        Some(installed) => installed,
        None => Installed::install(&settings(&path, arguments))?,
    };
    installed.set(&settings(&path, arguments))?;
    let mut changes = Changes::open(NOTES)?;
    prepare_host(arguments, &mesh, &mut changes)?;
    log::info!(
        "on: congestion control \"meshpace\", {mesh}, {} hops ({}), {} Mbit/s",
        path.hops,
        path.told_by,
        f64::from(path.kbps) / 1e3
    );
    system::notify_ready();
    if arguments.follow {
        follow(arguments, &installed, sources, gateway)?;
    }
    Ok(())
}

/// The interface to the mesh, and the address of the gateway behind it.
fn mesh_and_gateway(arguments: &SenderOn) -> Result<(String, Option<IpAddr>)> {
    let routes = routes::default_routes();
    let chosen = match &arguments.mesh {
        Some(mesh) => routes.iter().find(|route| route.interface == *mesh),
        None => routes.first(),
    };
    let mesh = arguments
        .mesh
        .clone()
        .or(chosen.map(|route| route.interface.clone()));
    let mesh = mesh
        .ok_or_else(|| usage("no default route; name the interface to the mesh with --mesh IF"))?;
    system::interface_index(&mesh)?;
    Ok((mesh, chosen.and_then(|route| route.gateway)))
}

/// The mesh's tables are read in the background; at the start they are waited for.
fn first_path(
    arguments: &SenderOn,
    sources: &mut Sources,
    gateway: Option<IpAddr>,
    patient: bool,
) -> Path {
    let deadline = Instant::now() + if patient { PATIENCE } else { Duration::ZERO };
    loop {
        if let Err(error) = sources.refresh() {
            log::warn!("the mesh's tables cannot be read: {error}");
        }
        let path = look_up(arguments, sources, gateway);
        if path.told_by != "default" || Instant::now() > deadline {
            return path;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn follow(
    arguments: &SenderOn,
    installed: &Installed,
    mut sources: Sources,
    gateway: Option<IpAddr>,
) -> Result<()> {
    let mut before = (0, 0);
    loop {
        std::thread::sleep(FOLLOW);
        sources
            .refresh()
            .context("the mesh's tables cannot be read")?;
        let path = look_up(arguments, &sources, gateway);
        if before != (path.hops, path.kbps) {
            log::info!(
                "{} hops ({}), {} kbit/s",
                path.hops,
                path.told_by,
                path.kbps
            );
            before = (path.hops, path.kbps);
        }
        installed.set(&settings(&path, arguments))?;
    }
}

/// One packet at a time out of TCP; if asked for, the congestion control of all new flows.
fn prepare_host(arguments: &SenderOn, mesh: &str, changes: &mut Changes) -> Result<()> {
    let gso = system::gso_max_segs(mesh)?;
    if gso != 1 {
        changes.note(Change::GsoSegs {
            interface: mesh.into(),
            was: gso,
        })?;
        system::set_gso_max_segs(mesh, 1)?;
    }
    set_sysctl(TSO_RTT_LOG, "0", changes)?;
    if arguments.default {
        set_sysctl(CONGESTION_CONTROL, installed::NAME, changes)?;
    }
    Ok(())
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

fn off() -> Result<()> {
    permitted()?;
    let _lock = control::lock(NOTES, true)?;
    // The default first: what it names has to exist.
    let undone = Changes::open(NOTES)?.undo_all()?;
    let removed = Installed::remove()?;
    match removed || undone > 0 {
        true => log::info!("off: new flows use the congestion control from before"),
        false => log::info!("it was not on"),
    }
    Ok(())
}
