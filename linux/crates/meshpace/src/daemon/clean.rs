// SPDX-License-Identifier: GPL-2.0-only
//! `--clean`: removes what a gateway that died has left. Its notes tell what that is; the configuration tells only whose.
use std::ffi::OsStr;
use std::path::Path;

use crate::base::errors::{usage, Error, Result};
use crate::base::system;
use crate::config::{NamedMesh, Source};
use crate::daemon::task;
use crate::setup::changes::{self, Changes};
use crate::show::control;

/// A configuration that cannot be read hinders nobody: then all is cleaned of which there are notes and no gateway.
pub fn run(source: &Source) -> Result<()> {
    if let Some(mesh) = &source.overrides.mesh {
        refuse_mistyped(mesh)?;
    }
    match source.named_mesh() {
        NamedMesh { mesh, fault: None } => clean(&task::named(mesh)?),
        NamedMesh {
            mesh: Some(mesh),
            fault: Some(fault),
        } => {
            log::warn!("{fault:#}; of it nothing but mesh = \"{mesh}\" was read");
            clean(&mesh)
        }
        NamedMesh {
            mesh: None,
            fault: Some(fault),
        } => clean_left(fault),
    }
}

/// A name under which there is nothing, and was nothing: whoever gave it cleans elsewhere than he thinks. The interface of
/// a gateway that died may be gone itself.
fn refuse_mistyped(mesh: &str) -> Result<()> {
    let is_name = Path::new(mesh).file_name() == Some(OsStr::new(mesh));
    let has_left = || control::is_locked_in_place(mesh) || Changes::are_noted(mesh);
    if is_name && (system::interface_index(mesh).is_ok() || has_left()) {
        return Ok(());
    }
    Err(usage(format!(
        "--mesh {mesh}: there is no such interface, and no gateway has left anything of one; `ip link` lists interfaces, ls {} what is left",
        system::run_folder().display()
    )))
}

fn clean(mesh: &str) -> Result<()> {
    let _lock = control::lock(mesh, false)?;
    let mut changes = Changes::open(mesh)?;
    let undone = changes.undo_all()?;
    control::remove_sockets(mesh);
    log::info!("{mesh}: {undone} changes put back");
    changes.refuse_elsewhere()
}

/// Whatever gateways have left that do not run. Where there is nothing, the fault is all that there is to say.
fn clean_left(fault: Error) -> Result<()> {
    let mut left = changes::noted();
    let running = control::running()?;
    left.retain(|mesh| !running.contains(mesh));
    if left.is_empty() {
        return Err(fault);
    }
    let left_by = left.join(", ");
    log::warn!(
        "{fault:#}; it does not tell the mesh interface, so what is noted is cleaned: {left_by}"
    );
    let cleaned: Vec<_> = left.iter().map(|mesh| clean(mesh)).collect();
    cleaned.into_iter().collect()
}
