// SPDX-License-Identifier: GPL-2.0-only
//! What is kept of hosts, for how long, and in how much memory.
use std::net::Ipv4Addr;

use super::*;

fn second(n: u32, kbps: f64) -> Second {
    Second {
        address: Ipv4Addr::from(0x0a01_0000 + n).into(),
        group: None,
        is_active: kbps > 0.0,
        is_underserved: kbps == 100.0,
        kbps: [kbps, 0.0],
        part_kbps: [Some(400.0), None],
        waits_ms: Some(12.3),
        held_kbps: (kbps > 400.0).then_some(400.0),
        over_kbps: (kbps - 400.0).max(0.0),
        lacks_kbps: if kbps == 100.0 { 300.0 } else { 0.0 },
    }
}

/// So many seconds of hosts 0 to n, from a second on.
fn run(history: &mut History, from_s: u64, seconds: u64, n: u32, kbps: f64) -> u64 {
    for s in from_s..from_s + seconds {
        history.add((0..n).map(|n| second(n, kbps)).collect(), s);
    }
    from_s + seconds
}

#[test]
fn a_short_number_is_right_to_a_thousandth() {
    for value in [0.0, 1.0, 2047.0, 2048.0, 54_321.0, 987_654_321.0, 4e12] {
        let kept = Short::of(value).value();
        assert!((kept - value).abs() <= value / 2000.0, "{value}: {kept}");
    }
    assert_eq!(Short::of(-1.0).value(), 0.0);
    assert_eq!(Short::of(f64::MAX), Short(u16::MAX));
}

/// The promise: two MiB with 50 hosts, documents included.
#[test]
fn fifty_hosts_have_room_in_a_fixed_size() {
    const { assert!(HOSTS >= 50) };
    let of_host = (MINUTES + FINE) * size_of::<Slot>() + size_of::<Host>() + 256;
    assert!(HOSTS * of_host <= 8 * BUDGET_BYTES / 7, "{of_host}");
    let mut history = History::default();
    // A second of each minute is enough: 60 times as much in it is the minute's mean.
    for minute in 0..1500 {
        run(&mut history, minute * 60, 1, 50, 300_000.0);
    }
    run(&mut history, 90_000, 650, 50, 5000.0);
    let day = serde_json::to_vec(&history.day()).unwrap().len();
    let fine = serde_json::to_vec(&history.ten_minutes()).unwrap().len();
    assert!(day + fine < (2 << 20) - BUDGET_BYTES, "{day} + {fine}");
    assert_eq!(history.no_room, 0);
}

#[test]
fn a_day_is_kept_and_no_more() {
    let mut history = History::default();
    let now = run(&mut history, 0, 3600, 1, 1000.0);
    let hour = &history.totals().hosts[0];
    assert!((3540..=3600).contains(&hour.active_s), "{hour:?}");
    assert_eq!(hour.active_s, hour.held_s);
    assert!((hour.held_kbps - 400.0).abs() < 1.0 && (hour.part_kbps - 400.0).abs() < 1.0);
    let (got, over) = (hour.got_bytes as f64, hour.over_bytes as f64);
    assert!((got / (125_000.0 * 3600.0) - 1.0).abs() < 0.01, "{got}");
    assert!((over / (75_000.0 * 3600.0) - 1.0).abs() < 0.01, "{over}");
    run(&mut history, now, 86_460, 1, 100.0);
    let day = &history.totals();
    assert_eq!((day.seconds, day.hosts[0].held_s), (86_400, 0));
    assert!(day.hosts[0].underserved_s > 86_000, "{day:?}");
    let lacked = day.hosts[0].lacked_bytes as f64;
    assert!(
        (lacked / (37_500.0 * 86_400.0) - 1.0).abs() < 0.01,
        "{lacked}"
    );
}

#[test]
fn pictures_end_now_and_have_what_was_missed_as_nothing() {
    let mut history = History::default();
    let now = run(&mut history, 0, 100, 1, 1000.0);
    run(&mut history, now + 50, 50, 1, 2000.0);
    let picture = history.ten_minutes();
    let line: Vec<_> = picture.hosts[0]
        .points
        .iter()
        .map(|point| point[0])
        .collect();
    assert_eq!(
        (picture.step_s, line.len()),
        (5, 39),
        "the latest is not over"
    );
    assert_eq!(&line[..20], [1000; 20]);
    assert_eq!(&line[20..30], [0; 10]);
    assert_eq!(&line[30..], [2000; 9]);
    assert_eq!(picture.hosts[0].points[0], [1000, 0, 400, 0, 12]);
    let now = run(&mut history, 200, 86_400, 1, 1000.0);
    let day = history.day();
    assert_eq!((day.step_s, day.hosts[0].points.len()), (600, 144));
    assert_eq!(history.ten_minutes().hosts[0].points.len(), FINE);
    // It stood still for days.
    run(&mut history, now + 400_000, 5, 1, 1000.0);
    assert!(history.day().hosts[0]
        .points
        .iter()
        .all(|point| point[0] == 0));
}

#[test]
fn who_was_silent_longest_makes_room() {
    let many = HOSTS as u32;
    let mut history = History::default();
    let now = run(&mut history, 0, 5, many + 1, 1000.0);
    assert_eq!((history.hosts.len(), history.made_room), (HOSTS, 0));
    assert_eq!(history.no_room, 5, "all others are there");
    // Number 0 goes on; the others fall silent.
    let now = run(&mut history, now, SILENT_S, 1, 1000.0);
    history.add(vec![second(0, 1000.0), second(9999, 1000.0)], now);
    assert_eq!((history.hosts.len(), history.made_room), (HOSTS, 1));
    let is_there = |n| {
        let all = &history.totals().hosts;
        all.iter()
            .any(|host| host.address == second(n, 0.0).address.to_string())
    };
    assert!(is_there(0) && is_there(9999));
}

/// Else hosts that are known and silent would throw each other's day out, once a minute.
#[test]
fn who_is_silent_takes_no_place() {
    let many = HOSTS as u32;
    let mut history = History::default();
    let now = run(&mut history, 0, 5, many, 1000.0);
    run(&mut history, now, 3 * SILENT_S, many + 20, 0.0);
    assert_eq!((history.made_room, history.no_room), (0, 0));
    assert!(history.totals().hosts.iter().all(|host| host.active_s == 5));
}

/// Else a report would say that the law held hosts for a day in which it held nobody.
#[test]
fn what_was_held_and_what_would_have_been_are_told_apart() {
    let mut history = History::default();
    let now = run(&mut history, 0, 610, 1, 1000.0);
    history.is_paced = true;
    let now = run(&mut history, now, 120, 1, 500.0);
    let paced = &history.totals().hosts[0];
    assert!((110..=120).contains(&paced.held_s), "{paced:?}");
    assert_eq!(paced.active_s, 730);
    let over = paced.over_bytes as f64;
    assert!((over / (12_500.0 * 120.0) - 1.0).abs() < 0.2, "{over}");
    history.is_paced = false;
    run(&mut history, now, 5, 1, 1000.0);
    let observed = &history.totals().hosts[0];
    assert!((600..=615).contains(&observed.held_s), "{observed:?}");
}

/// Else a try would be the end of the day that was observed before it.
#[test]
fn the_program_that_takes_this_one_s_place_goes_on_with_it() {
    let mut history = History::default();
    for s in 0..1000 {
        history.remember(
            vec![second(1, 500.0), second(2, 100.0)],
            false,
            (7 + s) * 1_000_000_000,
        );
    }
    let text = serde_json::to_string(&history).unwrap();
    let mut next: History = serde_json::from_str(&text).unwrap();
    assert_eq!(next.totals().hosts, history.totals().hosts);
    // Nobody was looked at for five seconds meanwhile.
    for history in [&mut history, &mut next] {
        history.remember(vec![second(1, 500.0)], false, (1012) * 1_000_000_000);
    }
    assert_eq!(next.totals().seconds, 1005);
    assert_eq!(next.totals().hosts, history.totals().hosts);
    let drawn = |history: &History| serde_json::to_string(&history.ten_minutes()).unwrap();
    assert_eq!(drawn(&next), drawn(&history));
}
