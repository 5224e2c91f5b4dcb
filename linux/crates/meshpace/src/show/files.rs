// SPDX-License-Identifier: GPL-2.0-only
//! The gateway's files under /run, whose folder something else may remove: the lock that there is one, and
//! the sockets by which it is asked how things stand and stood, and told what to do.
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use crate::base::errors::Result;
use crate::base::system;
use crate::show::control::{self, Lock, Shared};
use crate::show::history::{History, Second};
use crate::show::questions;
use crate::show::requests::{self, Reply, Request};
use crate::show::socket::Socket;
use crate::show::status::Status;

/// Carries out what the gateway is told; any thread may call it.
pub type CarryOut = Arc<dyn Fn(Request) -> Reply + Send + Sync>;

pub struct Files {
    mesh: String,
    shared: Shared,
    history: Arc<Mutex<History>>,
    carry_out: CarryOut,
    sockets: [Option<Socket>; 3],
    /// somebody else goes on with them
    kept: bool,
    _lock: Lock,
}

const NAMES: [&str; 3] = [control::NAME, questions::NAME, requests::NAME];
const WHAT: [&str; 3] = ["status", "questions", "requests"];

impl Files {
    /// `inherited`: sockets that an earlier program has bound, in the order of [`Files::hand_over`].
    pub fn new(
        mesh: &str,
        lock: Lock,
        inherited: Vec<OwnedFd>,
        history: Arc<Mutex<History>>,
        carry_out: CarryOut,
    ) -> Self {
        let mut inherited = inherited.into_iter();
        let mut socket = |name| Some(Socket::inherited(mesh, name, inherited.next()?));
        Self {
            sockets: NAMES.map(&mut socket),
            mesh: mesh.into(),
            shared: Shared::default(),
            history,
            carry_out,
            kept: false,
            _lock: lock,
        }
    }

    /// Answers from now on.
    pub fn serve(&mut self) -> Result<()> {
        for (which, name) in NAMES.into_iter().enumerate() {
            if self.sockets[which].is_none() {
                self.sockets[which] = Some(Socket::bind(&self.mesh, name)?);
            }
            self.start(which)?;
        }
        Ok(())
    }

    fn start(&self, which: usize) -> Result<()> {
        match &self.sockets[which] {
            None => Ok(()),
            Some(socket) if NAMES[which] == control::NAME => {
                control::serve(socket, self.shared.clone())
            }
            Some(socket) if NAMES[which] == questions::NAME => {
                questions::serve(socket, self.history.clone())
            }
            Some(socket) => {
                let carry_out = self.carry_out.clone();
                requests::serve(socket, move |request| carry_out(request))
            }
        }
    }

    /// What is answered, for who answers elsewhere.
    pub fn shared(&self) -> Shared {
        self.shared.clone()
    }

    pub fn history(&self) -> Arc<Mutex<History>> {
        self.history.clone()
    }

    /// What hosts got in the latest second.
    pub fn remember(&self, seconds: Vec<Second>, is_paced: bool) {
        let mut history = self.history.lock().expect("its holder ended the program");
        history.remember(seconds, is_paced, system::now_ns());
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
        for (which, name) in NAMES.into_iter().enumerate() {
            if self.sockets[which].as_ref().is_some_and(Socket::is_there) {
                continue;
            }
            let bound = Socket::bind(&self.mesh, name);
            let made = bound.and_then(|socket| {
                self.sockets[which] = Some(socket);
                self.start(which)
            });
            match made {
                Ok(()) => log::warn!(
                    "something else removed the socket of {}; made again",
                    WHAT[which]
                ),
                Err(error) => log::debug!("socket of {}: {error:#}", WHAT[which]),
            }
        }
    }

    /// The sockets, for the program that takes this one's place: they stay where they are.
    pub fn hand_over(&mut self) -> Vec<OwnedFd> {
        self.kept = true;
        // All of them or none: which is which is told by their order.
        let sockets: Option<Vec<_>> = self.sockets.iter_mut().map(Option::take).collect();
        let sockets = sockets.unwrap_or_default().into_iter();
        sockets.map(Socket::into_descriptor).collect()
    }

    /// Nobody is answered any more; the lock is kept.
    pub fn remove_sockets(&self) {
        if !self.kept {
            control::remove_sockets(&self.mesh);
        }
    }
}
