// SPDX-License-Identifier: GPL-2.0-only
//! What a host may have beside the others (law `even`, shares of the air): `weight` and `least_kbps` of a `[[group]]`
//! or a `[[host]]`, and `least_kbps` of all.
use std::net::IpAddr;

use super::{group_of, in_range, Config, Group, Host, Prefix};
use crate::kernel::intf::MP_AIR_WEIGHT_MAX_Q16;

const ONE_Q16: f64 = 65536.0;
const LEAST_WEIGHT: f64 = 0.01;
const MOST_WEIGHT: f64 = MP_AIR_WEIGHT_MAX_Q16 as f64 / ONE_Q16;
const MOST_KBPS: f64 = 1e6;

/// What is stated of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Right {
    pub weight: Option<f64>,
    pub least_kbps: Option<f64>,
}

impl Right {
    /// Where both state something: the greater. A host has what any of its addresses is given.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let greater = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            _ => a.or(b),
        };
        Self {
            weight: greater(self.weight, other.weight),
            least_kbps: greater(self.least_kbps, other.least_kbps),
        }
    }

    /// As core/ has it.
    pub fn weight_q16(&self) -> u32 {
        (self.weight.unwrap_or(1.0) * ONE_Q16) as u32
    }

    pub fn least_bytes_per_s(&self) -> u64 {
        (self.least_kbps.unwrap_or(0.0) * 1e3 / 8.0) as u64
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Host {
    fn right(&self) -> Right {
        Right {
            weight: self.weight,
            least_kbps: self.least_kbps,
        }
    }
}

impl Group {
    fn right(&self) -> Right {
        Right {
            weight: self.weight,
            least_kbps: self.least_kbps,
        }
    }
}

/// What the configuration states of everybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rights {
    hosts: Vec<(Prefix, Right)>,
    groups: Vec<Group>,
    all: Right,
}

impl Rights {
    pub fn of(config: &Config) -> Self {
        let least_kbps = (config.least_kbps > 0.0).then_some(config.least_kbps);
        let stated = |host: &Host| (host.address, host.right());
        let hosts = config.host.iter().map(stated);
        Self {
            hosts: hosts.filter(|(_, right)| !right.is_none()).collect(),
            groups: config.group.clone(),
            all: Right {
                weight: None,
                least_kbps,
            },
        }
    }

    /// Whether every host is as any other, with nothing that it is to have at least.
    pub fn are_alike(&self) -> bool {
        let plain = |group: &Group| group.right().is_none();
        self.hosts.is_empty() && self.groups.iter().all(plain)
    }

    /// What all have who have nothing of their own.
    pub fn of_all(&self) -> Right {
        self.all
    }

    /// What is stated of an address: by its group, else by the longest prefix that states it.
    pub fn of_address(&self, address: IpAddr) -> Right {
        let group = group_of(&self.groups, address).map(Group::right);
        let group = group.unwrap_or_default();
        let longest = |stated: fn(&Right) -> Option<f64>| {
            let stating = self
                .hosts
                .iter()
                .filter(|(prefix, right)| stated(right).is_some() && prefix.contains(address));
            let most = stating.max_by_key(|(prefix, _)| prefix.length);
            most.and_then(|(_, right)| stated(right))
        };
        Right {
            weight: group.weight.or_else(|| longest(|right| right.weight)),
            least_kbps: group
                .least_kbps
                .or_else(|| longest(|right| right.least_kbps)),
        }
    }
}

/// `name`: of what has the keys, in messages; empty: of the file itself.
fn check_right(name: &str, right: &Right) -> Result<(), String> {
    if let Some(weight) = right.weight {
        in_range(&format!("{name}weight"), weight, LEAST_WEIGHT, MOST_WEIGHT)?;
    }
    if let Some(least_kbps) = right.least_kbps {
        in_range(&format!("{name}least_kbps"), least_kbps, 0.0, MOST_KBPS)?;
    }
    Ok(())
}

pub(super) fn check(config: &Config) -> Result<(), String> {
    in_range("least_kbps", config.least_kbps, 0.0, MOST_KBPS)?;
    for host in &config.host {
        check_right(&format!("host {}: ", host.address), &host.right())?;
    }
    for group in &config.group {
        check_right(&format!("group '{}': ", group.name), &group.right())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let config: Config = toml::from_str(text).map_err(|error| error.message().to_string())?;
        config.check().map(|()| config)
    }

    fn right(text: &str, address: &str) -> Right {
        Rights::of(&parse(text).unwrap()).of_address(address.parse().unwrap())
    }

    /// Else a member of a group would be taken for somebody's neighbour, or one key would take another's away.
    #[test]
    fn a_group_goes_before_hosts_and_each_key_is_found_by_itself() {
        let text = "[[host]]\naddress='10.1.0.0/16'\nweight=2\nleast_kbps=300\n\
                    [[host]]\naddress='10.1.7.9'\nhops=3\n\
                    [[host]]\naddress='10.1.7.0/24'\nweight=0.5\n\
                    [[group]]\nname='school'\naddresses=['10.1.8.0/24','fd00:8::/64']\nweight=4";
        let of = |weight, least_kbps| Right { weight, least_kbps };
        assert_eq!(right(text, "10.1.0.1"), of(Some(2.0), Some(300.0)));
        assert_eq!(right(text, "10.1.7.9"), of(Some(0.5), Some(300.0)));
        assert_eq!(right(text, "10.1.8.1"), of(Some(4.0), Some(300.0)));
        assert_eq!(right(text, "fd00:8::1"), of(Some(4.0), None));
        assert_eq!(right(text, "10.2.0.1"), Right::default());
    }

    #[test]
    fn what_core_is_told() {
        let none = Right::default();
        assert_eq!((none.weight_q16(), none.least_bytes_per_s()), (65536, 0));
        let some = Right {
            weight: Some(2.5),
            least_kbps: Some(512.0),
        };
        assert_eq!(
            (some.weight_q16(), some.least_bytes_per_s()),
            (163_840, 64_000)
        );
        let lighter = Right {
            weight: Some(0.5),
            least_kbps: None,
        };
        assert_eq!(
            lighter.or(none),
            lighter,
            "what is not stated takes nothing away"
        );
        assert_eq!(lighter.or(some), some);
    }

    #[test]
    fn whether_all_are_alike() {
        let alike = |text: &str| Rights::of(&parse(text).unwrap()).are_alike();
        assert!(alike("least_kbps = 100"));
        assert!(alike("[[group]]\nname='a'\naddresses=['10.1.0.1']"));
        assert!(!alike(
            "[[group]]\nname='a'\naddresses=['10.1.0.1']\nweight=2"
        ));
        assert!(!alike("[[host]]\naddress='10.1.0.1'\nleast_kbps=2"));
        assert_eq!(Rights::of(&parse("").unwrap()), Rights::default());
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (text, names) in [
            ("least_kbps = -1", "least_kbps = -1"),
            (
                "[[host]]\naddress='10.1.0.1'\nweight=0",
                "host 10.1.0.1/32: weight = 0",
            ),
            ("[[host]]\naddress='10.1.0.1'\nweight=nan", "weight = NaN"),
            (
                "[[host]]\naddress='10.1.0.1'\nweight=101",
                "give 0.01 to 100",
            ),
            (
                "[[group]]\nname='a'\naddresses=['10.1.0.1']\nleast_kbps=2e6",
                "group 'a': least_kbps = 2000000 is out of range; give 0 to 1000000",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(names), "{error}");
        }
    }
}
