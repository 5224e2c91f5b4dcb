// SPDX-License-Identifier: GPL-2.0-only
//! A gateway's listening socket under /run. It may go to the program that takes this one's place in the same process:
//! who connects meanwhile waits, and is not refused.
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use crate::base::errors::{Context, Result};
use crate::base::system;

pub struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

pub fn path(mesh: &str, name: &str) -> PathBuf {
    system::run_folder().join(format!("{mesh}.{name}"))
}

impl Socket {
    /// The folder is root's (rundir.rs), and so is it.
    pub fn bind(mesh: &str, name: &str) -> Result<Self> {
        let path = path(mesh, name);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).with_context(|| path.display().to_string())?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { path, listener })
    }

    /// One that an earlier program has bound.
    pub fn inherited(mesh: &str, name: &str, descriptor: OwnedFd) -> Self {
        Self {
            path: path(mesh, name),
            listener: descriptor.into(),
        }
    }

    /// For a thread that answers.
    pub fn listener(&self) -> Result<UnixListener> {
        Ok(self.listener.try_clone()?)
    }

    /// Whether those who ask find it.
    pub fn is_there(&self) -> bool {
        self.path.exists()
    }

    /// For the program that takes this one's place.
    pub fn into_descriptor(self) -> OwnedFd {
        self.listener.into()
    }
}
