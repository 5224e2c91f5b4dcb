// SPDX-License-Identifier: GPL-2.0-only
//! `--record`: what comes, and what the daemon sets, into a file: a trace, which replays (core/test/traces). The
//! programs see each packet before anything comes of it, with the time by which they go.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use libbpf_rs::{MapHandle, RingBufferBuilder};

use crate::base::errors::{usage, Context, Result};
use crate::base::system::now_ns;
use crate::kernel::intf::{mp_record, mp_settings, Plain};
use crate::kernel::trace::{self, Names};

/// Some 170,000 packets, a minute of 30 Mbit/s: enough to show a fault, and packed small enough to be sent.
const MOST_BYTES: u64 = 16 << 20;
/// The ring buffer has room for 29,000 packets: at 100,000 a second it has to be emptied thrice a second.
const ROUND: Duration = Duration::from_millis(50);
/// What came so lately may still be followed by what came before, on another processor.
const SETTLED_NS: u64 = 100_000_000;
/// Where a trace's time begins: later than any time since which something may be counted, a multiple of
/// 128 ns as well, and no sign of how long the machine has been up.
const BEGIN_NS: u64 = 10_000_000_000;

struct Output {
    file: BufWriter<File>,
    path: PathBuf,
    written: u64,
    /// later ones are dropped
    full: bool,
}

impl Output {
    fn add(&mut self, line: &str) -> Result<()> {
        if self.full {
            return Ok(());
        }
        self.written += line.len() as u64 + 1;
        if self.written > MOST_BYTES {
            self.full = true;
            log::info!("{}: full, nothing more is recorded", self.path.display());
            writeln!(self.file, "# full")?;
            return Ok(());
        }
        writeln!(self.file, "{line}")?;
        Ok(())
    }
}

struct Lines {
    names: Names,
    /// with their times, in any order
    waiting: Vec<(u64, String)>,
    /// of paths and floors: flows look at them when they hear of new settings
    later: Vec<String>,
    settings: Option<String>,
}

/// Where lines come together.
pub struct Recorder {
    start_ns: u64,
    lines: Mutex<Lines>,
}

impl Recorder {
    /// Something is set that flows depend on, now.
    pub fn note(&self, line: impl FnOnce(&mut Names) -> String) {
        let mut lines = self.lines.lock().expect("its holder ended the program");
        let line = line(&mut lines.names);
        lines.waiting.push((now_ns(), line));
    }

    /// Likewise, once they hear of new settings.
    pub fn note_later(&self, line: impl FnOnce(&mut Names) -> String) {
        let mut lines = self.lines.lock().expect("its holder ended the program");
        let line = line(&mut lines.names);
        lines.later.push(line);
    }

    /// Settings are written ten times a second, and are mostly as before.
    pub fn note_settings(&self, settings: &mp_settings) {
        let mut lines = self.lines.lock().expect("its holder ended the program");
        let now_ns = now_ns();
        let later = std::mem::take(&mut lines.later);
        lines
            .waiting
            .extend(later.into_iter().map(|line| (now_ns, line)));
        let line = trace::settings(settings);
        if lines.settings.as_ref() != Some(&line) {
            lines.waiting.push((now_ns, line.clone()));
            lines.settings = Some(line);
        }
    }

    fn take(&self, bytes: &[u8]) {
        let Some(packet) = mp_record::from_bytes(bytes) else {
            return;
        };
        let mut lines = self.lines.lock().expect("its holder ended the program");
        if let Some(line) = lines.names.packet(&packet) {
            lines.waiting.push((packet.now_ns, line));
        }
    }

    /// Writes what is older than that, in order.
    fn write(&self, before_ns: u64, output: &mut Output) -> Result<()> {
        let mut lines = self.lines.lock().expect("its holder ended the program");
        lines.waiting.sort_by_key(|(time_ns, _)| *time_ns);
        let count = lines
            .waiting
            .partition_point(|(time_ns, _)| *time_ns < before_ns);
        let settled: Vec<_> = lines.waiting.drain(..count).collect();
        drop(lines);
        for (time_ns, line) in settled {
            let since_ns = time_ns.saturating_sub(self.start_ns) + BEGIN_NS;
            output.add(&format!("{since_ns} {line}"))?;
        }
        output.file.flush()?;
        Ok(())
    }
}

/// A file that is to become a trace.
pub struct Recording {
    output: Output,
}

impl Recording {
    /// What is in the file stays until [`Self::start`]: a gateway that is about to be replaced may still write there.
    pub fn open(path: &Path) -> Result<Self> {
        let mut how = File::options();
        let file = how.write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| usage(format!("--record {}: {error}", path.display())))?;
        Ok(Self {
            output: Output {
                file: BufWriter::new(file),
                path: path.into(),
                written: 0,
                full: false,
            },
        })
    }

    /// From now on what the ring buffer has is written, in place of what the file had.
    pub fn start(mut self, records: MapHandle) -> Result<Running> {
        let path = self.output.path.display().to_string();
        match self.output.file.get_ref().set_len(0) {
            // A pipe has no length.
            Err(error) if error.kind() != std::io::ErrorKind::InvalidInput => {
                return Err(error).context(path)
            }
            _ => {}
        }
        self.output.add(&format!(
            "# meshpace {}, recorded: core/test/traces/README.md says how to read it",
            env!("CARGO_PKG_VERSION")
        ))?;
        // T1 is kept in ticks of 128 ns (core's sent.h): samples are the same ones when they are replayed.
        let recorder = Arc::new(Recorder {
            start_ns: now_ns() & !127,
            lines: Mutex::new(Lines {
                names: Names::default(),
                waiting: Vec::new(),
                later: Vec::new(),
                settings: None,
            }),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (takes, stops) = (recorder.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("record".into())
            .spawn(move || {
                // Packets pass all the same.
                if let Err(error) = record(&records, &takes, &stops, self.output) {
                    log::error!("nothing more is recorded: {error:#}");
                }
            })
            .context("thread")?;
        Ok(Running {
            recorder,
            stop,
            thread: Some(thread),
        })
    }
}

fn record(
    records: &MapHandle,
    recorder: &Arc<Recorder>,
    stop: &AtomicBool,
    mut output: Output,
) -> Result<()> {
    let taker = recorder.clone();
    let mut builder = RingBufferBuilder::new();
    builder.add(records, move |bytes| {
        taker.take(bytes);
        0
    })?;
    let ring = builder.build()?;
    loop {
        let last = stop.load(Ordering::Relaxed);
        ring.consume()?;
        let before_ns = if last {
            u64::MAX
        } else {
            now_ns() - SETTLED_NS
        };
        recorder.write(before_ns, &mut output)?;
        if last {
            return Ok(());
        }
        std::thread::sleep(ROUND);
    }
}

/// Ends with the gateway; what has come until then is written.
pub struct Running {
    recorder: Arc<Recorder>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn recorder(&self) -> Arc<Recorder> {
        self.recorder.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
