// SPDX-License-Identifier: GPL-2.0-only
//! Where figures and the page for operators are asked for. Whoever has their address may leave it: it is tried again each
//! second, and no packet waits for that.
use std::net::SocketAddr;

use crate::base::errors::Result;
use crate::config::{Config, Web};
use crate::show::files::Files;
use crate::show::{metrics, web};

/// What is not open yet.
pub struct Doors {
    metrics: Option<SocketAddr>,
    web: Option<Web>,
    /// what is wrong was said
    told: bool,
}

impl Doors {
    pub fn of(config: &Config) -> Self {
        Self {
            metrics: config.metrics,
            web: Some(config.web.clone()),
            told: false,
        }
    }

    /// Opens what can be opened by now.
    pub fn open(&mut self, files: &Files) {
        self.metrics
            .take_if(|at| is_open(metrics::serve(*at, files.shared()), self.told));
        self.web
            .take_if(|web| is_open(web::serve(web, files), self.told));
        self.told = true;
    }
}

/// The first time that it is not, that is said.
fn is_open(served: Result<()>, told: bool) -> bool {
    match served {
        Err(error) if told => log::debug!("{error:#}"),
        Err(error) => log::warn!("{error:#}; tried again each second"),
        Ok(()) => return true,
    }
    false
}
