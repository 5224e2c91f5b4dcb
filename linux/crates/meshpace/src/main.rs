// SPDX-License-Identifier: GPL-2.0-only
//! meshpace: TCP made fast and fair across multihop Wi-Fi meshes.
mod base;
mod cli;
mod config;
mod daemon;
mod hosts;
mod kernel;
mod operate;
mod policy;
mod release;
mod sender;
mod setup;
mod show;

use std::sync::mpsc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use base::errors::{self, Result};
use base::output::{print, NobodyReads};
use base::{logger, system};
use cli::{Command, ConfigCommand, GatewayArgs, StatusArgs};
use daemon::{again, End, Gateway, Order};
use show::{control, doctor, report, tables, top};

fn main() {
    logger::start();
    let done = cli::parse().and_then(|cli| dispatch(cli.command));
    log::logger().flush();
    if let Err(error) = done {
        if error.is::<NobodyReads>() {
            return;
        }
        eprintln!("meshpace: {}", errors::words(&error));
        std::process::exit(errors::exit_status(&error));
    }
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Setup(arguments) => operate::setup::run(&arguments),
        Command::Gateway(arguments) => gateway(&arguments),
        Command::Try(arguments) => operate::tries::run(&arguments),
        Command::Status(arguments) => show_status(&arguments),
        Command::Top(arguments) => top::run(arguments.mesh.mesh.as_deref(), arguments.flows),
        Command::Report(arguments) => report::run(arguments.mesh.mesh.as_deref(), arguments.json),
        Command::Sender { command } => sender::run(&command),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Config {
            command: ConfigCommand::Check { file },
        } => {
            show::web::check(&config::Config::read(&file)?.web)?;
            print(&format!("{}: no faults\n", file.display()))
        }
        Command::Generate { folder } => cli::generate(&folder),
    }
}

fn gateway(arguments: &GatewayArgs) -> Result<()> {
    let source = arguments.source();
    if arguments.clean {
        return daemon::clean::run(&source);
    }
    let handed = again::take();
    system::keep_memory_small();
    logger::wait_for_nobody()?;
    let (sender, orders) = mpsc::channel();
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let told = sender.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let order = if signal == SIGHUP {
                Order::Reload
            } else {
                Order::Stop
            };
            if told.send(order).is_err() {
                return;
            }
        }
    });
    let (tries, before) = (handed.pacing.is_some(), handed.kept());
    let record = arguments.record.as_deref();
    match Gateway::start(source, arguments.replace, record, handed, sender) {
        // What pacing lacks, observing may do without.
        Err(error) if tries => {
            log::error!("pacing could not begin: {error:#}");
            again::start(before.given_up(&error), &orders)
        }
        Err(error) => Err(error),
        Ok(mut gateway) => {
            let end = gateway.run(&orders)?;
            drop(gateway);
            match end {
                End::Stopped => Ok(()),
                End::Again(handed) => again::start(*handed, &orders),
            }
        }
    }
}

fn show_status(arguments: &StatusArgs) -> Result<()> {
    let status = control::ask(arguments.mesh.mesh.as_deref())?;
    print(&match (arguments.json, arguments.flows) {
        (true, _) => serde_json::to_string_pretty(&status)? + "\n",
        (false, true) => tables::flows(&status, usize::MAX),
        (false, false) => tables::hosts(&status, usize::MAX),
    })
}
