// SPDX-License-Identifier: GPL-2.0-only
//! Messages on standard error, with the priority that journald understands when it listens.
//!
//! The gateway writes them by a thread of its own: a terminal that is held, a pipe that nobody reads or a
//! journal on a full disk takes no line, and no packet may wait for that.
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use log::{Level, LevelFilter, Log, Metadata, Record};
use nix::sys::stat::fstat;
use portable_atomic::AtomicU64;

use crate::base::errors::words;

/// Lines that wait while standard error takes none, at most: those of a start with all that libbpf tells.
const WAITING: usize = 1024;
/// How long the end of the program waits for lines to be written.
const FLUSH: Duration = Duration::from_secs(1);

enum Order {
    Line(String),
    Flush(SyncSender<()>),
}

struct Logger {
    journal: bool,
    writer: OnceLock<SyncSender<Order>>,
    lost: AtomicU64,
}

static LOGGER: OnceLock<Logger> = OnceLock::new();

fn priority(level: Level) -> u8 {
    match level {
        Level::Error => 3,
        Level::Warn => 4,
        Level::Info => 6,
        Level::Debug | Level::Trace => 7,
    }
}

impl Logger {
    fn line(&self, level: Level, message: &std::fmt::Arguments) -> String {
        let message = words(message);
        match (self.journal, level) {
            (true, _) => format!("<{}>{message}\n", priority(level)),
            (false, Level::Info) => format!("{message}\n"),
            (false, _) => format!("{}: {message}\n", level.as_str().to_lowercase()),
        }
    }

    /// Writes lines as they come, and how many there was no room for.
    fn write_all(&self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Line(line) => write(&line),
                Order::Flush(done) => drop(done.try_send(())),
            }
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let told = format_args!("{lost} lines of this log are lost: they were not taken");
                write(&self.line(Level::Warn, &told));
            }
        }
    }
}

/// With nobody to hear it there is nothing to be done.
fn write(line: &str) {
    let _ = std::io::stderr().write_all(line.as_bytes());
}

impl Log for &Logger {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = self.line(record.level(), record.args());
        match self.writer.get() {
            None => write(&line),
            Some(writer) if writer.try_send(Order::Line(line)).is_err() => {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            Some(_) => {}
        }
    }

    fn flush(&self) {
        let Some(writer) = self.writer.get() else {
            return;
        };
        let (done, wait) = sync_channel(1);
        let deadline = Instant::now() + FLUSH;
        while writer.try_send(Order::Flush(done.clone())).is_err() {
            if Instant::now() > deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _: Result<(), RecvTimeoutError> = wait.recv_timeout(FLUSH);
    }
}

/// Whether what is written there goes to journald, which says so as `DEVICE:INODE` (systemd.exec(5)). What a service starts
/// has its environment, and may write somewhere else.
fn is_journal(stream: Option<&str>, to: impl AsFd) -> bool {
    let place = fstat(to).map(|of| format!("{}:{}", of.st_dev, of.st_ino));
    place.is_ok_and(|place| stream == Some(&place))
}

/// MESHPACE_LOG = error, warn, info (the default) or debug.
pub fn start() {
    let wanted = std::env::var("MESHPACE_LOG")
        .ok()
        .and_then(|level| level.parse().ok());
    let logger = LOGGER.get_or_init(|| Logger {
        journal: is_journal(
            std::env::var("JOURNAL_STREAM").ok().as_deref(),
            std::io::stderr(),
        ),
        writer: OnceLock::new(),
        lost: AtomicU64::new(0),
    });
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(wanted.unwrap_or(LevelFilter::Info));
    }
    let _ = libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Debug, |_, text| {
        log::debug!("{}", text.trim_end())
    })));
}

/// From now on nobody who logs waits for it to be written.
pub fn wait_for_nobody() -> std::io::Result<()> {
    let logger = LOGGER.get().expect("logging was started");
    let (writer, orders) = sync_channel(WAITING);
    std::thread::Builder::new()
        .name("log".into())
        .spawn(move || logger.write_all(&orders))?;
    let _ = logger.writer.set(writer);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn who_inherits_a_journal_and_writes_elsewhere_writes_no_priorities() {
        let (journal, elsewhere) = (File::open("/dev/null").unwrap(), File::open("/").unwrap());
        let of = fstat(&journal).unwrap();
        let stream = format!("{}:{}", of.st_dev, of.st_ino);
        assert!(is_journal(Some(&stream), &journal));
        assert!(!is_journal(Some(&stream), &elsewhere));
        assert!(!is_journal(Some("nonsense"), &journal));
        assert!(!is_journal(None, &journal));
    }

    #[test]
    fn a_line_has_the_words_of_an_error_alone() {
        let logger = Logger {
            journal: true,
            writer: OnceLock::new(),
            lost: AtomicU64::new(0),
        };
        let error = std::io::Error::from_raw_os_error(libc::ENOENT);
        let line = logger.line(Level::Warn, &format_args!("tc: {error}; install it"));
        assert_eq!(line, "<4>tc: No such file or directory; install it\n");
    }
}
