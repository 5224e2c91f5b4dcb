// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace setup`: finds the mesh and the Internet, writes the configuration, and has the gateway observe.
use nix::unistd::geteuid;

use crate::base::errors::{bail, usage, Result};
use crate::base::output::print;
use crate::cli::SetupArgs;
use crate::hosts::routes;
use crate::operate::choice::{self, Chosen};
use crate::operate::configuration::{There, Written};
use crate::operate::terminal::{self, Terminal};
use crate::operate::{uci, unit};
use crate::show::control;

pub fn run(arguments: &SetupArgs) -> Result<()> {
    if !geteuid().is_root() {
        return Err(usage(
            "setup changes this box and needs root: sudo meshpace setup",
        ));
    }
    let written = find(arguments)?;
    let file = &arguments.config;
    let was = Written::there(file)?;
    let stays = match &was {
        There::Ours(before) => before.mesh == written.mesh && before.wired == written.wired,
        There::Changed => !may_overwrite(arguments)?,
        There::Nothing | There::Unset => false,
    };
    if stays {
        print(&format!("{} stays as it is.\n", file.display()))?;
        if matches!(was, There::Changed) {
            // What it says is its author's: it may be another mesh, and it may pace.
            return Ok(());
        }
    } else {
        let kept = written.write(file, &was)?;
        print(&format!(
            "{} is written: the gateway observes, and paces nothing.\n",
            file.display()
        ))?;
        if let Some(kept) = kept {
            print(&format!("What was there is kept as {}.\n", kept.display()))?;
        }
    }
    begin(arguments, &written, stays)
}

/// Both interfaces, and why these.
fn find(arguments: &SetupArgs) -> Result<Written> {
    // What is wrong is said before anything is asked.
    let named: Vec<String> = arguments.wired.clone();
    if let Some(mesh) = &arguments.mesh {
        choice::check(mesh, &named)?;
    }
    let found = meshpace_paths::candidates()?;
    let mut show = |line: &str| print(line);
    let as_named = |name: &String| Chosen {
        name: name.clone(),
        why: "as named".into(),
    };
    let mesh = match &arguments.mesh {
        Some(name) => as_named(name),
        None => choice::mesh(&found, &mut Terminal, &mut show)?,
    };
    print(&format!("mesh:  {} ({})\n", mesh.name, mesh.why))?;
    let by_route = || choice::by_default_route(&mesh.name, &routes::default_routes());
    let (wired, fixed) = match named.as_slice() {
        [] => match by_route() {
            list if list.is_empty() => (
                vec![choice::wired(&mesh.name, &found, &mut Terminal, &mut show)?],
                true,
            ),
            list => (list, false),
        },
        named => (named.iter().map(as_named).collect(), true),
    };
    for one in &wired {
        print(&format!("wired: {} ({})\n", one.name, one.why))?;
    }
    let wired: Vec<_> = wired.into_iter().map(|one| one.name).collect();
    choice::check(&mesh.name, &wired)?;
    // What the routes tell they may tell anew at each start: a link that is not up yet by then keeps nothing waiting.
    let wired = if fixed { wired } else { Vec::new() };
    Ok(Written {
        mesh: mesh.name,
        wired,
        paces: false,
    })
}

/// Whether a file that somebody changed is to be another.
fn may_overwrite(arguments: &SetupArgs) -> Result<bool> {
    if arguments.force {
        return Ok(true);
    }
    let name = arguments.config.display();
    let question = format!(
        "{name} was changed by somebody. Write it anew? What is there is kept as {name}.old"
    );
    terminal::agrees(&mut Terminal, &question).ok_or_else(|| {
        usage(format!("{name} was changed by somebody, and stays; --force writes it anew and keeps the old one, --config FILE writes another"))
    })
}

/// Starts the gateway, or says what does.
fn begin(arguments: &SetupArgs, written: &Written, stays: bool) -> Result<()> {
    let (file, mesh) = (&arguments.config, &written.mesh);
    let by_unit = unit::is_for(file);
    let command = match by_unit {
        true if unit::is_active() => "systemctl restart meshpace".into(),
        true => "systemctl enable --now meshpace".into(),
        false if uci::is_there() => uci::commands(written),
        false => format!("meshpace gateway --config {}", file.display()),
    };
    let runs = control::running()?.iter().any(|running| running == mesh);
    if runs && stays {
        return print(&format!(
            "The gateway on {mesh} runs already, and goes on.\n"
        ));
    }
    if runs && !(by_unit && unit::is_active()) {
        return print(&format!("A gateway runs on {mesh} already; to have it do as the file says, stop it, then: {command}\n"));
    }
    if !by_unit || arguments.no_start {
        return print(&format!("Start it with: {command}\n"));
    }
    if let Err(error) = unit::start() {
        bail!(
            "{} is written, but the gateway does not start: {error:#}",
            file.display()
        );
    }
    print("The gateway runs, now and after each boot. See who gets what: meshpace top. Then: meshpace try 10m\n")
}
