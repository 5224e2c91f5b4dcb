// SPDX-License-Identifier: GPL-2.0-only
//! core/'s verdict of a host in words: one or two for a table, a sentence for who lacks something.
use crate::kernel::intf::{
    mp_bound, mp_bound_MP_BOUND_ABSENT as ABSENT, mp_bound_MP_BOUND_BEGINS as BEGINS,
    mp_bound_MP_BOUND_DEMAND as DEMAND, mp_bound_MP_BOUND_MESH as MESH,
    mp_bound_MP_BOUND_NOTHING as NOTHING, mp_bound_MP_BOUND_OTHERS as OTHERS,
    mp_bound_MP_BOUND_PATH as PATH, mp_bound_MP_BOUND_ROUTE as ROUTE,
    mp_bound_MP_BOUND_SHARE as SHARE, mp_verdict,
};

/// Under a law that shares nothing out there is no verdict.
pub const NOT_JUDGED: &str = "not judged";

pub fn words(bound: mp_bound) -> &'static str {
    match bound {
        ABSENT => "not active",
        ROUTE => "lost route",
        BEGINS => "just begun",
        DEMAND => "own demand",
        SHARE => "its share",
        MESH => "the mesh",
        PATH => "its path",
        OTHERS => "other hosts",
        NOTHING => "nothing",
        _ => "not known yet",
    }
}

/// What a host gets of its part; None: it has none.
pub fn part(verdict: &mp_verdict) -> Option<f64> {
    let whole = verdict.part_q16 as f64;
    (whole > 0.0).then(|| verdict.used_q16 as f64 / whole)
}

/// `air`: what there is of it, if it is shared; `paced`: packets are held here.
pub fn sentence(verdict: &mp_verdict, air: Option<f64>, paced: bool) -> Option<String> {
    if verdict.bound == ROUTE {
        return Some(format!(
            "Nothing of it has been acknowledged for {} s, and data are under way: its route is lost, or it has left.",
            verdict.silent_s
        ));
    }
    if !verdict.underserved {
        return None;
    }
    let percent = part(verdict).unwrap_or(0.0) * 100.0;
    let why = match verdict.bound {
        SHARE => match air {
            Some(air) if air < 1.0 => format!(
                "meshpace itself holds it, for the mesh carries less than was learnt (air {air:.2})"
            ),
            _ => "meshpace itself holds it, for others use more of the air than was learnt of them"
                .into(),
        },
        MESH => "it loses what meshpace lets through: a weak link, or others in its way".into(),
        PATH => "it is held to what its own answers say that its path carries".into(),
        OTHERS if paced => "others have the rest, and nobody is held at the moment".into(),
        OTHERS => "others have the rest, and nothing is paced here".into(),
        _ => "whether it still wants more does not show at the moment".into(),
    };
    Some(format!("It gets {percent:.0}% of its part: {why}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_lacks_something_has_a_sentence() {
        let verdict = mp_verdict {
            bound: OTHERS,
            used_q16: 13107,
            part_q16: 32768,
            ..Default::default()
        };
        assert_eq!(sentence(&verdict, None, false), None);
        let lacks = mp_verdict {
            underserved: true,
            ..verdict
        };
        assert_eq!(
            sentence(&lacks, None, false).unwrap(),
            "It gets 40% of its part: others have the rest, and nothing is paced here."
        );
        let held = mp_verdict {
            bound: SHARE,
            ..lacks
        };
        assert!(sentence(&held, Some(0.62), true)
            .unwrap()
            .contains("air 0.62"));
        let lost = mp_verdict {
            bound: ROUTE,
            silent_s: 12,
            ..verdict
        };
        assert!(sentence(&lost, None, true).unwrap().contains("for 12 s"));
    }
}
