// SPDX-License-Identifier: GPL-2.0-only
//! The folder of locks, notes and sockets: this user's alone, or none. Whoever else could write there
//! could have the program, as root, undo changes that nobody made.
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{umask, Mode};
use nix::unistd::geteuid;

use crate::base::errors::{anyhow, bail, remedy, Result};
use crate::base::system;

const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;

/// The folder, made if there is none. What this process makes from now on is closed to others.
pub fn provide() -> Result<PathBuf> {
    umask(Mode::from_bits_truncate(OTHERS));
    let folder = system::run_folder();
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    made.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => not_a_folder(&folder),
        _ => fault(&folder, &error),
    })?;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(&folder);
    match opened {
        Ok(opened) => close_to_others(&opened, &folder)?,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::ELOOP)) => {
            return Err(not_a_folder(&folder))
        }
        Err(error) => return Err(fault(&folder, &error)),
    }
    Ok(folder)
}

/// Of the folder, or of a file in it.
fn fault(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let elsewhere = match error.kind() {
        ErrorKind::PermissionDenied => "run as root, or set MESHPACE_RUN",
        _ => "set MESHPACE_RUN to a folder that can be written",
    };
    anyhow!("{}: {error}; {}", path.display(), remedy(error, elsewhere))
}

fn not_a_folder(folder: &Path) -> anyhow::Error {
    anyhow!(
        "{}: is a symbolic link or no folder; remove it, or set MESHPACE_RUN to another place",
        folder.display()
    )
}

/// What others could only read is mended; where they could write nothing can be believed any more.
fn close_to_others(opened: &File, folder: &Path) -> Result<()> {
    let found = opened.metadata()?;
    let user = geteuid().as_raw();
    let mode = found.mode() & 0o7777;
    if found.uid() != user {
        bail!(
            "{}: belongs to user {}, not to {user}; remove it, or set MESHPACE_RUN to another place",
            folder.display(),
            found.uid()
        );
    }
    if mode & OTHERS_WRITE != 0 {
        bail!(
            "{}: other users may write there (mode {mode:o}); see what is in it, and remove it",
            folder.display()
        );
    }
    if mode & OTHERS != 0 {
        opened.set_permissions(std::fs::Permissions::from_mode(0o700))?;
        log::info!("{}: mode {mode:o} is now 700", folder.display());
    }
    Ok(())
}

/// A file of the folder, to read and to write; a link in its place is not followed.
pub fn open_file(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => anyhow!("{}: is a symbolic link; remove it", path.display()),
            _ => fault(path, &error),
        })?;
    let found = file.metadata()?;
    if !found.is_file() {
        bail!("{}: is no file; remove it", path.display());
    }
    if found.mode() & OTHERS != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}
