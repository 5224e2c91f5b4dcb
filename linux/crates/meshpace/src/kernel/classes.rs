// SPDX-License-Identifier: GPL-2.0-only
//! Which class of HTB each line has, as the programs find it, and what waits there (linux/bpf/lines.h).
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::base::errors::{Context, Result};
use crate::kernel::batch;
use crate::kernel::intf::{mp_class, mp_flow_key, mp_hold_told, Plain};
use crate::kernel::law;
use crate::kernel::programs::Maps;

impl Maps {
    /// Where the programs tell which lines need a class, or another rate.
    pub fn lines(&self) -> Result<MapHandle> {
        MapHandle::try_from(&self.lines).context("ring buffer")
    }

    /// From now on packets of the line wait in this class of HTB.
    pub fn set_class(&self, key: &mp_flow_key, minor: u32, interval_ns: u64) -> Result<()> {
        let class = mp_class {
            minor,
            told: mp_hold_told {
                interval_ns,
                ..Default::default()
            },
            ..Default::default()
        };
        self.classes
            .update(key.bytes(), class.bytes(), MapFlags::ANY)
            .context("classes")
    }

    /// No packet waits in a class of its own any more.
    pub fn remove_class(&self, key: &mp_flow_key) {
        let _ = self.classes.delete(key.bytes());
    }

    /// Whether anything waits in a line's class.
    pub fn waits_in_class(&self, key: &mp_flow_key) -> bool {
        let class = self.classes.lookup(key.bytes(), MapFlags::LOCK);
        let class = class.ok().flatten();
        let class = class.and_then(|bytes| mp_class::from_bytes(&bytes));
        class.is_some_and(|class| law::hold_waiting(&class.hold) > 0)
    }

    pub fn classes(&self) -> Result<Vec<(mp_flow_key, mp_class)>> {
        let mut all = Vec::new();
        batch::each(&self.classes, MapFlags::LOCK, |key, class: &mp_class| {
            all.push((*key, *class));
        })?;
        Ok(all)
    }

    /// Units that wait in all lines.
    pub fn waiting(&self) -> Result<u64> {
        let waiting = |(_, class): &(_, mp_class)| u64::from(law::hold_waiting(&class.hold));
        Ok(self.classes()?.iter().map(waiting).sum())
    }

    pub fn forget_classes(&self) {
        for (key, _) in self.classes().unwrap_or_default() {
            self.remove_class(&key);
        }
    }
}
