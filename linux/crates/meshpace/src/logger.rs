// SPDX-License-Identifier: GPL-2.0-only
//! Messages on standard error, with the priority that journald understands when it listens.
use log::{Level, LevelFilter, Log, Metadata, Record};

struct Logger {
    journal: bool,
}

fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = record.level();
        let message = record.args();
        use std::io::Write;
        // With nobody to hear it there is nothing to be done.
        let _ = match (self.journal, level) {
            (true, _) => writeln!(std::io::stderr(), "<{}>{message}", priority(level)),
            (false, Level::Info) => writeln!(std::io::stderr(), "{message}"),
            (false, _) => {
                writeln!(
                    std::io::stderr(),
                    "{}: {message}",
                    level.as_str().to_lowercase()
                )
            }
        };
    }

    fn flush(&self) {}
}

/// MESHPACE_LOG = error, warn, info (the default) or debug.
pub fn start() {
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let wanted = std::env::var("MESHPACE_LOG")
        .ok()
        .and_then(|level| level.parse().ok());
    if log::set_boxed_logger(Box::new(Logger { journal })).is_ok() {
        log::set_max_level(wanted.unwrap_or(LevelFilter::Info));
    }
    let _ = libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Debug, |_, text| {
        log::debug!("{}", text.trim_end())
    })));
}
