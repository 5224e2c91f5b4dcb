// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace top`: the table of flows, renewed once a second until Ctrl-C.
use std::io::{IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::base::errors::Result;
use crate::show::control;
use crate::show::status;

const CLEAR: &str = "\x1b[H\x1b[2J";
/// Lines that are not flows: headline, blank, headings, "and more", prompt.
const OTHER_LINES: usize = 5;

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

pub fn run(mesh: Option<&str>) -> Result<()> {
    let mut out = std::io::stdout();
    let terminal = out.is_terminal();
    loop {
        let table = status::table(
            &control::ask(mesh)?,
            rows().saturating_sub(OTHER_LINES).max(1),
        );
        let clear = if terminal { CLEAR } else { "" };
        write!(out, "{clear}{table}")?;
        out.flush()?;
        std::thread::sleep(Duration::from_secs(1));
    }
}
