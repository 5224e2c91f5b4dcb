// SPDX-License-Identifier: GPL-2.0-only
//! The mesh interface alone, for who cleans up: a fault in the rest of the configuration is no reason to leave behind what
//! a gateway has left.
use serde::Deserialize;

use crate::base::errors::{Error, Result};
use crate::config::Source;

/// What the command line and the file say of the mesh interface.
#[derive(Debug)]
pub struct NamedMesh {
    pub mesh: Option<String>,
    /// why the file says no more
    pub fault: Option<Error>,
}

#[derive(Deserialize)]
struct Line {
    mesh: String,
}

/// The first line of the file's own keys that is `mesh = "IF"`, whatever stands in the others.
fn in_text(text: &str) -> Option<String> {
    let own = text.lines().take_while(|line| !line.starts_with('['));
    let mut named = own.filter_map(|line| toml::from_str::<Line>(line).ok());
    named.next().map(|line| line.mesh)
}

impl Source {
    /// Whoever names the interface on the command line needs no file.
    pub fn named_mesh(&self) -> NamedMesh {
        if self.overrides.mesh.is_some() {
            return NamedMesh {
                mesh: self.overrides.mesh.clone(),
                fault: None,
            };
        }
        match self.read() {
            Ok(config) => NamedMesh {
                mesh: config.mesh,
                fault: None,
            },
            Err(fault) => NamedMesh {
                mesh: self.text().ok().as_deref().and_then(in_text),
                fault: Some(fault),
            },
        }
    }

    fn text(&self) -> Result<String> {
        let file = self.file.as_deref().unwrap_or("".as_ref());
        let bytes = std::fs::read(file)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::config::Overrides;

    fn named(text: Option<&str>, mesh: Option<&str>) -> NamedMesh {
        // Tests run beside each other: each file is of one call.
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let name = format!("meshpace-mesh-{}-{call}.toml", std::process::id());
        let file = std::env::temp_dir().join(name);
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let source = Source {
            file: Some(file.clone()),
            overrides: Overrides {
                mesh: mesh.map(String::from),
                ..Overrides::default()
            },
        };
        let named = source.named_mesh();
        let _ = std::fs::remove_file(&file);
        named
    }

    /// Else who has broken the file cannot clean up before it is mended.
    #[test]
    fn the_mesh_is_known_by_a_file_with_faults() {
        for broken in [
            "mesh = \"bat0\" # ours\nhopps = 3\n",
            "law = \"evn\"\nmesh = 'bat0'\n",
            "law = \"even\nmesh = \"bat0\"\n[web\n",
        ] {
            let named = named(Some(broken), None);
            assert_eq!(named.mesh.as_deref(), Some("bat0"), "{broken}");
            assert!(named.fault.is_some(), "{broken}");
        }
        let other = named(Some("law = \"evn\"\n[[host]]\nmesh = \"bat0\"\n"), None);
        assert!(other.mesh.is_none() && other.fault.is_some());
        assert!(named(None, None).fault.is_some(), "there is no file");
        let whole = named(Some("mesh = \"bat0\"\n"), None);
        assert!(whole.mesh.is_some() && whole.fault.is_none());
    }

    #[test]
    fn the_command_line_needs_no_file() {
        for text in [None, Some("hopps = 3\n")] {
            let named = named(text, Some("mesh1"));
            assert_eq!(named.mesh.as_deref(), Some("mesh1"));
            assert!(named.fault.is_none());
        }
    }
}
