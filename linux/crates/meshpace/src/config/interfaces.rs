// SPDX-License-Identifier: GPL-2.0-only
//! The interfaces that a configuration names.
use super::Config;

const LONGEST_BYTES: usize = libc::IF_NAMESIZE - 1;

/// Whether the kernel gives an interface such a name (dev_valid_name). The lock and the notes are files of that name.
fn can_be(name: &str) -> bool {
    let refused = |c: char| matches!(c, '/' | ':' | '\0' | '\t'..='\r' | ' ');
    let is_folder = matches!(name, "." | "..");
    (1..=LONGEST_BYTES).contains(&name.len()) && !is_folder && !name.contains(refused)
}

/// Whether they are there a start tells: here is what never can be.
pub(super) fn check(config: &Config) -> Result<(), String> {
    let mesh = config.mesh.iter().map(|name| ("mesh", name));
    let wired = config.wired.iter().map(|name| ("wired", name));
    for (key, name) in mesh.chain(wired) {
        if !can_be(name) {
            return Err(format!(
                "{key}: {name:?} can be no interface's name; `ip link` lists them"
            ));
        }
    }
    match &config.mesh {
        Some(mesh) if config.wired.contains(mesh) => Err(format!(
            "wired: {mesh} cannot lead both into the mesh and to the Internet; name another, or none"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_no_interface_is_named() {
        let fault = |text: &str| check(&toml::from_str(text).unwrap()).unwrap_err();
        for name in [
            "",
            ".",
            "../x",
            "a/b",
            "a b",
            "eth0:1",
            "sixteen-letters!",
            "a\\u0000b",
        ] {
            let said = fault(&format!("mesh = \"{name}\""));
            assert!(
                said.starts_with("mesh: ") && said.contains("ip link"),
                "{said}"
            );
            assert!(!said.contains('\0'), "{said}");
            assert!(fault(&format!("wired = [\"eth0\", \"{name}\"]")).starts_with("wired: "));
        }
        let both = fault("mesh = 'mesh0'\nwired = ['eth0', 'mesh0']");
        assert!(both.contains("mesh0 cannot lead both"), "{both}");
        let fits = "mesh = 'fifteen-letters'\nwired = ['eth0.7', 'br-ü']";
        assert_eq!(check(&toml::from_str(fits).unwrap()), Ok(()));
    }
}
