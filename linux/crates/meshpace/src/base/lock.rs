// SPDX-License-Identifier: GPL-2.0-only
//! That there is one gateway on an interface, and one sender on a host.
//!
//! A POSIX record lock: the kernel itself tells which process has it, so that nobody's word has to be
//! taken for whom to end. What stands in the file is for people.
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{fcntl, FcntlArg};

use crate::base::errors::{bail, Context, Result};
use crate::base::rundir;

/// Held as long as the process runs, or until this is dropped.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "its descriptor holds the lock")] File);

/// Whose lock it is, for messages.
pub struct Owner<'a> {
    /// the file's name without its ending
    pub name: &'a str,
    /// "a gateway runs on mesh0"
    pub runs: String,
    pub remedy: &'a str,
}

impl Owner<'_> {
    /// Takes the lock; with `replace` from a process that has it, which is ended.
    pub fn lock(&self, replace: bool) -> Result<Lock> {
        let path = rundir::provide()?.join(format!("{}.lock", self.name));
        let mut file = rundir::open_file(&path)?;
        while !try_lock(&file)? {
            let Some(pid) = holder(&file)? else { continue };
            if !replace {
                bail!("{} already (pid {pid}); {}", self.runs, self.remedy);
            }
            self.end(&file, pid)?;
        }
        file.set_len(0)?;
        file.rewind()?;
        // A full disk takes no number; the lock holds all the same.
        if let Err(error) = writeln!(file, "{}", std::process::id()) {
            log::warn!("{}: {error}", path.display());
        }
        Ok(Lock(file))
    }

    /// Asks the holder to end; one that does not within half a minute is killed. It may take four
    /// seconds for what the kernel holds.
    fn end(&self, file: &File, pid: i32) -> Result<()> {
        if pid <= 0 {
            bail!("{} already, in another container; stop it there", self.runs);
        }
        let Some(process) = open_process(pid)? else {
            return Ok(()); // it has ended
        };
        // Only now is it certain that the descriptor is the holder's: its number is not another's yet.
        if holder(file)? != Some(pid) {
            return Ok(());
        }
        for (signal, seconds) in [(libc::SIGTERM, 30), (libc::SIGKILL, 1)] {
            send(&process, signal)?;
            let deadline = Instant::now() + Duration::from_secs(seconds);
            while Instant::now() < deadline {
                if holder(file)? != Some(pid) {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        bail!("{} (pid {pid}), and does not end", self.runs)
    }
}

/// The whole file.
fn record() -> libc::flock {
    // Safe: all zero is a valid flock.
    let mut record: libc::flock = unsafe { std::mem::zeroed() };
    record.l_type = libc::F_WRLCK as libc::c_short;
    record.l_whence = libc::SEEK_SET as libc::c_short;
    record
}

fn try_lock(file: &File) -> Result<bool> {
    let record = record();
    match fcntl(file, FcntlArg::F_SETLK(&record)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error).context("locking"),
    }
}

/// The process that has the lock; 0 or less: one of another process namespace.
fn holder(file: &File) -> Result<Option<i32>> {
    let mut record = record();
    fcntl(file, FcntlArg::F_GETLK(&mut record)).context("asking who has the lock")?;
    Ok((libc::c_int::from(record.l_type) != libc::F_UNLCK).then_some(record.l_pid))
}

/// None: there is none of this number.
fn open_process(pid: i32) -> Result<Option<OwnedFd>> {
    // Safe: no pointers; a new descriptor that is owned here alone.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd >= 0 {
        // Safe: as above.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(fd as i32) }));
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH) => Ok(None),
        _ => Err(error).with_context(|| format!("process {pid}")),
    }
}

/// One that has ended meanwhile needs no signal.
fn send(process: &OwnedFd, signal: i32) -> Result<()> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // Safe: an open descriptor; no siginfo is a plain signal.
    let done = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            signal,
            none,
            0,
        )
    };
    let error = std::io::Error::last_os_error();
    if done != 0 && error.raw_os_error() != Some(libc::ESRCH) {
        return Err(error).context("signalling the process that has the lock");
    }
    Ok(())
}
