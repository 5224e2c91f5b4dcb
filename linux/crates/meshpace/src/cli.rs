// SPDX-License-Identifier: GPL-2.0-only
//! The command line; man pages and shell completions are made from it.
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};

use crate::config::{Law, Overrides, ReleaseChoice, Source};
use crate::errors::{Context, Result};

/// TCP made fast and fair across multihop Wi-Fi meshes, from their Internet gateway
#[derive(Parser)]
#[command(name = "meshpace", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Pace the flows between the Internet and the mesh, on the mesh's Internet gateway
    Gateway(GatewayArgs),
    /// Show the flows of a running gateway
    Status(StatusArgs),
    /// Show the flows of a running gateway, live
    Top(MeshArg),
    /// Pace this host's own flows from the mesh to the Internet (a congestion control)
    Sender {
        #[command(subcommand)]
        command: SenderCommand,
    },
    /// Tell what this machine lacks, and what each missing thing costs
    Doctor(StatusArgs),
    /// Check a configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Write man pages and shell completions
    #[command(hide = true)]
    Generate {
        /// the folder to write into
        #[arg(value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}

#[derive(Args)]
pub struct MeshArg {
    /// The interface towards the mesh; may be left out when there is one gateway only
    #[arg(long, value_name = "IF")]
    pub mesh: Option<String>,
}

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub mesh: MeshArg,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct GatewayArgs {
    /// The interface towards the mesh (bat0, a mesh point, a bridge over it, a tunnel)
    #[arg(long, value_name = "IF")]
    pub mesh: Option<String>,
    /// An interface towards the Internet; by default those of the default routes
    #[arg(long, value_name = "IF")]
    pub wired: Vec<String>,
    /// The law that sets the rate
    #[arg(long)]
    pub law: Option<Law>,
    /// How packets wait for their departure
    #[arg(long)]
    pub release: Option<ReleaseChoice>,
    /// The same as --release observe: measure and show, touch nothing
    #[arg(long, conflicts_with = "release")]
    pub observe: bool,
    /// Configuration in TOML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Remove every trace of a gateway that died, and end
    #[arg(long)]
    pub clean: bool,
    /// Take over from a gateway that runs already
    #[arg(long, conflicts_with = "clean")]
    pub replace: bool,
}

#[derive(Subcommand)]
pub enum SenderCommand {
    /// Install the congestion control "meshpace"; it stays when this program ends
    On(SenderOn),
    /// Take it out again; flows that have it keep it to their end
    Off,
    /// Show the flows that it paces
    Status {
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct SenderOn {
    /// The interface towards the mesh; by default that of the default route
    #[arg(long, value_name = "IF")]
    pub mesh: Option<String>,
    /// Wireless hops to the gateway; by default what the mesh's tables tell, else 1
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=255))]
    pub hops: Option<u32>,
    /// Bit rate of the links in Mbit/s; by default what the radio tells, else 11
    #[arg(long, value_parser = bit_rate)]
    pub mbps: Option<f64>,
    /// Make it the default of all new flows of this host
    #[arg(long)]
    pub default: bool,
    /// Do not ask the gateway for RTT_wired: the law then uses the whole RTT
    #[arg(long)]
    pub no_ask: bool,
    /// Stay, and follow the mesh's tables
    #[arg(long)]
    pub follow: bool,
}

fn bit_rate(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(mbps) if (0.001..=100_000.0).contains(&mbps) => Ok(mbps),
        _ => Err("give Mbit/s, 0.001 to 100000".into()),
    }
}

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Say what is wrong with a file
    Check {
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

impl GatewayArgs {
    pub fn source(&self) -> Source {
        let release = if self.observe {
            Some(ReleaseChoice::Observe)
        } else {
            self.release
        };
        let overrides = Overrides {
            mesh: self.mesh.clone(),
            wired: self.wired.clone(),
            law: self.law,
            release,
        };
        Source {
            file: self.config.clone(),
            overrides,
        }
    }
}

/// Man pages (man1) and completions for bash, zsh and fish.
pub fn generate(folder: &std::path::Path) -> Result<()> {
    let mut command = Cli::command();
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    clap_mangen::generate_to(command.clone(), folder)?;
    for shell in [
        clap_complete::Shell::Bash,
        clap_complete::Shell::Zsh,
        clap_complete::Shell::Fish,
    ] {
        clap_complete::generate_to(shell, &mut command, "meshpace", folder)?;
    }
    Ok(())
}
