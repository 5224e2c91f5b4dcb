// SPDX-License-Identifier: GPL-2.0-only
//! Which source tells what, and that it reaches core/ in core/'s units.

use super::*;
use meshpace_paths::{Mac, Radio, Source};

fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

/// A driver that tells all there is, of 802.11g.
fn hop() -> FirstHop {
    FirstHop {
        radio: Some(Radio {
            interface: "mesh0".into(),
            tx_power_mbm: Some(1750),
            frequency_mhz: Some(2437),
            lowest_kbps: Some(1_000),
            ofdm: Some(true),
            rts_threshold: Some(u32::MAX),
        }),
        signal_dbm: Some(-63),
        short_slot: Some(true),
    }
}

fn node(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

fn link(hops: Option<u32>, next_hop: u8, last: u8) -> Link {
    Link {
        hops,
        kbps: None,
        expected_kbps: None,
        first_hop: hop(),
        source: Source::Mesh80211s,
        node: node(last),
        next_hop: node(next_hop),
        via: None,
    }
}

fn address() -> Option<IpAddr> {
    Some(IpAddr::from([10, 1, 0, 9]))
}

fn look_up(
    config: &Config,
    link: Option<&Link>,
    hop: &FirstHop,
) -> (mp_link, mp_radio, Surroundings) {
    Ranges::default().look_up(config, address(), link, hop)
}

#[test]
fn a_driver_tells() {
    let (link, radio, around) = look_up(&config(""), None, &hop());
    assert_eq!(around.signal_dbm, sourced(Some(-63.0), By::Driver));
    assert_eq!(around.tx_power_dbm, sourced(Some(17.5), By::Driver));
    assert_eq!(around.frequency_mhz, sourced(Some(2437), By::Driver));
    assert_eq!(around.base_mbps, sourced(Some(1.0), By::Driver));
    assert_eq!(around.cw, sourced(Some(15), By::Standard));
    assert_eq!(around.slot_us, sourced(Some(9), By::Driver));
    assert_eq!(around.rts_cts, sourced(Some(false), By::Driver));
    assert_eq!(around.lacks(false), []);
    assert_eq!(radio.signal_dbm_q8, -63 * 256);
    assert_eq!(radio.tx_power_dbm_q8, 17 * 256 + 128);
    assert_eq!(radio.sense_dbm_q8, -82 * 256);
    assert_eq!((radio.exponent_q8, radio.frequency_mhz), (3 * 256, 2437));
    // 19 dB of margin at 30 dB a decade: 4.3 times as far as the next hop is in range.
    let expected = mp_link {
        base_kbps: 1_000,
        cw: 15,
        slot_us: 9,
        rts_cts: 0,
        h_cs: 5,
    };
    assert_eq!(link, expected);
    assert_eq!((around.h_cs, around.h_cs_by), (5, Range::Signal));
}

#[test]
fn the_configuration_goes_before_the_driver() {
    let stated = config(
        "[radio]\nsense_dbm=-92.5\nantenna_dbi=2.1\ncable_db=0.7\nattenuator_db=16\n\
         path_loss_exponent=3.5\ntx_power_dbm=12\nsignal_dbm=-70.25\nfrequency_mhz=5500\n\
         base_mbps=5.5\ncw=31\nslot_us=20\nrts_cts=true",
    );
    let (link, radio, around) = look_up(&stated, None, &hop());
    let expected = mp_radio {
        tx_power_dbm_q8: 12 * 256,
        antenna_db_q8: 538,
        cable_db_q8: 179,
        attenuator_db_q8: 16 * 256,
        signal_dbm_q8: -70 * 256 - 64,
        sense_dbm_q8: -92 * 256 - 128,
        exponent_q8: 3 * 256 + 128,
        frequency_mhz: 5500,
    };
    assert_eq!(radio, expected);
    // 22.25 dB at 35 dB a decade: 4.3.
    let expected = mp_link {
        base_kbps: 5_500,
        cw: 31,
        slot_us: 20,
        rts_cts: 1,
        h_cs: 5,
    };
    assert_eq!(link, expected);
    assert_eq!(around.signal_dbm.unwrap().by, By::Config);
    assert_eq!(around.rts_cts.unwrap().by, By::Config);
}

#[test]
fn the_band_decides_what_nobody_tells() {
    let silent = |mhz, ofdm| FirstHop {
        radio: Some(Radio {
            frequency_mhz: Some(mhz),
            lowest_kbps: None,
            ofdm,
            ..hop().radio.unwrap()
        }),
        short_slot: None,
        ..hop()
    };
    for (mhz, ofdm, base, cw, slot) in [
        (2412, Some(false), 1.0, 31, 20), // 802.11b
        (2412, Some(true), 1.0, 15, 20),
        (2412, None, 1.0, 31, 20),
        (5180, Some(true), 6.0, 15, 9),
        (5955, None, 6.0, 15, 9),
    ] {
        let (_, _, around) = look_up(&config(""), None, &silent(mhz, ofdm));
        assert_eq!(around.base_mbps, sourced(Some(base), By::Standard), "{mhz}");
        assert_eq!(around.cw, sourced(Some(cw), By::Standard), "{mhz}");
        assert_eq!(around.slot_us, sourced(Some(slot), By::Standard), "{mhz}");
    }
    // Of 5 GHz a driver's "no short slot" tells nothing: there is no other.
    let flagged = FirstHop {
        short_slot: Some(false),
        ..silent(5180, Some(true))
    };
    let (_, _, around) = look_up(&config(""), None, &flagged);
    assert_eq!(value(around.slot_us), 9);
}

#[test]
fn rts_goes_before_data_when_its_threshold_is_below() {
    let rts = |threshold| {
        let hop = FirstHop {
            radio: Some(Radio {
                rts_threshold: threshold,
                ..hop().radio.unwrap()
            }),
            ..hop()
        };
        look_up(&config(""), None, &hop)
            .2
            .rts_cts
            .map(|figure| figure.value)
    };
    assert_eq!(rts(Some(0)), Some(true));
    assert_eq!(rts(Some(1499)), Some(true));
    assert_eq!(rts(Some(2347)), Some(false));
    assert_eq!(rts(Some(u32::MAX)), Some(false));
    assert_eq!(rts(None), None);
}

#[test]
fn what_nobody_tells_is_named_and_gap_s_four_hops_remain() {
    let (link, _, around) = look_up(&config(""), None, &FirstHop::default());
    assert_eq!(link, mp_link::default());
    assert_eq!((around.h_cs, around.h_cs_by), (3, Range::Assumed));
    let named: Vec<_> = around.lacks(false).into_iter().map(|l| l.what).collect();
    for part in ["signal", "power", "control frames", "contention", "RTS"] {
        assert!(named.iter().any(|what| what.contains(part)), "{part}");
    }
    assert!(around.lacks(false)[0].cost.contains("as GAP"));
    // Neighbours are heard, it is only not known which of them is the next hop.
    assert!(!around.lacks(true).iter().any(|l| l.what.contains("signal")));
    // A box whose radio is elsewhere: the papers' 802.11b when 2.4 GHz is all that is said.
    let stated = config("[radio]\nfrequency_mhz=2412\nsignal_dbm=-60");
    let (link, _, around) = look_up(&stated, None, &FirstHop::default());
    assert_eq!((link.base_kbps, link.cw, link.slot_us), (1_000, 31, 20));
    assert_eq!(around.lacks(false).len(), 2, "power and RTS");
}

const CHAIN: &str = "[[node]]\naddress='self'\nx_m=0\ny_m=0\n\
    [[node]]\naddress='02:00:00:00:00:01'\nx_m=100\ny_m=0\n\
    [[node]]\naddress='02:00:00:00:00:02'\nx_m=100\ny_m=100\n\
    [[node]]\naddress='10.1.0.9'\nx_m=300\ny_m=400\n";

fn distances(config: &Config, link: Option<&Link>) -> (Distances, Vec<f64>) {
    let (_, _, around) = look_up(config, link, &hop());
    (around.distances, around.distances_m)
}

#[test]
fn positions_of_known_nodes_are_used() {
    let places = config(CHAIN);
    let two = link(Some(2), 1, 2);
    let (how, metres) = distances(&places, Some(&two));
    assert_eq!(how, Distances::Positions);
    assert_eq!(metres, [100.0, 141.42], "straight, and not along the way");
    let one = distances(&places, Some(&link(Some(1), 2, 2)));
    assert_eq!(one.1, [141.42]);
    let far = distances(&places, Some(&link(Some(5), 1, 2)));
    assert_eq!(far.1, [100.0], "of those between the tables tell nothing");
    let strange = distances(&places, Some(&link(Some(2), 7, 2)));
    assert_eq!(
        strange,
        (Distances::Equal, vec![]),
        "the first has no place"
    );
    // A host by its address, a neighbour without a node of its own.
    let host = distances(&places, Some(&link(Some(1), 7, 8)));
    assert_eq!(host.1, [500.0]);
}

#[test]
fn a_stated_way_goes_before_the_tables() {
    let way = "[[host]]\naddress='10.1.0.0/24'\nway=['02:00:00:00:00:01', '10.1.0.9']";
    let (how, metres) = distances(&config(&(CHAIN.to_string() + way)), None);
    assert_eq!((how, metres), (Distances::Positions, vec![100.0, 500.0]));
    let lengths = "[[host]]\naddress='10.1.0.9'\nhop_m=[80, 120.5]";
    let (how, metres) = distances(&config(&(CHAIN.to_string() + lengths)), None);
    assert_eq!((how, metres), (Distances::Hops, vec![80.0, 200.5]));
}

/// Unequal hops change H_cs: known lengths replace eq. (6)'s equal ones.
#[test]
fn distances_change_the_range() {
    // 19 dB of margin: nodes up to 4.3 first hops away sense this box.
    let equal = look_up(&config(""), None, &hop()).2;
    let long = config("[[host]]\naddress='10.1.0.9'\nhop_m=[50, 200, 200]");
    let stretched = look_up(&long, None, &hop()).2;
    assert_eq!((equal.h_cs, stretched.h_cs), (5, 2));
    // Without a signal frequency and distance stand for it, and power counts then.
    let deaf = FirstHop {
        signal_dbm: None,
        ..hop()
    };
    let by_distance = look_up(&long, None, &deaf).2;
    assert_eq!(by_distance.h_cs_by, Range::Distance);
    let louder =
        config("[radio]\ntx_power_dbm=40\n[[host]]\naddress='10.1.0.9'\nhop_m=[50, 200, 200]");
    assert!(look_up(&louder, None, &deaf).2.h_cs > by_distance.h_cs);
}

/// Worked out once: core/ is not asked again for what it has said.
#[test]
fn ranges_are_remembered_as_long_as_they_are_asked_for() {
    let mut ranges = Ranges::default();
    let first = ranges.look_up(&config(""), address(), None, &hop()).2.h_cs;
    ranges.keep_latest();
    assert_eq!(ranges.known.len(), 1);
    assert_eq!(
        ranges.look_up(&config(""), None, None, &hop()).2.h_cs,
        first
    );
    assert_eq!(ranges.latest.len(), 1, "the same radio and surroundings");
    ranges.keep_latest();
    ranges.keep_latest();
    assert!(ranges.known.is_empty(), "nobody asked since");
}
