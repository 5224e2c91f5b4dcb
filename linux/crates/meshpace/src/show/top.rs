// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace top`: the table of hosts, renewed once a second until Ctrl-C or `q`; with `f` that of flows.
use std::io::{IsTerminal, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::base::errors::Result;
use crate::base::output::print;
use crate::show::control;
use crate::show::tables;

const CLEAR: &str = "\x1b[H\x1b[2J";
/// Lines that are not rows: headline, why nothing is paced, a try, blank, headings, "and more", keys, prompt.
const OTHER_LINES: usize = 8;
const RENEWED_MS: u16 = 1000;

/// Rows of the terminal.
fn rows() -> usize {
    // Safe: all zero is a valid winsize, and the ioctl fills in no more.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        libc::ioctl(
            std::io::stdout().as_raw_fd(),
            libc::TIOCGWINSZ,
            &raw mut size,
        );
        size
    };
    if size.ws_row == 0 {
        24
    } else {
        size.ws_row.into()
    }
}

/// A terminal that gives each key at once and shows none; as it was when this is dropped.
struct Keys(libc::termios);

impl Keys {
    /// None: what is read from is no terminal, and there are no keys.
    fn of_terminal() -> Option<Self> {
        // Safe: all zero is a valid termios, and tcgetattr fills in no more.
        let before = unsafe {
            let mut found: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(0, &raw mut found) == 0).then_some(found)?
        };
        let mut keys = before;
        keys.c_lflag &= !(libc::ICANON | libc::ECHO);
        // Safe: it reads one termios.
        (unsafe { libc::tcsetattr(0, libc::TCSANOW, &raw const keys) } == 0).then_some(Self(before))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // Safe: it reads one termios.
        unsafe { libc::tcsetattr(0, libc::TCSANOW, &raw const self.0) };
    }
}

/// Waits until it is time for another table; the key that was pressed meanwhile.
fn key(keys: Option<&Keys>) -> Option<u8> {
    let stdin = std::io::stdin();
    let mut fds = vec![];
    if keys.is_some() {
        fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLIN));
    }
    let pressed = poll(&mut fds, PollTimeout::from(RENEWED_MS)).is_ok_and(|ready| ready > 0);
    let mut byte = [0];
    (pressed && stdin.lock().read(&mut byte).is_ok_and(|read| read > 0)).then_some(byte[0])
}

pub fn run(mesh: Option<&str>, mut flows: bool) -> Result<()> {
    let terminal = std::io::stdout().is_terminal();
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, over.clone())?;
    }
    let keys = terminal.then(Keys::of_terminal).flatten();
    while !over.load(Ordering::Relaxed) {
        let status = control::ask(mesh)?;
        let most = rows().saturating_sub(OTHER_LINES).max(1);
        let table = match flows {
            true => tables::flows(&status, most),
            false => tables::hosts(&status, most),
        };
        let clear = if terminal { CLEAR } else { "" };
        let other = if flows { "hosts" } else { "flows" };
        let help = match keys {
            Some(_) => format!("f: {other}, q: end\n"),
            None => String::new(),
        };
        print(&format!("{clear}{table}{help}"))?;
        match key(keys.as_ref()) {
            Some(b'f') => flows = !flows,
            Some(b'q') => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}
