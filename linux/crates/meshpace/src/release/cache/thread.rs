// SPDX-License-Identifier: GPL-2.0-only
//! The retransmit cache at work, in a thread of its own: the BPF program copies each segment into a ring
//! buffer on its way out, and orders there what is to be sent again. The copy goes out by a packet socket,
//! marked so that BPF knows it.
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use libbpf_rs::{MapHandle, RingBufferBuilder};

use super::{Cache, Gauge, New, Of, Round, Way};
use crate::base::errors::{words, Context, Result};
use crate::base::system::now_ns;
use crate::kernel::intf::{
    mp_cache_event, mp_event, mp_event_kind_MP_EVENT_CACHE, mp_event_kind_MP_EVENT_CACHE_FIRST,
    mp_event_kind_MP_EVENT_RETRANSMIT, mp_flow_key, mp_order, Plain,
};
use crate::kernel::port::Port;
use crate::kernel::programs::Maps;
use crate::release::liveness::{self, Liveness};

pub type Living = Arc<Mutex<Option<Round>>>;

struct Out {
    port: Arc<Port>,
    maps: Arc<Maps>,
}

impl Way for Out {
    fn send(&mut self, frame: &[u8]) -> bool {
        self.port.send(frame)
    }

    /// When that fails the duplicate ACKs wait for three tries, as they would for a copy that is lost.
    fn unsent(&mut self, key: &mp_flow_key, seq: u32) {
        if let Err(error) = self.maps.set_unsent(key, seq) {
            log::debug!("{error:#}");
        }
    }
}

fn take(cache: &mut Cache<Out>, bytes: &[u8]) {
    let Some(event) = mp_event::from_bytes(bytes) else {
        return;
    };
    if event.kind == mp_event_kind_MP_EVENT_RETRANSMIT {
        if let Some(order) = mp_order::from_bytes(bytes) {
            cache.send_again(&order);
        }
    } else if let Some(new) = read_cache_event(&event, bytes) {
        let of = if event.kind == mp_event_kind_MP_EVENT_CACHE_FIRST {
            Of::NewFlow
        } else if event.kind == mp_event_kind_MP_EVENT_CACHE {
            Of::Answered
        } else {
            Of::Unanswered
        };
        cache.keep(&event.key, new, of, now_ns());
    }
}

fn read_cache_event(event: &mp_event, bytes: &[u8]) -> Option<New> {
    let number = |at: usize, length: usize| bytes.get(at..at + length);
    let length = number(std::mem::offset_of!(mp_cache_event, bytes), 4)?;
    let l3 = number(std::mem::offset_of!(mp_cache_event, l3), 2)?;
    let l4 = number(std::mem::offset_of!(mp_cache_event, l4), 2)?;
    let length = u32::from_ne_bytes(length.try_into().ok()?) as usize;
    let frame = number(std::mem::offset_of!(mp_cache_event, frame), length)?;
    Some(New {
        seq: event.seq,
        end: event.end,
        ack: event.ack,
        l3: u16::from_ne_bytes(l3.try_into().ok()?),
        l4: u16::from_ne_bytes(l4.try_into().ok()?),
        frame: frame.into(),
    })
}

/// Runs the cache. `budget`: bytes of memory.
pub fn start(
    maps: Arc<Maps>,
    port: Arc<Port>,
    budget: u64,
    gauge: Arc<Gauge>,
    living: Living,
    liveness: Arc<Liveness>,
) -> Result<()> {
    let events = maps.events()?;
    liveness.cache.made();
    std::thread::Builder::new()
        .name("cache".into())
        .spawn(move || {
            let cache = Cache::new(budget, gauge, Out { port, maps });
            if let Err(error) = serve(cache, &events, &living, &liveness) {
                panic!("the retransmit cache failed: {}", words(error));
            }
        })
        .context("thread")?;
    Ok(())
}

fn serve(
    cache: Cache<Out>,
    events: &MapHandle,
    living: &Living,
    liveness: &Liveness,
) -> Result<()> {
    let cache = Rc::new(RefCell::new(cache));
    let taker = cache.clone();
    let mut builder = RingBufferBuilder::new();
    builder.add(events, move |bytes| {
        // In a flood there is always another one.
        liveness.cache.made();
        take(&mut taker.borrow_mut(), bytes);
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
            cache.borrow_mut().round(&round, now_ns());
        }
    }
}
