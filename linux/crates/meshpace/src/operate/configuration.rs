// SPDX-License-Identifier: GPL-2.0-only
//! The configuration file that `setup` writes, and whether somebody has changed it since.
use std::path::{Path, PathBuf};

use crate::base::errors::{anyhow, bail, remedy, Error, Result};
use crate::config::{Config, ReleaseChoice};
use crate::operate::release_line;

/// As much of a file as `setup` writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub mesh: String,
    pub wired: Vec<String>,
    pub paces: bool,
}

/// What there is in the file's place.
#[derive(Debug, PartialEq)]
pub enum There {
    Nothing,
    /// nothing but comments and headings, as a package leaves it
    Unset,
    /// as `setup` or `try --stay` wrote it
    Ours(Written),
    /// somebody has changed it, or wrote it himself
    Changed,
}

/// JSON's quotes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Written {
    pub fn text(&self) -> String {
        let wired: Vec<_> = self.wired.iter().map(|name| quoted(name)).collect();
        format!(
            "# What `meshpace gateway` does here; written by `meshpace setup`.\n\
             # All keys and their defaults: gateway.toml, among the documents. Only what differs from them has to stand here.\n\
             # After a change: meshpace config check FILE, then systemctl reload meshpace (some keys: restart).\n\
             \n\
             mesh = {}   # the interface by which IP packets leave for the mesh\n\
             wired = [{}]   # those to the Internet; []: those of the default routes, as they are at the start\n\
             \n\
             # \"observe\" measures and holds nothing. `meshpace try 10m` paces for ten minutes, `meshpace try --stay` for good: it\n\
             # writes \"auto\" here.\n\
             release = {}\n",
            quoted(&self.mesh),
            wired.join(", "),
            quoted(if self.paces { "auto" } else { "observe" })
        )
    }

    pub fn there(file: &Path) -> Result<There> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(There::Nothing)
            }
            Err(error) => return Err(fault(file, &error.into())),
        };
        Ok(Self::read(&text))
    }

    fn read(text: &str) -> There {
        let is_heading = |value: &toml::Value| value.as_table().is_some_and(toml::Table::is_empty);
        if toml::from_str::<toml::Table>(text).is_ok_and(|keys| keys.values().all(is_heading)) {
            return There::Unset;
        }
        let Ok(config) = toml::from_str::<Config>(text) else {
            return There::Changed;
        };
        let written = Self {
            mesh: config.mesh.unwrap_or_default(),
            wired: config.wired,
            paces: config.release != ReleaseChoice::Observe,
        };
        match written.text() == text {
            true => There::Ours(written),
            false => There::Changed,
        }
    }

    /// Writes it; what was there is kept beside it, unless it was ours. Where that is.
    pub fn write(&self, file: &Path, was: &There) -> Result<Option<PathBuf>> {
        let written = self.write_all(file, was);
        written.map_err(|error| fault(file, &error))
    }

    fn write_all(&self, file: &Path, was: &There) -> Result<Option<PathBuf>> {
        if let Some(folder) = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder)?;
        }
        let kept = match was {
            There::Changed | There::Unset => {
                let mut old = file.as_os_str().to_os_string();
                old.push(".old");
                std::fs::copy(file, &old)?;
                Some(old.into())
            }
            _ => None,
        };
        let at = behind(file)?;
        release_line::replace(&at, &self.text())?;
        Ok(kept)
    }
}

/// What keeps it from being read or written.
fn fault(file: &Path, error: &Error) -> Error {
    let elsewhere = "name a file that can be written with --config FILE";
    let io = error.downcast_ref();
    let remedy = io.map_or(elsewhere, |error| remedy(error, elsewhere));
    anyhow!("{}: {error:#}; {remedy}", file.display())
}

/// The file that a link leads to is replaced, and not the link, which is somebody's: so `try --stay` does it.
fn behind(file: &Path) -> Result<PathBuf> {
    match std::fs::canonicalize(file) {
        Err(_) if file.is_symlink() => bail!("it is a link to what is not there"),
        found => Ok(found.unwrap_or_else(|_| file.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Written {
        Written {
            mesh: "bat0".into(),
            wired: vec!["eth0".into(), "ppp\"0".into()],
            paces: false,
        }
    }

    #[test]
    fn what_is_written_can_be_read_and_paces_nothing() {
        let config: Config = toml::from_str(&written().text()).unwrap();
        assert_eq!(config.mesh.as_deref(), Some("bat0"));
        assert_eq!(config.wired, ["eth0", "ppp\"0"]);
        assert_eq!(config.release, ReleaseChoice::Observe);
    }

    #[test]
    fn a_file_that_somebody_changed_is_told_from_ours() {
        let text = written().text();
        assert_eq!(Written::read(&text), There::Ours(written()));
        // As `try --stay` leaves it.
        let stays = text.replace("\"observe\"\n", "\"auto\"\n");
        assert!(matches!(Written::read(&stays), There::Ours(of) if of.paces));
        for changed in [
            format!("{text}law = \"gap\"\n"),
            format!("# ours\n{text}"),
            "[radio]\ncw = 15\n".into(),
            "mesh = ".into(),
        ] {
            assert_eq!(Written::read(&changed), There::Changed);
        }
        for unset in [
            "",
            "# mesh = \"bat0\"\n[web]\n# listen = \"127.0.0.1:9871\"\n\n[radio]\n",
        ] {
            assert_eq!(Written::read(unset), There::Unset);
        }
    }

    #[test]
    fn what_cannot_be_written_is_told_with_a_remedy() {
        let folder = std::env::temp_dir();
        let said = Written::there(&folder).unwrap_err().to_string();
        let name = folder.display().to_string();
        assert!(
            said.starts_with(&name) && said.ends_with("with --config FILE"),
            "{said}"
        );
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC).into();
        assert!(fault(&folder, &full)
            .to_string()
            .ends_with("; make room there"));
    }

    #[test]
    fn what_somebody_changed_is_kept_beside() {
        let folder = std::env::temp_dir().join(format!("meshpace-setup-{}", std::process::id()));
        let file = folder.join("etc/gateway.toml");
        assert_eq!(Written::there(&file).unwrap(), There::Nothing);
        assert_eq!(written().write(&file, &There::Nothing).unwrap(), None);
        assert!(matches!(Written::there(&file).unwrap(), There::Ours(_)));
        std::fs::write(&file, "law = \"gap\"\n").unwrap();
        let was = Written::there(&file).unwrap();
        let kept = written().write(&file, &was).unwrap().unwrap();
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "law = \"gap\"\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written().text());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Else what the link leads to, under version control or on another disk, says another thing than the gateway does.
    #[test]
    fn a_link_stays_one() {
        let folder = std::env::temp_dir().join(format!("meshpace-link-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("etc")).unwrap();
        let (file, link) = (folder.join("ours.toml"), folder.join("etc/gateway.toml"));
        std::os::unix::fs::symlink("../ours.toml", &link).unwrap();
        let error = written().write(&link, &There::Nothing).unwrap_err();
        assert!(
            error.to_string().contains("a link to what is not"),
            "{error}"
        );
        std::fs::write(&file, "law = \"gap\"\n").unwrap();
        let kept = written().write(&link, &There::Changed).unwrap();
        assert_eq!(kept, Some(folder.join("etc/gateway.toml.old")));
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written().text());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
