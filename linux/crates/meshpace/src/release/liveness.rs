// SPDX-License-Identifier: GPL-2.0-only
//! The heartbeat, by which the kernel knows that packets may be held. It is the time at which the thread
//! that lags most made progress; a thread of its own writes it down, and tells systemd's watchdog. When a
//! thread hangs, or the process is stopped, the heartbeat grows old, and packets pass by themselves.
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use portable_atomic::AtomicU64;

use crate::base::errors::{Context, Result};
use crate::base::system::now_ns;
use crate::kernel::intf::MP_BEAT_EVERY_NS;
use crate::kernel::law;
use crate::kernel::programs::Maps;
use crate::setup::rules::Rules;

/// Threads that packets wait for give a sign at least this often.
pub const EVERY: Duration = Duration::from_nanos(MP_BEAT_EVERY_NS as u64);

/// No packet waits for the main loop, but caps and paths grow old without it. It may wait for iptables,
/// and read a table of 16,384 flows on a slow router.
const MAIN_PATIENCE_NS: u64 = 5_000_000_000;

/// When a thread made progress last; 0: there is no such thread.
#[derive(Default)]
pub struct Progress(AtomicU64);

impl Progress {
    pub fn made(&self) {
        self.0.store(now_ns(), Ordering::Relaxed);
    }
}

/// The threads on which packets depend. Each is given a first sign by who starts it.
#[derive(Default)]
pub struct Liveness {
    pub main: Progress,
    /// decides on the packets of the netfilter queue
    pub queue: Progress,
    /// sends segments again, for which duplicate ACKs are withheld
    pub cache: Progress,
    /// some host has a cap: UDP is held, too
    pub udp_waits: AtomicBool,
    /// what brings packets before the daemon was found missing
    pub rules_gone: AtomicBool,
}

impl Liveness {
    /// The heartbeat as of now.
    fn beat_ns(&self, now: u64) -> u64 {
        let threads = [
            (&self.main, MAIN_PATIENCE_NS),
            (&self.queue, 0),
            (&self.cache, 0),
        ];
        let beats = threads.iter().filter_map(|(progress, patience_ns)| {
            match progress.0.load(Ordering::Relaxed) {
                0 => None,
                made_ns => Some(law::beat_of(made_ns, *patience_ns, now)),
            }
        });
        beats.min().unwrap_or(now)
    }

    /// Whether packets may be held.
    pub fn is_well(&self) -> bool {
        let now = now_ns();
        law::beat_fresh(self.beat_ns(now), now)
    }
}

/// systemd's watchdog, where the unit has one (sd_notify(3), WatchdogSec=).
struct Watchdog {
    socket: UnixDatagram,
    path: std::ffi::OsString,
    every_ns: u64,
    logged_ns: u64,
}

impl Watchdog {
    fn wanted() -> Option<Self> {
        let path = std::env::var_os("NOTIFY_SOCKET")?;
        let limit_us: u64 = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
        let whose = std::env::var("WATCHDOG_PID").ok();
        if whose.is_some_and(|pid| pid != std::process::id().to_string()) {
            return None;
        }
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(Self {
            socket,
            path,
            every_ns: limit_us * 1000 / 4,
            logged_ns: 0,
        })
    }

    fn tell(&mut self, now: u64) {
        if now - self.logged_ns >= self.every_ns {
            let _ = self.socket.send_to(b"WATCHDOG=1", &self.path);
            self.logged_ns = now;
        }
    }
}

/// The thread that writes the heartbeat down, until dropped.
pub struct Heart {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Heart {
    pub fn start(
        maps: Arc<Maps>,
        liveness: Arc<Liveness>,
        rules: Option<Arc<Rules>>,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let ends = stop.clone();
        let mut watchdog = Watchdog::wanted();
        let beat = move || {
            let now = now_ns();
            // An error of one write costs a beat; the next comes soon.
            let _ = maps.set_beat(liveness.beat_ns(now));
            if !liveness.is_well() {
                return;
            }
            let udp_waits = liveness.udp_waits.load(Ordering::Relaxed);
            if rules.as_ref().is_some_and(|rules| !rules.beat(udp_waits)) {
                liveness.rules_gone.store(true, Ordering::Relaxed);
            }
            if let Some(watchdog) = &mut watchdog {
                watchdog.tell(now);
            }
        };
        let thread = std::thread::Builder::new()
            .name("heart".into())
            .spawn(move || {
                let mut beat = beat;
                while !ends.load(Ordering::Relaxed) {
                    beat();
                    std::thread::park_timeout(EVERY);
                }
            })
            .context("thread")?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn liveness(main_s: u64, queue_s: u64, cache_s: u64) -> Liveness {
        Liveness {
            main: Progress((main_s * S).into()),
            queue: Progress((queue_s * S).into()),
            cache: Progress((cache_s * S).into()),
            ..Default::default()
        }
    }

    /// Else one thread that hangs would hold packets for ever, the others being well.
    #[test]
    fn the_heartbeat_is_the_slowest_thread_s() {
        assert_eq!(liveness(90, 90, 90).beat_ns(90 * S), 90 * S);
        assert_eq!(liveness(90, 89, 90).beat_ns(90 * S), 89 * S);
        assert_eq!(liveness(90, 90, 88).beat_ns(90 * S), 88 * S);
        assert_eq!(liveness(86, 90, 90).beat_ns(90 * S), 90 * S, "at work");
        assert_eq!(liveness(80, 90, 90).beat_ns(90 * S), 85 * S);
    }

    /// Else a gateway that only observes would never be well.
    #[test]
    fn a_thread_that_is_not_there_is_not_waited_for() {
        assert_eq!(liveness(90, 0, 0).beat_ns(90 * S), 90 * S);
        assert_eq!(liveness(0, 0, 0).beat_ns(90 * S), 90 * S);
    }

    #[test]
    fn a_heartbeat_is_fresh_for_half_a_second() {
        let fresh = |beat, now| law::beat_fresh(beat, now);
        assert!(fresh(S, S) && fresh(S, S + S / 2 - 1));
        assert!(!fresh(S, S + S / 2) && !fresh(0, 9 * S));
        assert!(
            fresh(S, S - 1),
            "written after this processor read its clock"
        );
        assert!(!fresh(9 * S, S) && !fresh(u64::MAX, 9 * S), "ahead");
    }
}
