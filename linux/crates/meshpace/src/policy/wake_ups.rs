// SPDX-License-Identifier: GPL-2.0-only
//! The law `even` wakes the sender of a stalled upload up, ever more seldom and within a budget: it gets its latest
//! ACK again, which was lost with the path as often as its data was, and an ICMP message that says that
//! its host was unreachable. A sender that waits for a doubled time-out takes a doubling back and so tries
//! again (RFC 6069; Linux, `tcp_ld_RTO_revert`); any other ignores it.
use std::collections::HashMap;
use std::sync::Arc;

use meshpace_paths::Mac;

use crate::hosts::identity::{Address, Aliases};
use crate::kernel::flow_state::{FlowState, Table};
use crate::kernel::icmp::Unreachable;
use crate::kernel::intf::{mp_direction_MP_UP, mp_flow, mp_flow_key, mp_probe};
use crate::kernel::law;
use crate::kernel::packet;
use crate::kernel::port::Port;
use crate::kernel::programs::Maps;
use crate::kernel::timestamp;
use crate::policy::asks::Asks;

/// A header that begins with whom the frame is for.
const ETHERNET_BYTES: usize = 14;

pub struct WakeUps {
    port: Arc<Port>,
    unreachable: Unreachable,
    pub due: Due,
    pub sent: u64,
}

/// Which senders are woken up.
#[derive(Default)]
pub struct Due {
    /// of the flows in the table that have answered, and are silent
    asked: HashMap<mp_flow_key, mp_probe>,
    asks: Asks,
    /// were due and had to wait for the budget
    pub waited: u64,
}

impl WakeUps {
    pub fn new(port: Arc<Port>) -> Self {
        Self {
            port,
            unreachable: Unreachable::open(),
            due: Due::default(),
            sent: 0,
        }
    }

    /// A second has passed. `way`: whom frames to an address are sent to now, None: it is not known.
    pub fn tick(
        &mut self,
        maps: &Maps,
        table: &Table,
        aliases: &Aliases,
        way: impl Fn(&Address) -> Option<Mac>,
        now_ns: u64,
    ) {
        for (key, ack) in self.due.now(table, aliases, now_ns) {
            let flow = maps.flow(&key);
            if let Some(frame) = flow.and_then(|flow| latest_ack(&flow, way(&key.mesh))) {
                self.port.send(&frame);
            }
            self.sent += u64::from(self.unreachable.send(&key, ack));
        }
    }
}

impl Due {
    /// The uploads whose senders are woken up now, each with its acknowledgement.
    pub fn now(
        &mut self,
        table: &Table,
        aliases: &Aliases,
        now_ns: u64,
    ) -> Vec<(mp_flow_key, u32)> {
        let mut before = std::mem::take(&mut self.asked);
        let (mut due, mut acks) = (Vec::new(), HashMap::new());
        let uploads = |(key, _): &&(mp_flow_key, FlowState)| key.direction == mp_direction_MP_UP;
        for (key, flow) in table.iter().filter(uploads) {
            let mut probe = before.remove(key).unwrap_or_default();
            if is_due(&mut probe, flow, now_ns) {
                due.push((*key, probe));
                acks.insert(*key, flow.progress.ack);
            }
            if probe.began_ns != 0 {
                self.asked.insert(*key, probe);
            }
        }
        self.asks.forget(now_ns);
        self.asks.by_turns(&mut due, aliases);
        due.retain(|(key, _)| self.asks.spend(&aliases.standing(key.mesh), now_ns));
        self.waited += (acks.len() - due.len()) as u64;
        for (key, probe) in &mut due {
            law::probe_sent(probe, now_ns);
            self.asked.insert(*key, *probe);
        }
        due.iter().map(|(key, _)| (*key, acks[key])).collect()
    }
}

/// The latest pure ACK, None where there was none or it is torn. Without its timestamp, by which the
/// sender would take the silence for a round trip and wait accordingly after its next loss. It goes to whom the way leads
/// by now, often another one than before the silence.
fn latest_ack(flow: &mp_flow, way: Option<Mac>) -> Option<Vec<u8>> {
    let mut frame = flow.pure_ack.get(..flow.pure_ack_bytes.into())?.to_vec();
    let (l3, l4) = (flow.pure_ack_l3.into(), flow.pure_ack_l4.into());
    if !packet::complete_checksum(&mut frame, l3, l4) {
        return None;
    }
    timestamp::remove(&mut frame, l3, l4);
    if let (Some(Mac(next_hop)), true) = (way, l3 >= ETHERNET_BYTES) {
        frame[..next_hop.len()].copy_from_slice(&next_hop);
    }
    Some(frame)
}

fn is_due(probe: &mut mp_probe, flow: &FlowState, now_ns: u64) -> bool {
    let silent_ns = now_ns.saturating_sub(flow.data_ns);
    let (progress, pushed) = (&flow.progress, flow.pushed);
    let (ack, bytes) = (progress.ack, progress.acked_bytes);
    progress.fin == 0 && law::wake_up_due(probe, ack, silent_ns, bytes, pushed, now_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::checksum;
    use crate::kernel::intf::mp_progress;

    const TCP: u8 = 6;

    const S: u64 = 1_000_000_000;

    fn acked(acked_bytes: u64) -> mp_progress {
        mp_progress {
            acked_bytes,
            ..Default::default()
        }
    }

    #[test]
    fn an_upload_that_is_silent_is_woken_up_until_it_ends() {
        let mut probe = mp_probe::default();
        let bulk = FlowState {
            progress: acked(1_000_000),
            data_ns: S,
            ..Default::default()
        };
        assert!(!is_due(&mut probe, &bulk, S + S / 2));
        assert!(is_due(&mut probe, &bulk, 2 * S));
        let forged = FlowState {
            progress: acked(0),
            ..bulk
        };
        assert!(!is_due(&mut probe, &forged, 2 * S), "never acknowledged");
        let said_all = FlowState {
            progress: acked(10_000),
            pushed: true,
            ..bulk
        };
        assert!(!is_due(&mut probe, &said_all, 3 * S));
        let has_more = FlowState {
            pushed: false,
            ..said_all
        };
        assert!(is_due(&mut probe, &has_more, 3 * S));
        let mut over = bulk;
        over.progress.fin = 1;
        assert!(!is_due(&mut probe, &over, 4 * S));
    }

    #[test]
    fn the_latest_ack_is_sent_without_its_time_or_not_at_all() {
        let mut flow = mp_flow::default();
        assert_eq!(latest_ack(&flow, None), None);
        let ack = acknowledgement(&[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        flow.pure_ack[..ack.len()].copy_from_slice(&ack);
        (flow.pure_ack_bytes, flow.pure_ack_l4) = (ack.len() as u16, 20);
        let sent = acknowledgement(&[1; 12]);
        assert_eq!(latest_ack(&flow, None), Some(sent.clone()));
        let way = Some(Mac([9; 6]));
        assert_eq!(latest_ack(&flow, way), Some(sent), "no such header");
        flow.pure_ack[30] ^= 1;
        assert_eq!(latest_ack(&flow, None), None, "torn");
    }

    /// Else it goes to the neighbour that led to the host before the path was lost, and wakes nobody.
    #[test]
    fn the_latest_ack_goes_where_the_way_leads_by_now() {
        let mut flow = mp_flow::default();
        let ip = acknowledgement(&[]);
        let frame = [&[7; 14][..], &ip].concat();
        flow.pure_ack[..frame.len()].copy_from_slice(&frame);
        (flow.pure_ack_l3, flow.pure_ack_l4) = (14, 34);
        flow.pure_ack_bytes = frame.len() as u16;
        assert_eq!(latest_ack(&flow, None), Some(frame));
        let sent = latest_ack(&flow, Some(Mac([9; 6]))).unwrap();
        assert_eq!(sent, [&[9; 6][..], &[7; 8], &ip].concat());
    }

    /// A pure ACK over IPv4, without a link-layer header.
    fn acknowledgement(options: &[u8]) -> Vec<u8> {
        let mut ack = [&[0; 40], options].concat();
        let tcp_bytes = (20 + options.len()) as u8;
        (ack[0], ack[3], ack[9], ack[32]) = (0x45, 20 + tcp_bytes, TCP, tcp_bytes << 2);
        // Of the pseudo-header nothing but protocol and length is not zero.
        let sum = checksum::of(&[&ack[20..], &[0, TCP, 0, tcp_bytes]].concat());
        ack[36..38].copy_from_slice(&sum);
        ack
    }
}
