// SPDX-License-Identifier: GPL-2.0-only
//! Bit rates of a path: one of all links, or one of each, from this box on (GAP section 4.2).
use serde::Deserialize;

use super::in_range;
use crate::kernel::intf::{self, mp_law, mp_link, mp_path};
use crate::kernel::law;

/// As many links as core/ takes one by one.
pub const MOST_LINKS: usize = intf::MP_PATH_LINKS as usize;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "mbps is no bit rate; write 11.0, or those of all links, [11.0, 5.5, 2.0]"
)]
pub enum Rates {
    All(f64),
    Each(Vec<f64>),
}

impl Rates {
    /// Of a list on the command line: a single one is that of all links.
    pub fn of(list: &[f64]) -> Option<Self> {
        match list {
            [] => None,
            [one] => Some(Self::All(*one)),
            each => Some(Self::Each(each.to_vec())),
        }
    }

    /// The number of links, where it follows from the rates.
    pub fn hops(&self) -> Option<u32> {
        match self {
            Self::All(_) => None,
            Self::Each(each) => Some(each.len() as u32),
        }
    }

    /// `hops`: as stated beside them.
    pub fn check(&self, name: &str, hops: Option<u32>) -> Result<(), String> {
        let each: &[f64] = match self {
            Self::All(one) => std::slice::from_ref(one),
            Self::Each(each) => each,
        };
        if each.is_empty() || each.len() > MOST_LINKS {
            return Err(format!(
                "{name}: mbps: give a bit rate, or those of 1 to {MOST_LINKS} links"
            ));
        }
        for mbps in each {
            in_range(&format!("{name}: mbps"), *mbps, 0.001, 100_000.0)?;
        }
        match (self.hops(), hops) {
            (Some(links), Some(hops)) if links != hops => Err(format!(
                "{name}: mbps has {links} links, hops says {hops}; leave hops out"
            )),
            _ => Ok(()),
        }
    }

    /// What core/ makes of them: the bit rate of all links in kbit/s, or one that stands for it, and
    /// what it lacks. `link`: of the first hop.
    pub fn told(&self, law: &mp_law, link: mp_link) -> (u32, i64) {
        let kbps = |mbps: f64| (mbps * 1e3) as u32;
        match self {
            Self::All(mbps) => (kbps(*mbps), 0),
            Self::Each(each) => {
                let rates: Vec<u32> = each.iter().map(|mbps| kbps(*mbps)).collect();
                let mut path = mp_path {
                    link,
                    ..mp_path::default()
                };
                law::set_links(law, &mut path, &rates);
                (path.kbps, path.uneven_q16)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Law;

    /// Else links of one rate would not be paced as that rate, or different ones as their mean.
    #[test]
    fn rates_of_links_become_what_the_law_needs() {
        let law = Law::Gap.parameters();
        let told = |rates: Rates| rates.told(&law, mp_link::default());
        assert_eq!(told(Rates::All(11.0)), (11_000, 0));
        assert_eq!(told(Rates::Each(vec![5.5; 7])), (5_500, 0));
        // 3 / (1/11 + 1/5.5 + 1/2) Mbit/s; three links are all within the four in a row.
        let (kbps, uneven_q16) = told(Rates::Each(vec![11.0, 5.5, 2.0]));
        assert_eq!(kbps, 3_882);
        assert!(uneven_q16.abs() < 65_536, "below 1 ns a byte: {uneven_q16}");
        // The slowest four of six: 1 Mbit/s each, 8 us a byte, where the mean is 10.67 / 6 us.
        let (kbps, uneven_q16) = told(Rates::Each(vec![3.0, 3.0, 1.0, 1.0, 1.0, 1.0]));
        assert_eq!(kbps, 1_286);
        let more_ns = uneven_q16 as f64 / 65_536.0;
        assert!((more_ns - (32_000.0 - 4.0 * 8e6 / 1_286.0)).abs() < 1.0);
    }

    /// Else hops and bit rates could contradict each other.
    #[test]
    fn what_cannot_be_a_path_is_refused() {
        let each = |n: usize| Rates::Each(vec![2.0; n]);
        assert!(each(3).check("host", Some(3)).is_ok());
        assert!(each(3).check("host", None).is_ok());
        assert!(Rates::All(2.0).check("host", Some(9)).is_ok());
        let error = each(3).check("host", Some(4)).unwrap_err();
        assert!(error.contains("hops says 4"), "{error}");
        assert!(each(0).check("host", None).is_err());
        assert!(each(37).check("host", None).is_err());
        assert!(Rates::Each(vec![2.0, 0.0]).check("host", None).is_err());
        assert_eq!((each(5).hops(), Rates::All(1.0).hops()), (Some(5), None));
        assert_eq!(Rates::of(&[2.0]), Some(Rates::All(2.0)));
        assert_eq!(Rates::of(&[2.0, 1.0]), Some(Rates::Each(vec![2.0, 1.0])));
        assert_eq!(Rates::of(&[]), None);
    }
}
