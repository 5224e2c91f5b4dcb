// SPDX-License-Identifier: GPL-2.0-only
//! Why packets do not come before the daemon at the moment: all of them, or those of one IP version, whose rules go by
//! themselves with iptables. What the other version's packets wait for goes on.
use crate::base::errors::words;
use crate::setup::rules::Back;

/// With one of them and a colon begins what is said of it alone.
pub const VERSIONS: [&str; 2] = ["IPv4", "IPv6"];

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unpaced {
    /// nothing is paced
    pub all: Option<String>,
    /// of IPv4 and IPv6, while the other one is paced
    one: [Option<String>; 2],
}

impl Unpaced {
    /// `has`: of which versions there were rules at all; `around`: why their packets go another way although the rules
    /// are there.
    pub fn of(back: Back, has: [bool; 2], around: Option<String>) -> Self {
        let why = |error| {
            format!(
                "its rules are gone and cannot be put back: {}",
                words(error)
            )
        };
        let failed = back.failed.map(|error| error.map(why));
        let is_gone = |version: usize| !has[version] || failed[version].is_some();
        if is_gone(0) && is_gone(1) {
            let all = failed.into_iter().flatten().next().or(around);
            return Self {
                all,
                ..Self::default()
            };
        }
        Self {
            all: around,
            one: failed,
        }
    }

    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Of which versions packets come, as far as rules go.
    pub fn comes(&self, has: [bool; 2]) -> [bool; 2] {
        [0, 1].map(|version| has[version] && self.one[version].is_none())
    }

    /// Of the version of which packets pass while others are paced.
    pub fn of_one(&self) -> Option<String> {
        let told = VERSIONS.iter().zip(&self.one);
        let mut told =
            told.filter_map(|(version, why)| Some(format!("{version}: {}", why.as_ref()?)));
        told.next()
    }

    /// Likewise, where there never was a rule and packets leave all the same.
    pub fn never_ruled(has: [bool; 2], left: [bool; 2]) -> Option<String> {
        let version = (0..2).find(|version| !has[*version] && left[*version])?;
        let version = VERSIONS[version];
        Some(format!(
            "{version}: its rule was refused at the start; see the log"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::errors::anyhow;

    fn back(failed: [bool; 2]) -> Back {
        Back {
            failed: failed.map(|failed| failed.then(|| anyhow!("no such chain"))),
            ..Back::default()
        }
    }

    const BOTH: [bool; 2] = [true; 2];
    const IPV4: [bool; 2] = [true, false];

    /// Else a firewall without IPv6, or one that locks its tables, ends pacing for all.
    #[test]
    fn rules_of_one_version_that_are_gone_leave_the_other_paced() {
        let one = Unpaced::of(back([false, true]), BOTH, None);
        assert_eq!(one.all, None);
        assert!(one.is_any());
        assert_eq!(one.comes(BOTH), IPV4);
        let told = one.of_one().unwrap();
        assert!(told.starts_with("IPv6: its rules are gone"), "{told}");
        let both = Unpaced::of(back(BOTH), BOTH, None);
        assert!(both.all.is_some() && both.of_one().is_none());
        let only = Unpaced::of(back(IPV4), IPV4, None);
        assert!(only.all.is_some(), "there never was another");
        assert!(!Unpaced::of(back([false; 2]), BOTH, None).is_any());
        let around = Unpaced::of(back([false; 2]), BOTH, Some("offload".into()));
        assert_eq!(around.all.as_deref(), Some("offload"));
    }

    /// Else nobody hears that all of IPv6 passes; or each router without it has a fault for ever.
    #[test]
    fn a_version_without_rules_is_told_of_once_packets_leave() {
        assert_eq!(Unpaced::never_ruled(IPV4, IPV4), None);
        assert_eq!(Unpaced::never_ruled(BOTH, BOTH), None);
        let told = Unpaced::never_ruled(IPV4, BOTH).unwrap();
        assert!(told.starts_with("IPv6"), "{told}");
    }
}
