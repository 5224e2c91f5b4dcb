// SPDX-License-Identifier: GPL-2.0-only
//! The command line; man pages and shell completions are made from it.
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};

use crate::base::errors::{usage, Context, Result};
use crate::config::{Law, Overrides, ReleaseChoice, Source};

/// Where the systemd unit reads its configuration (packaging/systemd/meshpace.service).
pub const CONFIGURATION: &str = "/etc/meshpace/gateway.toml";

/// TCP made fast and fair across multihop Wi-Fi meshes, from their Internet gateway
#[derive(Parser)]
#[command(name = "meshpace", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Find the mesh and the Internet, write the configuration, and have a gateway observe
    Setup(SetupArgs),
    /// Pace the flows between the Internet and the mesh, on the mesh's Internet gateway
    Gateway(GatewayArgs),
    /// Have a gateway that observes pace for a while; it observes again by itself
    Try(TryArgs),
    /// Show who is there, who gets what part and who lacks something, of a running gateway
    Status(StatusArgs),
    /// The same, live
    Top(TopArgs),
    /// Tell of the latest day: who was there, who lacked what, what pacing changed or would have
    Report(ReportArgs),
    /// Pace this host's own flows from the mesh to the Internet (a congestion control)
    Sender {
        #[command(subcommand)]
        command: SenderCommand,
    },
    /// Tell what this machine lacks, and what each missing thing costs
    Doctor(DoctorArgs),
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
pub struct SetupArgs {
    /// The interface towards the mesh; by default what is found, or asked for
    #[arg(long, value_name = "IF")]
    pub mesh: Option<String>,
    /// An interface towards the Internet; by default those of the default routes
    #[arg(long, value_name = "IF")]
    pub wired: Vec<String>,
    /// The configuration to write
    #[arg(long, value_name = "FILE", default_value = CONFIGURATION, value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
    /// Write the file anew even if somebody changed it; the old one is kept beside it
    #[arg(long)]
    pub force: bool,
    /// Do not start the gateway
    #[arg(long)]
    pub no_start: bool,
}

#[derive(Args)]
pub struct TryArgs {
    /// For so long: 2m to 24h
    #[arg(value_name = "TIME", default_value = "10m", value_parser = time_s, conflicts_with_all = ["stay", "stop"])]
    pub time_s: u64,
    /// Keep pacing: the configuration file says so from now on
    #[arg(long, conflicts_with = "stop")]
    pub stay: bool,
    /// Observe again, at once
    #[arg(long)]
    pub stop: bool,
    #[command(flatten)]
    pub mesh: MeshArg,
}

/// 90s, 10m or 2h, in seconds.
fn time_s(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("`{text}` is no time from 2m to 24h; write 10m or 2h");
    let unit_s = match text.bytes().last() {
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(unit_s).ok_or_else(wrong)?;
    match seconds {
        120..=86_400 => Ok(seconds),
        _ => Err(wrong()),
    }
}

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub mesh: MeshArg,
    /// Flows instead of hosts
    #[arg(long)]
    pub flows: bool,
    /// One JSON document on standard output
    #[arg(long, conflicts_with = "flows")]
    pub json: bool,
}

#[derive(Args)]
pub struct TopArgs {
    #[command(flatten)]
    pub mesh: MeshArg,
    /// Flows instead of hosts at first; the key f changes
    #[arg(long)]
    pub flows: bool,
}

#[derive(Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub mesh: MeshArg,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DoctorArgs {
    /// The interface towards the mesh: it and its sources are looked at too
    #[arg(long, value_name = "IF")]
    pub mesh: Option<String>,
    /// Configuration in TOML, for what the law map lacks beside it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
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
    /// Record what comes into a file of at most 16 MiB, to be sent with the report of a fault: headers
    /// without addresses, no payload
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "clean")]
    pub record: Option<PathBuf>,
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
    /// The law that sets the rate: gap, map or even; by default that of the configuration, else even
    #[arg(long)]
    pub law: Option<Law>,
    /// The gateway's configuration in TOML; of it law, delay_bound_ms, delay_bound_means, mesh,
    /// default_path, host, radio and node count here
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Wireless hops to the gateway; by default what the mesh's tables tell, else 1
    #[arg(long, allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=255))]
    pub hops: Option<u32>,
    /// Bit rate of the links in Mbit/s, or of each, this host's first: 11,5.5,2; by default what
    /// the radio tells, else 11
    #[arg(long, allow_negative_numbers = true, value_parser = bit_rate, value_delimiter = ',')]
    pub mbps: Vec<f64>,
    /// Make it the default of all new flows of this host
    #[arg(long)]
    pub default: bool,
    /// Do not ask the gateway for RTT_wired: the law then uses the whole RTT
    #[arg(long)]
    pub no_ask: bool,
    /// Stay, and follow the mesh's tables and the default route's gateway
    #[arg(long)]
    pub follow: bool,
}

fn bit_rate(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(mbps) if (0.001..=100_000.0).contains(&mbps) => Ok(mbps),
        Ok(mbps) => Err(format!(
            "{mbps} is out of range; give 0.001 to 100000 Mbit/s"
        )),
        Err(_) => Err("no number; give 0.001 to 100000 Mbit/s".into()),
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

/// Reads the command line. Help and version are printed, and end the program here; a fault in it is
/// an error of the user's.
pub fn parse() -> Result<Cli> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => usage(format!(
            "{}; see {} --help",
            one_line(&error.render().to_string()),
            command_of(std::env::args().skip(1))
        )),
    })
}

/// What clap says of a fault, on several lines and with the usage below, in one.
fn one_line(said: &str) -> String {
    let fault = said
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let mut out = String::new();
    for line in fault {
        // After a colon, and in brackets, goes on what was begun.
        let goes_on = out.ends_with(':') || line.starts_with('[');
        out += match out.as_str() {
            "" => "",
            _ if goes_on => " ",
            _ => "; ",
        };
        out += line.strip_prefix("error: ").unwrap_or(line);
    }
    out
}

/// The command that words name, as far as they do: "meshpace sender on".
fn command_of(words: impl Iterator<Item = String>) -> String {
    let mut command = Cli::command();
    let mut path = command.get_name().to_string();
    for word in words {
        let Some(sub) = command.find_subcommand(&word).cloned() else {
            continue;
        };
        path = format!("{path} {word}");
        command = sub;
    }
    path
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(words: &str) -> String {
        let error = Cli::try_parse_from(words.split(' ')).err().unwrap();
        one_line(&error.render().to_string())
    }

    #[test]
    fn a_fault_is_told_in_one_line() {
        for (words, parts) in [
            (
                "meshpace gateway --release fast",
                &["fast", "--release", "nfqueue"][..],
            ),
            ("meshpace gateway --config", &["--config <FILE>"]),
            ("meshpace config check", &["not provided: <FILE>"]),
            (
                "meshpace sender on --mbps -3",
                &["--mbps", "-3 is out of range", "100000"],
            ),
            (
                "meshpace sender on --hops -3",
                &["--hops", "-3 is not in 1..=255"],
            ),
            ("meshpace sender on --mbps fast", &["--mbps", "no number"]),
            ("meshpace sender on --hop 3", &["--hop", "--hops"]),
            ("meshpace florw", &["florw"]),
            ("meshpace try 10", &["10", "write 10m"]),
            ("meshpace try 1m", &["2m to 24h"]),
            ("meshpace try 25h", &["2m to 24h"]),
            ("meshpace try 99999999999999999999h", &["2m to 24h"]),
            ("meshpace try -3m", &["-3"]),
            ("meshpace try --stay --stop", &["--stay", "--stop"]),
            ("meshpace try 5m --stop", &["--stop"]),
        ] {
            let said = fault(words);
            assert!(!said.contains('\n') && !said.contains("Usage"), "{said}");
            assert!(!said.starts_with("error"), "{said}");
            for part in parts {
                assert!(said.contains(part), "{words}: no {part} in: {said}");
            }
        }
    }

    #[test]
    fn the_command_whose_help_tells_is_named() {
        let named = |words: &str| command_of(words.split(' ').map(String::from));
        assert_eq!(named("sender on --mbps -3"), "meshpace sender on");
        assert_eq!(named("--mesh x florw"), "meshpace");
        assert_eq!(named("gateway --law warp"), "meshpace gateway");
    }
}
