// SPDX-License-Identifier: GPL-2.0-only
//! Errors in words, as a user is told them.
use std::fmt::Display;

/// What Rust appends to an error of the system: its number, which says nothing to a user that the words do not.
const NUMBER: &str = " (os error ";

/// An error, or a chain of them, by its words alone: "No such file or directory", without "(os error 2)".
#[must_use]
pub fn words(error: impl Display) -> String {
    let text = format!("{error:#}");
    let mut parts = text.split(NUMBER);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
        match rest.strip_prefix(')') {
            Some(rest) if rest.len() + 1 < part.len() => kept += rest,
            _ => kept.extend([NUMBER, part]),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn an_error_of_the_system_has_no_number() {
        let error = io::Error::from_raw_os_error(libc::ENOENT);
        assert!(error.to_string().ends_with("(os error 2)"));
        assert_eq!(words(&error), "No such file or directory");
        let unknown = io::Error::from_raw_os_error(-5);
        assert!(!words(unknown).contains("os error"));
    }

    #[test]
    fn each_error_of_a_line_has_no_number() {
        let error = io::Error::from_raw_os_error(libc::EPERM);
        let line = format_args!("a: {error}; run as root. b: {error}").to_string();
        let told = "a: Operation not permitted; run as root. b: Operation not permitted";
        assert_eq!(words(line), told);
    }

    #[test]
    fn what_only_looks_like_a_number_stays() {
        for text in ["", "no (os error here", "f (os error x)", "f (os error )"] {
            assert_eq!(words(text), text);
        }
    }
}
