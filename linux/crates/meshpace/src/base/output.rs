// SPDX-License-Identifier: GPL-2.0-only
//! What commands write to standard output.
use crate::base::errors::Result;

/// To standard output; a closed pipe is an error here, not a panic.
pub fn print(text: &str) -> Result<()> {
    use std::io::Write;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(Into::into)
}
