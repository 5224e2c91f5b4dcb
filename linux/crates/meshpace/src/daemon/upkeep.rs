// SPDX-License-Identifier: GPL-2.0-only
//! What a running gateway set up, looked after: its files, its rules, its place at the mesh interface.
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Gateway;
use crate::kernel::intf;
use crate::setup::bypass::Look;
use crate::show::control;

impl Gateway {
    /// Lock, socket and notes, whose folder something else may remove.
    pub(super) fn look_after_run_files(&mut self) {
        if !control::is_locked_in_place(&self.mesh) {
            match control::lock(&self.mesh, false) {
                Ok(lock) => self._lock = lock,
                Err(error) => log::debug!("lock: {error:#}"),
            }
        }
        if !control::is_served(&self.mesh) {
            match control::serve(&self.mesh, self.shared.clone()) {
                Ok(()) => log::warn!("something else removed the socket of status; made again"),
                Err(error) => log::debug!("socket of status: {error:#}"),
            }
        }
        self.changes.note_again();
    }

    /// What brings packets before the daemon may have been removed by something else.
    pub(super) fn watch_rules(&mut self) {
        let (Some(rules), None) = (&self.rules, self.watch.fault()) else {
            return;
        };
        let now = Instant::now();
        let count = |counter| self.maps.counter(counter);
        let load = |version: usize| self.queue.let_go[version].load(Ordering::Relaxed);
        let look = self.bypass.compare(now, || {
            let left = [
                intf::mp_counter_MP_COUNT_LEFT4,
                intf::mp_counter_MP_COUNT_LEFT6,
            ];
            (left.map(count), [load(0), load(1)])
        });
        let gone = self.liveness.rules_gone.swap(false, Ordering::Relaxed);
        if look == Look::Nothing && !(gone && self.bypass.may_look(now)) {
            return;
        }
        let why = match rules.put_back() {
            Ok(back) if back.is_empty() => self.bypass.goes_on(now).then(|| {
                format!(
                    "TCP to {} does not pass netfilter's POSTROUTING (flow offload, or a bridge?)",
                    self.mesh
                )
            }),
            Ok(back) => {
                let back = back.join(" and ");
                log::warn!(
                    "{back}, removed by something else (a firewall loaded again?), is put back"
                );
                self.bypass.mended();
                None
            }
            Err(error) => Some(format!(
                "its rules are gone and cannot be put back: {error:#}"
            )),
        };
        match (&self.unpaced, &why) {
            (None, Some(why)) => log::error!("{}: nothing is paced: {why}", self.mesh),
            (Some(_), None) => log::info!("{}: packets are paced again", self.mesh),
            _ => {}
        }
        self.unpaced = why;
    }

    pub(super) fn look_after_mesh(&mut self) {
        if !self.watch.check(self.set_up, &mut self.changes) {
            return;
        }
        // What flows and the retransmit cache hold has another link-layer header.
        for (key, _) in self.maps.all_flows().unwrap_or_default() {
            self.maps.remove_flow(&key);
        }
    }
}
