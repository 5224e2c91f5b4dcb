// SPDX-License-Identifier: GPL-2.0-only
//! The systemd unit (packaging/systemd/meshpace.service), where there is one.
use std::path::Path;

use crate::base::errors::{anyhow, Result};
use crate::base::system;
use crate::cli::CONFIGURATION;

const UNIT: &str = "meshpace.service";
/// Where systemd is the init (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";

/// Whether the unit starts a gateway with this configuration.
pub fn is_for(file: &Path) -> bool {
    file == Path::new(CONFIGURATION)
        && Path::new(BOOTED).is_dir()
        && system::run("systemctl", &["cat", UNIT]).is_ok()
}

/// Whether the gateway that runs is the unit's.
pub fn is_active() -> bool {
    system::run("systemctl", &["is-active", "--quiet", UNIT]).is_ok()
}

/// Now, and at each boot.
pub fn start() -> Result<()> {
    let told = |words: &[&str]| {
        let done = system::run("systemctl", words);
        done.map_err(|error| anyhow!("{error:#}; see: journalctl -u {UNIT}"))
    };
    told(&["enable", UNIT])?;
    told(&["restart", UNIT]).map(drop)
}
