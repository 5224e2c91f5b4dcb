// SPDX-License-Identifier: GPL-2.0-only
//! The program starts again in the same process: so a gateway that observes begins to pace, and one that paces to
//! observe, by the one way in which either is set up. What it had set up is put back by then, so that a process that
//! is killed between the two leaves nothing.
//!
//! What the next program has to know is in a file of memory that only this process has. Who starts the gateway after
//! a kill has none, and does what the configuration says.
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::fcntl::{fcntl, FcntlArg, FdFlag};
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::prctl;
use nix::sys::signal::{signal, SigHandler, Signal};
use serde::{Deserialize, Serialize};

use super::Order;
use crate::base::errors::{words, Context, Error, Result};
use crate::base::system;
use crate::config::ReleaseChoice;
use crate::policy::compare::Before;
use crate::show::history::History;
use crate::show::tries::Ended;

/// The number of the file's descriptor.
const VARIABLE: &str = "MESHPACE_AGAIN";
/// Time for the thread that takes signals to pass on the last one that it took.
const LAST_SIGNAL: Duration = Duration::from_millis(20);

/// A try that the next program begins, or goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    pub number: u64,
    pub began_ns: u64,
    /// by the kernel's monotonic clock, which goes on
    pub until_ns: u64,
}

/// What the next program has to know.
#[derive(Default, Serialize, Deserialize)]
pub struct Handed {
    pub pacing: Option<Pacing>,
    pub before: Before,
    pub ended: Option<Ended>,
    pub(super) descriptors: Vec<RawFd>,
    #[serde(skip)]
    pub sockets: Vec<OwnedFd>,
    /// what hosts got so far; it goes beside the rest
    #[serde(skip)]
    pub history: Arc<Mutex<History>>,
}

impl Handed {
    /// How the next program releases packets; None: as the configuration says.
    pub fn release(&self) -> Option<ReleaseChoice> {
        self.pacing.map(|_| ReleaseChoice::Auto)
    }

    /// Pacing could not begin: the program that comes then observes.
    pub fn given_up(self, error: &Error) -> Self {
        let number = self.pacing.map_or(0, |pacing| pacing.number);
        Self {
            pacing: None,
            ended: Some(Ended {
                number,
                why: format!("pacing could not begin: {}", words(format!("{error:#}"))),
                ..Ended::default()
            }),
            ..self
        }
    }

    /// What the next program has to know if this one fails with it.
    pub fn kept(&self) -> Self {
        Self {
            pacing: self.pacing,
            before: self.before.clone(),
            ended: self.ended.clone(),
            history: self.history.clone(),
            ..Self::default()
        }
    }

    fn text(&self) -> Result<Vec<u8>> {
        let history = self.history.lock().expect("its holder ended the program");
        Ok(serde_json::to_vec(&(self, &*history))?)
    }

    fn read(number: RawFd) -> Result<Self> {
        fcntl_exists(number)?;
        // Safe: it is open, and who started this program in this process has left it to us alone.
        let mut file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
        let mut text = String::new();
        file.rewind()?;
        file.read_to_string(&mut text)?;
        let (mut handed, history): (Self, History) = serde_json::from_str(&text)?;
        handed.history = Arc::new(Mutex::new(history));
        for descriptor in std::mem::take(&mut handed.descriptors) {
            fcntl_exists(descriptor)?;
            // Safe: as above.
            let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
            keep_open(&socket, false)?;
            handed.sockets.push(socket);
        }
        Ok(handed)
    }
}

/// An error for a number that is none of an open file's.
fn fcntl_exists(number: RawFd) -> Result<()> {
    // Safe: no pointers; it asks only.
    match unsafe { libc::fcntl(number, libc::F_GETFD) } {
        -1 => Err(std::io::Error::last_os_error().into()),
        _ => Ok(()),
    }
}

/// Whether the next program has it, too.
fn keep_open(descriptor: &OwnedFd, kept: bool) -> Result<()> {
    let flags = if kept {
        FdFlag::empty()
    } else {
        FdFlag::FD_CLOEXEC
    };
    fcntl(descriptor, FcntlArg::F_SETFD(flags))?;
    Ok(())
}

/// What the program before this one left, which it is asked for once, before there is another thread.
pub fn take() -> Handed {
    let Some(number) = std::env::var_os(VARIABLE) else {
        return Handed::default();
    };
    std::env::remove_var(VARIABLE);
    call_by_name();
    let number = number.to_str().and_then(|text| text.parse().ok());
    number
        .context("no number of a file")
        .and_then(Handed::read)
        .unwrap_or_else(|error| {
            log::warn!("{VARIABLE}: {error:#}; what was observed before is lost");
            Handed::default()
        })
}

/// The kernel calls a program by the file that it was started from, and that was `exe`: `pidof` and `ps` would not find it.
fn call_by_name() {
    let _ = prctl::set_name(c"meshpace");
}

/// As this one was started; who has the interface by now is not driven away.
fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os()
        .skip(1)
        .filter(|word| word != "--replace")
}

/// The program starts again, with what it is handed. Returns when it is to end instead, or cannot.
pub fn start(mut handed: Handed, orders: &Receiver<Order>) -> Result<()> {
    // A reload has nothing to say, since the configuration is read anyway; whoever ends the program ends it at once.
    for (number, action) in [
        (Signal::SIGHUP, SigHandler::SigIgn),
        (Signal::SIGTERM, SigHandler::SigDfl),
        (Signal::SIGINT, SigHandler::SigDfl),
    ] {
        // Safe: neither is a function of ours.
        unsafe { signal(number, action) }?;
    }
    std::thread::sleep(LAST_SIGNAL);
    if orders.try_iter().any(|order| matches!(order, Order::Stop)) {
        return Ok(());
    }
    system::notify_starting();
    for socket in &handed.sockets {
        keep_open(socket, true)?;
        handed.descriptors.push(socket.as_raw_fd());
    }
    let memory =
        memfd_create("meshpace", MFdFlags::MFD_CLOEXEC).context("memory for the next program")?;
    keep_open(&memory, true)?;
    let number = memory.as_raw_fd();
    File::from(memory.try_clone()?).write_all(&handed.text()?)?;
    log::logger().flush();
    let name = std::env::args_os().next();
    let failed = std::process::Command::new("/proc/self/exe")
        .arg0(name.unwrap_or_else(|| "meshpace".into()))
        .args(arguments())
        .env(VARIABLE, number.to_string())
        .exec();
    Err(failed).context("starting again")
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd;

    use super::*;

    #[test]
    fn what_is_handed_over_arrives() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let pacing = Pacing {
            number: 7,
            began_ns: 1,
            until_ns: 2,
        };
        let handed = Handed {
            pacing: Some(pacing),
            descriptors: vec![one.into_raw_fd()],
            ..Handed::default()
        };
        let memory = memfd_create("test", MFdFlags::MFD_CLOEXEC).unwrap();
        let mut file = File::from(memory.try_clone().unwrap());
        file.write_all(&handed.text().unwrap()).unwrap();
        let number = memory.into_raw_fd();
        let arrived = Handed::read(number).unwrap();
        assert_eq!(arrived.pacing, Some(pacing));
        assert_eq!(arrived.sockets.len(), 1);
        assert_eq!(arrived.release(), Some(ReleaseChoice::Auto));
        assert!(Handed::read(number).is_err(), "it is closed");
        let given_up = arrived.given_up(&crate::base::errors::anyhow!("no ifb"));
        assert_eq!(given_up.release(), None);
        assert!(given_up.ended.unwrap().why.contains("no ifb"));
    }
}
