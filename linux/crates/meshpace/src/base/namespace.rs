// SPDX-License-Identifier: GPL-2.0-only
//! A network namespace of a test's own.
use std::process::Command;

/// Runs a test in one. Where none can be had (not root) it says so and shows nothing.
pub fn alone(test: impl FnOnce() + Send + 'static) {
    let outcome =
        std::thread::spawn(
            || match nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET) {
                Ok(()) => test(),
                Err(error) => eprintln!("not run: {error}"),
            },
        );
    outcome.join().unwrap();
}

/// What `ip` with these words prints.
pub fn ip(words: &str) -> String {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}");
    String::from_utf8(done.stdout).unwrap()
}
