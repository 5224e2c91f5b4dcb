// SPDX-License-Identifier: GPL-2.0-only
//! Which class of HTB each line has, as the programs find it, and what waits there (linux/bpf/lines.h).
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::base::errors::{Context, Result};
use crate::kernel::batch;
use crate::kernel::intf::{self, mp_class, mp_flow_key, mp_hold_told, Plain};
use crate::kernel::law;
use crate::kernel::programs::Maps;

/// A class's number as its packets bear it.
fn borne(minor: u32) -> [u8; 4] {
    (intf::MP_HTB_MAJOR | minor).to_ne_bytes()
}

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
        // What comes to wait there finds its line when it comes back.
        self.class_lines
            .update(&borne(minor), key.bytes(), MapFlags::ANY)
            .context("lines of classes")?;
        let set = self
            .classes
            .update(key.bytes(), class.bytes(), MapFlags::ANY);
        if set.is_err() {
            let _ = self.class_lines.delete(&borne(minor));
        }
        set.context("classes")
    }

    /// No packet comes to wait in the line's class any more, and what comes back from there counts nowhere.
    pub fn remove_class(&self, key: &mp_flow_key) {
        if let Some(class) = self.class(key) {
            let _ = self.class_lines.delete(&borne(class.minor));
        }
        let _ = self.classes.delete(key.bytes());
    }

    fn class(&self, key: &mp_flow_key) -> Option<mp_class> {
        let class = self.classes.lookup(key.bytes(), MapFlags::LOCK);
        mp_class::from_bytes(&class.ok().flatten()?)
    }

    /// Whether anything waits in a line's class.
    pub fn waits_in_class(&self, key: &mp_flow_key) -> bool {
        let class = self.class(key);
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

    /// An error: which lines have one is not known.
    pub fn forget_classes(&self) -> Result<()> {
        for (key, _) in self.classes()? {
            self.remove_class(&key);
        }
        Ok(())
    }
}
