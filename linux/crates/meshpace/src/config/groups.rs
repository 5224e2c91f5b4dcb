// SPDX-License-Identifier: GPL-2.0-only
//! `[[group]]`: addresses that are one host to the law `even`, or each a host of its own, whatever the
//! mesh shows of them.
use std::net::IpAddr;

use serde::Deserialize;

use super::Prefix;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    /// addresses, or prefixes such as 10.1.7.0/24
    pub addresses: Vec<Prefix>,
    /// each address in it is a host of its own
    #[serde(default)]
    pub split: bool,
    /// as of a [[host]]; of each address where they are split
    pub weight: Option<f64>,
    pub least_kbps: Option<f64>,
}

/// All groups together.
pub(super) fn check(groups: &[Group]) -> Result<(), String> {
    for (n, group) in groups.iter().enumerate() {
        let name = &group.name;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(format!(
                "group {}: name = {name:?} cannot be shown; give it a name of letters and digits",
                n + 1
            ));
        }
        let before = &groups[..n];
        if before.iter().any(|other| other.name == *name) {
            return Err(format!("group '{name}' is there twice; keep one"));
        }
        if group.addresses.is_empty() {
            return Err(format!(
                "group '{name}' has no addresses; give some, such as [\"10.1.0.7\", \"fd00:7::/64\"]"
            ));
        }
        for prefix in &group.addresses {
            let same = |other: &&Group| other.addresses.iter().any(|p| p.is_same(prefix));
            if let Some(other) = before.iter().find(same) {
                return Err(format!(
                    "group '{name}': addresses: {prefix} is in group '{}' as well; keep it in one",
                    other.name
                ));
            }
        }
    }
    Ok(())
}

/// The group with the most specific entry for an address.
pub fn group_of(groups: &[Group], address: IpAddr) -> Option<&Group> {
    let entries = groups
        .iter()
        .flat_map(|group| group.addresses.iter().map(move |prefix| (group, prefix)));
    entries
        .filter(|(_, prefix)| prefix.contains(address))
        .max_by_key(|(_, prefix)| prefix.length)
        .map(|(group, _)| group)
}
