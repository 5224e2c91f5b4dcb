// SPDX-License-Identifier: GPL-2.0-only
//! Local retransmission (GAP figure 7, lines 22-23): segments are kept until the mesh acknowledges
//! them; a duplicate ACK makes the gateway send its copy again.
//!
//! The BPF program copies each segment into a ring buffer on its way out, and orders there what is
//! to be sent again. The copy goes out by a packet socket, marked so that BPF knows it.
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libbpf_rs::{MapHandle, RingBufferBuilder};

use crate::errors::{Context, Result};
use crate::intf::{
    mp_event, mp_event_kind_MP_EVENT_RETRANSMIT, mp_event_kind_MP_EVENT_STORE_FIRST, mp_flow_key,
    mp_probe, mp_probe_due, mp_store_event, Plain,
};
use crate::liveness::{self, Liveness};
use crate::packet;
use crate::port::Port;

/// New flows are taken again when the store has fallen below this share of its budget.
const ROOM_AGAIN: f64 = 0.9;

const YOUNG: Duration = Duration::from_secs(3);

struct Stored {
    seq: u32,
    end: u32,
    l3: u16,
    l4: u16,
    frame: Box<[u8]>,
}

/// What the store has done, and whether it can take new flows.
#[derive(Default)]
pub struct Gauge {
    pub bytes: AtomicU64,
    pub sent_again: AtomicU64,
    /// orders for segments that were not there or could not be sent
    pub failed: AtomicU64,
    pub full: AtomicBool,
}

/// What the daemon hands over once a second.
pub struct Round {
    /// the flows that still exist, each with the ACK seen last
    pub acks: HashMap<mp_flow_key, u32>,
    /// whether paths that have fallen silent are asked
    pub probes: bool,
}

pub type Living = Arc<Mutex<Option<Round>>>;

struct Store {
    flows: HashMap<mp_flow_key, Kept>,
    budget: u64,
    gauge: Arc<Gauge>,
    port: Arc<Port>,
}

/// One flow's segments, and when the latest came or was sent again to ask the path.
struct Kept {
    segments: VecDeque<Stored>,
    latest: Instant,
    probe: mp_probe,
}

/// a lies before b in TCP's numbers.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// What a flow takes besides its segments: entries in tables, and what the allocator adds.
const FLOW_BYTES: i64 = 256;

impl Stored {
    /// The frame with its checksum written out.
    fn complete(&mut self) -> Option<Box<[u8]>> {
        packet::complete_checksum(&mut self.frame, self.l3.into(), self.l4.into())
            .then(|| self.frame.clone())
    }

    /// What it takes in memory.
    fn bytes(&self) -> i64 {
        const ALLOCATOR: usize = 16;
        (self.frame.len() + size_of::<Self>() + ALLOCATOR) as i64
    }
}

impl Kept {
    /// Where the segment that holds a byte is.
    fn position(&self, seq: u32) -> Option<usize> {
        // Mostly the first is asked for, or none of them.
        self.segments
            .iter()
            .position(|s| !before(seq, s.seq) && before(seq, s.end))
    }

    /// Keeps a segment in its order. False: it was sent again by the wired end, and is here already.
    fn insert(&mut self, stored: Stored) -> bool {
        let at = match self.segments.back() {
            Some(last) if before(stored.seq, last.end) => {
                if self.position(stored.seq).is_some() {
                    return false;
                }
                self.segments.partition_point(|s| before(s.seq, stored.seq))
            }
            _ => self.segments.len(),
        };
        self.segments.insert(at, stored);
        true
    }

    /// The first segment, if the path has been silent for too long.
    fn probe(&mut self) -> Option<Box<[u8]>> {
        let first = self.segments.front_mut()?;
        let silent_ns = self.latest.elapsed().as_nanos() as u64;
        // Safe: a plain function of core/.
        if !unsafe { mp_probe_due(&mut self.probe, first.seq, silent_ns) } {
            return None;
        }
        self.latest = Instant::now();
        first.complete()
    }

    /// Drops all; returns the bytes freed.
    fn empty(&mut self) -> i64 {
        self.segments.drain(..).map(|s| s.bytes()).sum()
    }

    /// Drops what is acknowledged; returns the bytes freed.
    fn acknowledge(&mut self, ack: u32) -> i64 {
        let mut freed = 0;
        while self.segments.front().is_some_and(|s| !before(ack, s.end)) {
            freed += self.segments.pop_front().map_or(0, |s| s.bytes());
        }
        freed
    }
}

impl Store {
    fn add_bytes(&self, more: i64) {
        let bytes = self
            .gauge
            .bytes
            .load(Ordering::Relaxed)
            .saturating_add_signed(more);
        self.gauge.bytes.store(bytes, Ordering::Relaxed);
        let full = self.gauge.full.load(Ordering::Relaxed);
        let limit = if full {
            self.budget as f64 * ROOM_AGAIN
        } else {
            self.budget as f64
        };
        self.gauge
            .full
            .store(bytes as f64 >= limit, Ordering::Relaxed);
    }

    fn keep(&mut self, event: &mp_event, stored: Stored) {
        let latest = Instant::now();
        let mut change = 0;
        let kept = self.flows.entry(event.key).or_insert_with(|| {
            change += FLOW_BYTES;
            Kept {
                segments: VecDeque::new(),
                latest,
                probe: mp_probe::default(),
            }
        });
        kept.latest = latest;
        change -= if event.kind == mp_event_kind_MP_EVENT_STORE_FIRST {
            kept.empty()
        } else {
            kept.acknowledge(event.ack)
        };
        let bytes = stored.bytes();
        change += if kept.insert(stored) { bytes } else { 0 };
        self.add_bytes(change);
    }

    fn send_again(&mut self, event: &mp_event) {
        let frame = self.flows.get_mut(&event.key).and_then(|kept| {
            let at = kept.position(event.seq)?;
            kept.segments[at].complete()
        });
        self.send(frame);
    }

    /// Asks the paths that have fallen silent.
    fn probe(&mut self) {
        let frames: Vec<_> = self.flows.values_mut().filter_map(Kept::probe).collect();
        for frame in frames {
            self.send(Some(frame));
        }
    }

    fn send(&self, frame: Option<Box<[u8]>>) {
        let sent = frame.is_some_and(|frame| self.port.send(&frame));
        let counter = if sent {
            &self.gauge.sent_again
        } else {
            &self.gauge.failed
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Drops what was acknowledged since the flow's latest segment, and flows that are gone. A flow
    /// younger than the list of the living is not in it.
    fn tidy(&mut self, living: &HashMap<mp_flow_key, u32>) {
        let mut freed = 0;
        self.flows.retain(|key, kept| {
            let young = kept.latest.elapsed() < YOUNG;
            if let Some(ack) = living.get(key) {
                freed += kept.acknowledge(*ack);
            } else if !young {
                freed += kept.empty();
            }
            let stays = young || !kept.segments.is_empty();
            freed += if stays { 0 } else { FLOW_BYTES };
            stays
        });
        self.add_bytes(-freed);
    }

    fn take(&mut self, bytes: &[u8]) {
        let Some(event) = mp_event::from_bytes(bytes) else {
            return;
        };
        if event.kind == mp_event_kind_MP_EVENT_RETRANSMIT {
            self.send_again(&event);
        } else if let Some(stored) = read_store_event(&event, bytes) {
            self.keep(&event, stored);
        }
    }
}

fn read_store_event(event: &mp_event, bytes: &[u8]) -> Option<Stored> {
    let number = |at: usize, length: usize| bytes.get(at..at + length);
    let length = number(std::mem::offset_of!(mp_store_event, bytes), 4)?;
    let l3 = number(std::mem::offset_of!(mp_store_event, l3), 2)?;
    let l4 = number(std::mem::offset_of!(mp_store_event, l4), 2)?;
    let length = u32::from_ne_bytes(length.try_into().ok()?) as usize;
    let frame = number(std::mem::offset_of!(mp_store_event, frame), length)?;
    Some(Stored {
        seq: event.seq,
        end: event.end,
        l3: u16::from_ne_bytes(l3.try_into().ok()?),
        l4: u16::from_ne_bytes(l4.try_into().ok()?),
        frame: frame.into(),
    })
}

/// Runs the store in a thread of its own. `budget`: bytes of frames kept.
pub fn start(
    events: MapHandle,
    port: Arc<Port>,
    budget: u64,
    gauge: Arc<Gauge>,
    living: Living,
    liveness: Arc<Liveness>,
) -> Result<()> {
    liveness.cache.made();
    std::thread::Builder::new()
        .name("store".into())
        .spawn(move || {
            let store = Store {
                flows: HashMap::new(),
                budget,
                gauge,
                port,
            };
            if let Err(error) = serve(store, &events, &living, &liveness) {
                panic!("the store of segments failed: {error:#}");
            }
        })
        .context("thread")?;
    Ok(())
}

fn serve(store: Store, events: &MapHandle, living: &Living, liveness: &Liveness) -> Result<()> {
    let store = Rc::new(RefCell::new(store));
    let taker = store.clone();
    let mut builder = RingBufferBuilder::new();
    builder.add(events, move |bytes| {
        taker.borrow_mut().take(bytes);
        0
    })?;
    let ring = builder.build()?;
    loop {
        liveness.cache.made();
        // Stored segments do not wake us, orders do.
        match ring.poll(liveness::EVERY) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::Interrupted => {
                return Err(error.into())
            }
            _ => ring.consume()?,
        }
        let round = living
            .lock()
            .expect("a thread that held it ended the program")
            .take();
        if let Some(round) = round {
            let mut store = store.borrow_mut();
            store.tidy(&round.acks);
            if round.probes {
                store.probe();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, end: u32) -> Stored {
        let frame = Box::from([0; 4]);
        Stored {
            seq,
            end,
            l3: 0,
            l4: 0,
            frame,
        }
    }

    fn kept(segments: &[(u32, u32)]) -> Kept {
        let (segments, latest) = (segments.iter(), Instant::now());
        let segments = segments.map(|(seq, end)| segment(*seq, *end)).collect();
        let probe = mp_probe::default();
        Kept {
            segments,
            latest,
            probe,
        }
    }

    #[test]
    fn a_hole_is_filled_and_a_second_copy_is_not_kept() {
        let mut kept = kept(&[(u32::MAX - 9, 0), (10, 20)]);
        assert!(!kept.insert(segment(10, 20)));
        assert!(!kept.insert(segment(12, 18)), "it lies within one");
        assert!(kept.insert(segment(0, 10)));
        assert!(kept.insert(segment(20, 30)));
        let order: Vec<_> = kept.segments.iter().map(|s| s.seq).collect();
        assert_eq!(order, [u32::MAX - 9, 0, 10, 20]);
        assert_eq!(kept.position(15), Some(2));
        assert_eq!(kept.position(30), None);
    }

    #[test]
    fn what_is_acknowledged_is_dropped() {
        let mut kept = kept(&[(0, 10), (10, 20)]);
        let one = kept.segments[0].bytes();
        assert_eq!(kept.acknowledge(15), one);
        assert_eq!(kept.empty(), one);
        assert_eq!(kept.acknowledge(20), 0);
    }

    /// Else a path that is alive is sent everything twice, or one that is gone is asked for ever.
    #[test]
    fn a_silent_path_is_asked_once_a_second() {
        let mut kept = kept(&[(0, 10)]);
        assert!(kept.probe().is_none(), "it was not silent");
        kept.latest -= Duration::from_secs(1);
        kept.probe();
        assert_eq!(kept.probe.count, 1);
        kept.probe();
        assert_eq!(kept.probe.count, 1, "asked a moment ago");
        kept.empty();
        kept.latest -= Duration::from_secs(1);
        assert!(kept.probe().is_none(), "nothing is unacknowledged");
    }
}
