// SPDX-License-Identifier: GPL-2.0-only
//! Errors of the user's, which end with status 2, beside all others, which end with 1.
pub use anyhow::{anyhow, bail, Context, Error, Result};
pub use meshpace_netlink::words::words;

/// What the user gave cannot be used: one line that says what, where and the remedy.
#[derive(Debug)]
pub struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}

/// 2 for the user's errors, else 1.
pub fn exit_status(error: &anyhow::Error) -> i32 {
    if error.is::<Usage>() {
        2
    } else {
        1
    }
}

/// What to do about a file that cannot be written, or else this.
pub fn remedy<'a>(error: &std::io::Error, else_say: &'a str) -> &'a str {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => "make room there",
        _ => else_say,
    }
}
