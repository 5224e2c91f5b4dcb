// SPDX-License-Identifier: GPL-2.0-only
//! A line of `doctor`.

use std::fmt;

/// Something that is there, or something that is missing with what that costs and what helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub present: bool,
    /// What is there or missing, with the interface it is about.
    pub what: String,
    /// What its absence costs.
    pub cost: Option<String>,
    /// What the operator can do.
    pub remedy: Option<String>,
}

impl Finding {
    pub(crate) fn present(what: impl Into<String>) -> Finding {
        Finding {
            present: true,
            what: what.into(),
            cost: None,
            remedy: None,
        }
    }

    pub(crate) fn missing(what: impl Into<String>, cost: &str, remedy: &str) -> Finding {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Finding {
            present: false,
            what: what.into(),
            cost: some(cost),
            remedy: some(remedy),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for more in [&self.cost, &self.remedy].into_iter().flatten() {
            write!(f, "; {more}")?;
        }
        Ok(())
    }
}
