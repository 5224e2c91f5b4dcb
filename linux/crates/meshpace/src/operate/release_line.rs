// SPDX-License-Identifier: GPL-2.0-only
//! `release = ...` in a configuration file is changed where it stands: comments and all other lines stay as they are.
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::path::Path;

use serde::Deserialize;

use crate::base::errors::{usage, Context, Result};

#[derive(Deserialize)]
struct Place {
    release: Option<toml::Spanned<String>>,
}

/// The text with another release; None: it has none, so that the default is in force.
fn with_release(text: &str, release: &str) -> std::result::Result<Option<String>, toml::de::Error> {
    let place: Place = toml::from_str(text)?;
    Ok(place.release.map(|found| {
        let at = found.span();
        format!("{}\"{release}\"{}", &text[..at.start], &text[at.end..])
    }))
}

/// Writes it into the file, so that the file is whole at any moment. Whether it was another before.
pub fn write(file: &Path, release: &str) -> Result<bool> {
    let name = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(name)?;
    let changed = with_release(&text, release).map_err(|error| {
        usage(format!(
            "{}: {}; see meshpace config check",
            name(),
            error.message()
        ))
    })?;
    match changed.filter(|changed| *changed != text) {
        None => Ok(false),
        Some(changed) => replace(file, &changed).with_context(name).map(|()| true),
    }
}

/// A file of the same owner and rights takes the place of the old one.
pub fn replace(file: &Path, text: &str) -> Result<()> {
    let mut name = file.file_name().context("it has no name")?.to_os_string();
    name.push(".new");
    let new = file.with_file_name(name);
    let write = || -> Result<()> {
        let _ = std::fs::remove_file(&new); // of one that was killed here
        let mut out = File::create_new(&new)?;
        match std::fs::metadata(file) {
            Ok(old) => {
                out.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
                chown(&new, Some(old.uid()), Some(old.gid()))?;
            }
            Err(_) => out.set_permissions(Permissions::from_mode(0o644))?,
        }
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&new, file)?;
        Ok(())
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_changes() {
        let text = "# release = \"htb\"\nmesh = \"bat0\" # ours\n release='observe'  # not yet\n[default_path]\nhops = 2\n";
        let changed = with_release(text, "auto").unwrap().unwrap();
        assert_eq!(changed, text.replace("'observe'", "\"auto\""));
        assert_eq!(with_release("mesh = \"bat0\"\n", "auto").unwrap(), None);
        let in_text = "mesh = \"\"\"\nrelease = \"observe\"\n\"\"\"\nrelease = \"observe\"\n";
        let changed = with_release(in_text, "auto").unwrap().unwrap();
        assert_eq!(changed.matches("\"auto\"").count(), 1);
        assert!(changed.ends_with("release = \"auto\"\n"));
        assert!(with_release("release = ", "auto").is_err());
    }

    #[test]
    fn the_file_keeps_its_rights_and_no_other_is_left() {
        let folder = std::env::temp_dir().join(format!("meshpace-release-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("gateway.toml");
        std::fs::write(&file, "release = \"observe\" # as set up\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(write(&file, "auto").unwrap());
        assert!(!write(&file, "auto").unwrap(), "nothing to change");
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "release = \"auto\" # as set up\n");
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
