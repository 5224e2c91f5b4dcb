// SPDX-License-Identifier: GPL-2.0-only
//! OpenWrt's configuration, of which its service makes the gateway's at each start (packaging/openwrt): a file of ours is
//! read by nobody there.
use std::path::Path;

use crate::operate::configuration::Written;

const CONFIGURATION: &str = "/etc/config/meshpace";

/// Whether a service starts the gateway by UCI.
pub fn is_there() -> bool {
    Path::new(CONFIGURATION).exists()
}

/// What has the service do as a file says, and start now and at each boot.
pub fn commands(written: &Written) -> String {
    let set = |words: &str| format!("\n    uci {words}");
    let mut lines = set(&format!("set meshpace.@gateway[0].mesh={}", written.mesh));
    lines += &set("-q delete meshpace.@gateway[0].wired");
    for wired in &written.wired {
        lines += &set(&format!("add_list meshpace.@gateway[0].wired={wired}"));
    }
    lines += &set("set meshpace.@gateway[0].enabled=1");
    lines + &set("commit meshpace") + "\n    /etc/init.d/meshpace reload"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_told_what_was_found() {
        let written = Written {
            mesh: "bat0".into(),
            wired: vec!["wan".into(), "wan6".into()],
            paces: false,
        };
        let told = commands(&written);
        let mut lines = told.lines().skip(1).map(str::trim);
        assert_eq!(lines.next(), Some("uci set meshpace.@gateway[0].mesh=bat0"));
        assert_eq!(
            lines.nth(1),
            Some("uci add_list meshpace.@gateway[0].wired=wan")
        );
        assert_eq!(lines.last(), Some("/etc/init.d/meshpace reload"));
    }
}
