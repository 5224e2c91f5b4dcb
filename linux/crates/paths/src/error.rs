// SPDX-License-Identifier: GPL-2.0-only
//! The crate's error: what could not be read, why, and what helps.

use meshpace_netlink::words::words;
use std::{fmt, io};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub struct Error {
    what: String,
    cause: io::Error,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>, cause: io::Error) -> Error {
        Error {
            what: what.into(),
            cause,
        }
    }

    /// What could not be read.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Why, as the system said it.
    pub fn cause(&self) -> &io::Error {
        &self.cause
    }

    /// What the kernel or the driver cannot do is no news each second; `survey` said it.
    pub(crate) fn is_news(&self) -> bool {
        self.cause.raw_os_error() != Some(libc::EOPNOTSUPP)
    }

    /// What the operator can do about it.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        match self.cause.raw_os_error()? {
            libc::EPERM | libc::EACCES => Some("run as root or with CAP_NET_ADMIN and CAP_NET_RAW"),
            libc::ENODEV => Some("see `ip link` for the interfaces there are"),
            libc::EOPNOTSUPP | libc::EPROTONOSUPPORT => {
                Some("this kernel or driver does not offer it; set hops and mbps in [[host]]")
            }
            _ => None,
        }
    }
}

/// Whether there was no answer, rather than one that says no: netlink had no memory or no room, or was not in time.
pub(crate) fn is_lost(cause: &io::Error) -> bool {
    match cause.raw_os_error() {
        None => true,
        Some(errno) => matches!(errno, libc::ENOBUFS | libc::ENOMEM | libc::EMSGSIZE),
    }
}

/// One line: what, why, remedy.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, words(&self.cause))?;
        match self.remedy() {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
