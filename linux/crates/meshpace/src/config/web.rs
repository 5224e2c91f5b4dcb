// SPDX-License-Identifier: GPL-2.0-only
//! `[web]`: where the page for operators is.
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Web {
    /// none: there is no page
    pub listen: Option<SocketAddr>,
    /// a file with the token that who asks has to know; beyond this box there has to be one
    pub token_file: Option<PathBuf>,
}

impl Web {
    pub(super) fn check(&self) -> Result<(), String> {
        match (self.listen, &self.token_file) {
            (Some(listen), None) if !listen.ip().is_loopback() => Err(format!(
                "web.listen = \"{listen}\" is open to others and needs a token; give web.token_file, or listen on 127.0.0.1"
            )),
            (None, Some(_)) => Err(
                "web.token_file is given and web.listen is not; give web.listen, such as \"127.0.0.1:9871\"".into(),
            ),
            _ => Ok(()),
        }
    }
}
