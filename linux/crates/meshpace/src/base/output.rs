// SPDX-License-Identifier: GPL-2.0-only
//! What commands write to standard output.
use std::io::{ErrorKind, Write};

use crate::base::errors::{anyhow, remedy, Result};

/// Whoever read the standard output has seen enough: the command ends, and that is no failure.
#[derive(Debug)]
pub struct NobodyReads;

impl std::fmt::Display for NobodyReads {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("nobody reads the standard output")
    }
}

impl std::error::Error for NobodyReads {}

/// To standard output; a closed pipe is an error here, not a panic.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => NobodyReads.into(),
        _ => anyhow!(
            "standard output: {error}; {}",
            remedy(&error, "have it written elsewhere")
        ),
    })
}
