// SPDX-License-Identifier: GPL-2.0-only
//! `release = ...` in a configuration file is changed where it stands: comments and all other lines stay as they are.
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::path::Path;

use crate::base::errors::{anyhow, usage, Context, Result};
use crate::config::{Config, ReleaseChoice};

/// Where the value of the key at the top stands, with its quotes.
fn place(text: &str) -> Option<std::ops::Range<usize>> {
    let mut begins = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            return None; // a table begins, and what follows is its
        }
        if let Some((key, value)) = line.split_once('=') {
            if key.trim() == "release" {
                let quote = value.trim_start().chars().next()?;
                let from = begins + line.len() - value.trim_start().len();
                let length = text[from + 1..].find(quote)?;
                return Some(from..from + length + 2);
            }
        }
        begins += line.len();
    }
    None
}

/// The text with `release = "auto"`; None: it cannot be changed by that value alone.
fn with_auto(text: &str) -> Option<String> {
    let at = place(text)?;
    let changed = format!("{}\"auto\"{}", &text[..at.start], &text[at.end..]);
    // Whatever the file looks like, nothing else may have changed.
    let before: Config = toml::from_str(text).ok()?;
    let after: Config = toml::from_str(&changed).ok()?;
    let expected = Config {
        release: ReleaseChoice::Auto,
        ..before
    };
    (after == expected).then_some(changed)
}

/// How a file begins that is made of something else at each start (packaging/openwrt/files/meshpace-toml): of what,
/// and after a semicolon how it is changed there.
const GENERATED: &str = "# generated from ";

/// Of a file that is made anew at each start: what is written into it would be forgotten.
fn refuse_generated(text: &str) -> Result<()> {
    let first = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(GENERATED));
    match first.and_then(|rest| rest.split_once("; ")) {
        Some((source, remedy)) => Err(usage(format!(
            "what is written into a file that is made from {source} is lost; {remedy}"
        ))),
        None => Ok(()),
    }
}

/// Has the next start pace. Whether the file said otherwise before.
pub fn have_paced(file: &Path) -> Result<bool> {
    if Config::read(file)?.release != ReleaseChoice::Observe {
        return Ok(false);
    }
    let name = || file.display().to_string();
    let text = std::fs::read_to_string(file).with_context(name)?;
    refuse_generated(&text).with_context(name)?;
    let changed = with_auto(&text).ok_or_else(|| {
        usage(format!(
            "{}: release = \"observe\" is not found on a line of its own; write \"auto\" there",
            name()
        ))
    })?;
    replace(file, &changed).map_err(|error| {
        anyhow!(
            "{}: {error:#}; write release = \"auto\" there by other means, then: meshpace try --stay",
            name()
        )
    })?;
    Ok(true)
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
        assert_eq!(
            with_auto(text).unwrap(),
            text.replace("'observe'", "\"auto\"")
        );
        for other in [
            "mesh = \"bat0\"\n",
            "mesh = \"\"\"\nrelease = \"observe\"\n\"\"\"\nrelease = \"observe\"\n",
            "[[group]]\nname = \"a\"\naddresses = []\nrelease = \"observe\"\n",
            "\"release\" = \"observe\"\n",
            "release = \"observe\"\nrelease = \"observe\"\n",
            "release = ",
            "release = \"\"\"observe\"\"\"",
        ] {
            assert_eq!(with_auto(other), None, "{other}");
        }
    }

    /// Else a router says that it goes on pacing, and observes after its next boot.
    #[test]
    fn a_file_that_is_made_anew_is_not_changed() {
        let text =
            "# generated from UCI; to pace: uci set a.b=auto; uci commit\nrelease = \"observe\"\n";
        let error = refuse_generated(text).unwrap_err().to_string();
        assert!(
            error.contains("from UCI is lost; to pace: uci set a.b=auto; uci commit"),
            "{error}"
        );
        assert!(refuse_generated("# generated\nrelease = \"observe\"\n").is_ok());
        assert!(refuse_generated("").is_ok());
    }

    #[test]
    fn the_file_keeps_its_rights_and_no_other_is_left() {
        let folder = std::env::temp_dir().join(format!("meshpace-release-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("gateway.toml");
        std::fs::write(&file, "release = \"observe\" # as set up\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(have_paced(&file).unwrap());
        assert!(!have_paced(&file).unwrap(), "nothing to change");
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "release = \"auto\" # as set up\n");
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o640);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
