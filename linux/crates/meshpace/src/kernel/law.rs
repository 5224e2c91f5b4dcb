// SPDX-License-Identifier: GPL-2.0-only
//! The functions of core/ and of linux/bpf/intf.h that the daemon calls, without `unsafe`: what they mean
//! stands in their headers. One more is one more line here; tests/folders.rs finds calls that go around.
//!
//! Why they are safe: they are plain functions of their arguments, which call nobody, keep no pointer and
//! index nothing but arrays of their own structs. A reference is a valid pointer for as long as the call
//! lasts, and one that is `&mut` has no other.
use crate::kernel::intf::{
    self, mp_air, mp_air_direction, mp_air_host, mp_air_way, mp_budget, mp_credit, mp_demand,
    mp_device, mp_endpoint, mp_estimate, mp_goodput, mp_goodput_bulk, mp_goodput_flow,
    mp_goodput_law, mp_hold, mp_hold_verdict, mp_host_pace, mp_law, mp_opaque, mp_opaque_counts,
    mp_pacer, mp_path, mp_probe, mp_progress, mp_queueing, mp_radio, mp_range, mp_reach,
    mp_retreat, mp_retreat_look, mp_retreat_window, mp_sack, mp_silence, mp_too_long, mp_turn,
    mp_turns, mp_unanswered, mp_unanswered_rate, mp_verdict, mp_wait, mp_waits_for, mp_window,
};

/// `name = mp_name(arguments) -> result`: the function of the headers by references.
macro_rules! safe {
    ($($name:ident = $of:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            pub fn $name($($argument: $type),*) $(-> $result)? {
                // Safe: the module's comment.
                unsafe { intf::$of($($argument),*) }
            }
        )*
    };
}

// The laws and what they are told of a path (law/law.h, law/path.h, law/radio.h).
safe! {
    gap = mp_law_gap() -> mp_law;
    map = mp_law_map() -> mp_law;
    even = mp_law_even() -> mp_law;
    window_mean_ns = mp_window_mean_ns(window: &mp_window) -> u64;
    rate_bytes_per_s = mp_rate_bytes_per_s(interval_ns: u64, bytes: u32) -> u64;
    hops_of_ttl = mp_hops_of_ttl(ttl: u8) -> u32;
    db_q8_of_centi = mp_db_q8_of_centi(centi: i32) -> i16;
    radio_default = mp_radio_default() -> mp_radio;
    reach_add_hop = mp_reach_add_hop(reach: &mut mp_reach, hop_cm: u32);
    reach_add_position = mp_reach_add_position(reach: &mut mp_reach, east_cm: i32, north_cm: i32);
    h_cs = mp_h_cs(radio: &mp_radio, reach: &mp_reach) -> u32;
}

/// Which law these parameters are of.
pub fn name(law: &mp_law) -> &'static str {
    if law.hop_wait_ns > 0 {
        "even"
    } else if law.reuse == intf::mp_reuse_MP_REUSE_CARRIER_SENSE {
        "map"
    } else {
        "gap"
    }
}

// Departures of flows and hosts, and what waits too long.
safe! {
    law_due_ns = mp_law_due_ns(law: &mp_law, pacer: &mp_pacer, ready_ns: u64, interval_ns: u64) -> u64;
    law_departed = mp_law_departed(law: &mp_law, pacer: &mut mp_pacer, ready_ns: u64, now_ns: u64, interval_ns: u64, clock_late_ns: u64, device: mp_device);
    may_hold = mp_may_hold(flow: &mp_unanswered, outstanding: bool, now_ns: u64) -> bool;
    waits_for_of = mp_waits_for_of(estimate: &mp_estimate, interval_ns: u64, rtt_wired_us: u32) -> mp_waits_for;
    wait_beyond = mp_wait_beyond(flow: &mp_waits_for, packets: u32) -> bool;
    wait_behind_ns = mp_wait_behind_ns(flow: &mp_waits_for, packets: u32) -> u64;
    wait_too_long = mp_wait_too_long(wait: &mut mp_wait, law: &mp_law, flow: &mp_waits_for, wait_ns: u64, now_ns: u64) -> bool;
    held_bytes_per_s = mp_held_bytes_per_s(cap_bytes_per_s: u64, up: bool) -> u64;
    host_due_ns = mp_host_due_ns(pace: &mp_host_pace, held_bytes_per_s: u64, ready_ns: u64) -> u64;
    host_leaves = mp_host_leaves(pace: &mut mp_host_pace, held_bytes_per_s: u64, ready_ns: u64, now_ns: u64, bytes: u32, clock_late_ns: u64);
    host_departure_ns = mp_host_departure_ns(pace: &mut mp_host_pace, held_bytes_per_s: u64, ready_ns: u64, bytes: u32, most_ns: u64, then: mp_too_long) -> u64;
    datagram_waits_ns = mp_datagram_waits_ns(pace: &mp_host_pace, turns: &mp_turns, turn: &mp_turn, held_bytes_per_s: u64, flows: u32, now_ns: u64) -> u64;
    datagram_judge = mp_datagram_judge(wait: &mut mp_wait, wait_ns: u64, apart_ns: u64, ecn: bool, now_ns: u64) -> mp_hold_verdict;
    udp_bucket = mp_udp_bucket(wired: u32, wired_port: u16, mesh_port: u16) -> u32;
    turn_interval_ns = mp_turn_interval_ns(held_bytes_per_s: u64, bytes: u32, flows: u32) -> u64;
    turn_tag = mp_turn_tag(turns: &mp_turns, turn: &mp_turn) -> u64;
    turn_take = mp_turn_take(turn: &mut mp_turn, tag: u64, bytes: u32);
    turns_pass = mp_turns_pass(turns: &mut mp_turns, tag: u64);
    silence_ask = mp_silence_ask(silence: &mut mp_silence, earned_ns: u64, hop_wait_ns: u64, now_ns: u64) -> bool;
    silence_due_ns = mp_silence_due_ns(silence: &mp_silence, is_busy: bool, due_ns: u64) -> u64;
}

// Classes of the kernel's HTB, and what of lines of others is counted likewise (endpoint/hold.h).
safe! {
    hold_bytes_per_s = mp_hold_bytes_per_s(interval_ns: u64, slot_bytes: u32) -> u64;
    hold_host_bytes_per_s = mp_hold_host_bytes_per_s(held_bytes_per_s: u64) -> u64;
    hold_saved_ns = mp_hold_saved_ns(interval_ns: u64) -> u64;
    hold_is_silence = mp_hold_is_silence(silent_ns: u64, hop_wait_ns: u64) -> bool;
    hold_is_idle = mp_hold_is_idle(hold: &mp_hold, now_ns: u64) -> bool;
    hold_has_room = mp_hold_has_room(hold: &mp_hold, held_bytes_per_s: u64) -> bool;
    hold_comes = mp_hold_comes(hold: &mut mp_hold, units: u32, interval_ns: u64, now_ns: u64) -> u32;
    hold_leaves = mp_hold_leaves(hold: &mut mp_hold, units: u32, stood: u32, interval_ns: u64, came_ns: u64, now_ns: u64);
    hold_waiting = mp_hold_waiting(hold: &mp_hold) -> u32;
    rate_interval_ns = mp_rate_interval_ns(cap_bytes_per_s: u64, bytes: u32) -> u64;
}

// What hosts get, and what nobody answers.
safe! {
    air_is_busy = mp_air_is_busy(air: &mp_air, host: &mp_air_host) -> bool;
    demand_of = mp_demand_of(progress: &mp_progress, max_end: u32, upload: bool, waits: bool, seen_ns: u64, now_ns: u64) -> mp_demand;
    excess_bytes = mp_excess_bytes(pure_acks: u64, packets: u64, copies: u64) -> u64;
    goodput_takes_part = mp_goodput_takes_part(flow: &mp_goodput_bulk, now_ns: u64) -> bool;
    progress_fits = mp_progress_fits(progress: &mp_progress, max_end: u32, ack: u32) -> bool;
    progress_ack = mp_progress_ack(progress: &mut mp_progress, max_end: u32, ack: u32) -> bool;
    flow_moves = mp_flow_moves(demand: &mp_demand) -> bool;
    flow_wants = mp_flow_wants(demand: &mp_demand) -> bool;
    feedback_part = mp_feedback_part(cap_bytes_per_s: u64, flows: u32) -> u64;
    queueing_ns = mp_queueing_ns(endpoint: &mp_endpoint) -> u64;
    queueing_heard_ns = mp_queueing_heard_ns(endpoint: &mp_endpoint) -> u64;
    queueing_add = mp_queueing_add(queueing: &mut mp_queueing, waits_ns: u64, heard_ns: u64, now_ns: u64);
    queueing_tell = mp_queueing_tell(queueing: &mp_queueing, way: &mut mp_air_way);
    opaque_wait_ns = mp_opaque_wait_ns(hops: u32, hop_wait_ns: u64) -> u64;
    opaque_step = mp_opaque_step(opaque: &mut mp_opaque, counts: &mp_opaque_counts, wait_ns: u64, now_ns: u64) -> bool;
    opaque_nobody_step = mp_opaque_nobody_step(nobody: &mut mp_opaque, bytes: u64, hop_wait_ns: u64, now_ns: u64) -> u64;
    opaque_asked = mp_opaque_asked(opaque: &mut mp_opaque, wait_ns: u64);
    opaque_answered = mp_opaque_answered(opaque: &mut mp_opaque, wait_ns: u64, rtt_ns: u64, now_ns: u64);
    opaque_heard_ns = mp_opaque_heard_ns(opaque: &mp_opaque) -> u64;
    opaque_waits_ns = mp_opaque_waits_ns(opaque: &mp_opaque) -> u64;
    opaque_has_more = mp_opaque_has_more(opaque: &mut mp_opaque, waits: bool, now_ns: u64) -> bool;
    opaque_wants = mp_opaque_wants(opaque: &mp_opaque, way: mp_air_direction, has_more: bool, wait_ns: u64) -> bool;
    opaque_cap = mp_opaque_cap(opaque: &mp_opaque, share_bytes_per_s: u64) -> u64;
    unanswered_step = mp_unanswered_step(rate: &mut mp_unanswered_rate, active_bytes_per_s: u64) -> u64;
    goodput_law_gap = mp_goodput_law_gap() -> mp_goodput_law;
}

// What is sent again or asked, and its budgets.
safe! {
    sack_hole = mp_sack_hole(sack: &mp_sack, within: mp_range) -> mp_range;
    credit_earn = mp_credit_earn(credit: &mut mp_credit);
    credit_spend = mp_credit_spend(credit: &mut mp_credit) -> bool;
    ask_spend = mp_ask_spend(host: &mut mp_budget, all: &mut mp_budget, now_ns: u64) -> bool;
    probe_due = mp_probe_due(probe: &mut mp_probe, ack: u32, silent_ns: u64, acked_bytes: u64, now_ns: u64) -> bool;
    probe_sent = mp_probe_sent(probe: &mut mp_probe, now_ns: u64);
    wake_up_due = mp_wake_up_due(probe: &mut mp_probe, ack: u32, silent_ns: u64, acked_bytes: u64, pushed: bool, now_ns: u64) -> bool;
}

// Whether pacing made it worse (endpoint/retreat.h).
safe! {
    retreat_at_work = mp_retreat_at_work(wants: bool, progress_ns: u64, now_ns: u64) -> bool;
    retreat_compare = mp_retreat_compare(host: &mut mp_retreat, before: u64, now: u64, held: bool);
    retreat_is_worse = mp_retreat_is_worse(host: &mp_retreat) -> bool;
    retreat_tells = mp_retreat_tells(before: u32, now: u32) -> bool;
    retreat_due = mp_retreat_due(worse: u32, hosts: u32) -> bool;
}

/// `mp_retreat_look`: the value of a window that is over, and whether something was held in it.
pub fn retreat_look(window: &mut mp_retreat_window, look: &mp_retreat_look) -> Option<(u64, bool)> {
    let (mut value, mut held) = (0, false);
    // Safe: the module's comment.
    let over = unsafe { intf::mp_retreat_look(window, look, &mut value, &mut held) };
    over.then_some((value, held))
}

// The heartbeat (intf.h).
safe! {
    beat_of = mp_beat_of(progress_ns: u64, patience_ns: u64, now_ns: u64) -> u64;
    beat_fresh = mp_beat_fresh(beat_ns: u64, now_ns: u64) -> bool;
}

/// `mp_law_set_links`: the links of a path by their bit rates.
pub fn set_links(law: &mp_law, path: &mut mp_path, kbps: &[u32]) {
    // Safe: it reads as many rates as it is told that there are.
    unsafe { intf::mp_law_set_links(law, path, kbps.as_ptr(), kbps.len() as u32) }
}

/// `mp_airtime_step` on all hosts there are, as much waiting on a path as the law `even` wants.
pub fn airtime_step(air: &mut mp_air, host: &mut [mp_air_host], now_ns: u64) {
    let (count, hop_wait_ns) = (host.len() as u32, even().hop_wait_ns);
    // Safe: it goes through as many as it is told that there are.
    unsafe { intf::mp_airtime_step(air, host.as_mut_ptr(), count, hop_wait_ns, now_ns) };
}

/// `mp_verdict_level` of all hosts there are.
pub fn verdict_level(air: &mp_air, host: &[mp_air_host]) -> u64 {
    // Safe: it goes through as many as it is told that there are.
    unsafe { intf::mp_verdict_level(air, host.as_ptr(), host.len() as u32) }
}

/// `mp_verdict_step` of one of them; `held_bytes_per_s`: what its ways are held to, or would be.
pub fn verdict_step(
    verdict: &mut mp_verdict,
    air: &mp_air,
    host: &mp_air_host,
    level: u64,
    held_bytes_per_s: [u64; 2],
) {
    // Safe: it reads one of each way.
    unsafe { intf::mp_verdict_step(verdict, air, host, level, held_bytes_per_s.as_ptr()) };
}

/// `mp_goodput_reset` on all flows there are.
pub fn goodput_reset(control: &mut mp_goodput, flows: &mut [mp_goodput_flow], now_ns: u64) {
    // Safe: it goes through as many as it is told that there are.
    unsafe { intf::mp_goodput_reset(control, flows.as_mut_ptr(), flows.len() as u32, now_ns) }
}

/// `mp_goodput_step` on all flows there are.
pub fn goodput_step(
    control: &mut mp_goodput,
    law: &mp_goodput_law,
    flows: &mut [mp_goodput_flow],
    now_ns: u64,
) {
    let count = flows.len() as u32;
    // Safe: it goes through as many as it is told that there are.
    unsafe { intf::mp_goodput_step(control, law, flows.as_mut_ptr(), count, now_ns) };
}
