// SPDX-License-Identifier: GPL-2.0-only
//! The gateway's files under /run, whose folder something else may remove: the lock that there is one, and
//! the socket by which it is asked.
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::base::errors::Result;
use crate::show::control::{self, Lock, Shared};
use crate::show::history::{History, Second};
use crate::show::status::Status;

pub struct Files {
    mesh: String,
    shared: Shared,
    history: Arc<Mutex<History>>,
    started: Instant,
    _lock: Lock,
}

impl Files {
    pub fn new(mesh: &str, lock: Lock) -> Self {
        Self {
            mesh: mesh.into(),
            shared: Shared::default(),
            history: Arc::default(),
            started: Instant::now(),
            _lock: lock,
        }
    }

    /// Answers from now on.
    pub fn serve(&self) -> Result<()> {
        control::serve(&self.mesh, self.shared.clone())?;
        control::serve_questions(&self.mesh, self.history.clone())
    }

    /// What is answered, for who answers elsewhere.
    pub fn shared(&self) -> Shared {
        self.shared.clone()
    }

    pub fn history(&self) -> Arc<Mutex<History>> {
        self.history.clone()
    }

    /// What hosts got in the latest second.
    pub fn remember(&self, seconds: Vec<Second>) {
        let mut history = self.history.lock().expect("its holder ended the program");
        history.add(seconds, self.started.elapsed().as_secs());
    }

    /// Hosts that made room in the history for others, and seconds of hosts for which there was none.
    pub fn forgotten(&self) -> [u64; 2] {
        let history = self.history.lock().expect("its holder ended the program");
        [history.made_room, history.no_room]
    }

    /// What is answered from now on. The one before is gone when this one is made, for with full tables
    /// either takes megabytes; who asks meanwhile waits for it.
    pub fn renew(&self, make: impl FnOnce() -> Status) {
        let mut latest = self.shared.lock().expect("its holder ended the program");
        *latest = Arc::default();
        *latest = Arc::new(make());
    }

    pub fn look_after(&mut self) {
        if !control::is_locked_in_place(&self.mesh) {
            match control::lock(&self.mesh, false) {
                Ok(lock) => self._lock = lock,
                Err(error) => log::debug!("lock: {error:#}"),
            }
        }
        if !control::is_served(&self.mesh) {
            match self.serve() {
                Ok(()) => log::warn!("something else removed the socket of status; made again"),
                Err(error) => log::debug!("socket of status: {error:#}"),
            }
        }
    }

    /// Nobody is answered any more; the lock is kept.
    pub fn remove_socket(&self) {
        control::remove_socket(&self.mesh);
    }
}
