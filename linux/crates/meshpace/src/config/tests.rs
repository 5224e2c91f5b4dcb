// SPDX-License-Identifier: GPL-2.0-only
//! What a file may say, and how a fault in it is named.
use super::*;

fn parse(text: &str) -> std::result::Result<Config, String> {
    let config: Config = toml::from_str(text).map_err(|error| error.message().to_string())?;
    config.check().map(|()| config)
}

/// The documented file must say what the program does.
#[test]
fn the_documented_defaults_are_the_defaults() {
    let documented = include_str!("../../../../../docs/operate/gateway.toml");
    assert_eq!(parse(documented), Ok(Config::default()));
}

#[test]
fn a_wrong_key_or_value_is_named() {
    let unknown = parse("hopps = 3").unwrap_err();
    assert!(unknown.contains("hopps"), "{unknown}");
    let value = parse("max_flows = 1").unwrap_err();
    assert!(
        value.contains("max_flows") && value.contains("16"),
        "{value}"
    );
    let address = parse("[[host]]\naddress = '10.1.0.0/33'").unwrap_err();
    assert!(address.contains("10.1.0.0/33"), "{address}");
    assert!(parse("[[host]]\naddress = '10.1.0.1'\nhops = 0").is_err());
    assert!(parse("[[host]]\naddress = '10.1.0.1'\nmbps = nan").is_err());
    let release = parse("release = 'fast'").unwrap_err();
    for word in ["fast", "auto", "htb", "nfqueue", "observe"] {
        assert!(release.contains(&format!("`{word}`")), "{release}");
    }
    let gone = parse("release = 'fq'").unwrap_err();
    assert!(
        gone.contains("`fq`") && gone.contains("use `htb`"),
        "{gone}"
    );
    let fairness = parse("fairness = 'fair'").unwrap_err();
    for word in ["fair", "air", "rate"] {
        assert!(fairness.contains(&format!("`{word}`")), "{fairness}");
    }
}

/// Else hosts are held to shares under a law that has none.
#[test]
fn only_hosts_that_share_evenly_have_a_fairness() {
    let fairness = |text: &str| parse(text).unwrap().fairness();
    assert_eq!(fairness(""), Some(Fairness::Air));
    assert_eq!(fairness("fairness = 'rate'"), Some(Fairness::Rate));
    assert_eq!(fairness("fairness = 'rate'\nshares = false"), None);
    assert_eq!(fairness("fairness = 'air'\nlaw = 'gap'"), None);
    for name in ["air", "rate"] {
        let named = parse(&format!("fairness = '{name}'")).unwrap();
        assert_eq!(named.fairness.to_string(), name);
    }
}

#[test]
fn the_longest_prefix_wins() {
    let config = parse(
        "[[host]]\naddress='10.1.0.0/16'\nhops=2\n[[host]]\naddress='10.1.2.3'\nhops=5\n\
         [[host]]\naddress='::/0'\nhops=7\n[[host]]\naddress='10.1.2.0/24'\nweight=2",
    )
    .unwrap();
    let hops = |a: &str| {
        config
            .host_of(a.parse().unwrap())
            .and_then(|host| host.hops)
    };
    assert_eq!(hops("10.1.2.3"), Some(5));
    assert_eq!(hops("10.1.2.4"), Some(2), "of who says it");
    assert_eq!(hops("10.2.2.4"), None);
    assert_eq!(hops("fd00::1"), Some(7));
}

/// Else one of them has no effect, and nobody says which.
#[test]
fn a_host_that_is_there_twice_is_named() {
    let twice = |first: &str, then: &str| {
        parse(&format!(
            "[[host]]\naddress='10.1.0.0/24'\n{first}\n[[host]]\naddress='10.1.0.7/24'\n{then}"
        ))
    };
    for (first, then) in [
        ("hops=2", "hops=3"),
        ("hops=2", "mbps=[1,2]"),
        ("weight=2\nhops=2", "weight=2"),
        ("least_kbps=1", "least_kbps=2\nweight=1"),
    ] {
        let fault = twice(first, then).unwrap_err();
        assert!(fault.contains("host 10.1.0.7/24 is there twice"), "{fault}");
    }
    assert!(twice("hops=2", "weight=3").is_ok(), "each says another key");
}

/// Else it matches nothing, for packets have IPv4's own addresses.
#[test]
fn ipv4_in_the_notation_of_ipv6_is_ipv4() {
    let prefix = |text: &str| Prefix::try_from(text.to_string()).unwrap().to_string();
    assert_eq!(prefix("::ffff:10.1.0.2"), "10.1.0.2/32");
    assert_eq!(prefix("::ffff:10.1.0.0/112"), "10.1.0.0/16");
    assert_eq!(prefix("::ffff:0.0.0.0/96"), "0.0.0.0/0");
    assert_eq!(prefix("::ffff:0.0.0.0/95"), "::ffff:0.0.0.0/95");
    for other in ["::/0", "fd00::/64", "::1/128", "10.1.0.0/16"] {
        assert_eq!(prefix(other), other);
    }
    let node = NodeName::try_from("::ffff:10.1.0.2".to_string());
    assert_eq!(node, NodeName::try_from("10.1.0.2".to_string()));
}

#[test]
fn a_radio_has_the_defaults_of_the_law() {
    let radio = Config::default().radio;
    assert_eq!((radio.sense_dbm, radio.path_loss_exponent), (-82.0, 3.0));
    let config = parse("law = 'map'\n[radio]\nsense_dbm = -90\nslot_us = 9").unwrap();
    assert_eq!(config.law, Law::Map);
    let stated = Radio {
        sense_dbm: -90.0,
        slot_us: Some(9),
        ..radio
    };
    assert_eq!(config.radio, stated);
}

/// Else `even` would throw away the samples that it cuts, or two controls would act on its flows.
#[test]
fn even_has_no_bound_on_samples_and_no_goodput_control() {
    let config = parse("law = 'even'\ndelay_bound_means = 4").unwrap();
    let law = config.parameters(config.law);
    assert_eq!((config.law, Law::of(&law)), (Law::Even, Law::Even));
    assert_eq!((law.delay_bound_ns, law.delay_bound_means), (0, 0));
    assert_eq!(law.initial_interval_ns, 0);
    assert!(config.goodput_control && !config.controls_goodput());
    let config = parse("law = 'gap'\ndelay_bound_ms = 250\ndelay_bound_means = 4").unwrap();
    let law = config.parameters(config.law);
    assert_eq!((Law::of(&law), law.delay_bound_ns), (Law::Gap, 250_000_000));
    assert_eq!(law.delay_bound_means, 4);
    assert!(parse("law = 'gap'\ndelay_bound_means = 1001").is_err());
    assert_eq!(Law::of(&Law::Map.parameters()), Law::Map);
    assert!(config.controls_goodput());
}

/// Each fault by its key, so that the operator finds it.
#[test]
fn a_fault_of_the_radio_is_named() {
    for (line, key) in [
        ("sense_dbm = -10", "radio.sense_dbm"),
        ("sense_dbm = nan", "radio.sense_dbm"),
        ("antenna_dbi = 90", "radio.antenna_dbi"),
        ("cable_db = -1", "radio.cable_db"),
        ("attenuator_db = 200", "radio.attenuator_db"),
        ("path_loss_exponent = 0", "radio.path_loss_exponent"),
        ("tx_power_dbm = 100", "radio.tx_power_dbm"),
        ("signal_dbm = 0", "radio.signal_dbm"),
        ("frequency_mhz = 2", "radio.frequency_mhz"),
        ("base_mbps = 0", "radio.base_mbps"),
        ("cw = 0", "radio.cw"),
        ("slot_us = 256", "radio.slot_us"),
        ("sense = -82", "sense"),
    ] {
        let fault = parse(&format!("[radio]\n{line}")).unwrap_err();
        assert!(fault.contains(key), "{line}: {fault}");
    }
}

/// Each in a line that names the group, and says what to do.
#[test]
fn a_fault_of_a_group_is_named() {
    let group = |text: &str| parse(text).map(|config| config.group.len());
    let home = "[[group]]\nname='home'\naddresses=['10.1.0.2','fd00:7::/64']\n";
    assert_eq!(group(home), Ok(1));
    for (more, says) in [
        (home, "group 'home' is there twice"),
        (
            "[[group]]\nname=''\naddresses=['10.1.0.3']",
            "group 2: name",
        ),
        (
            "[[group]]\nname=\"a\\n\"\naddresses=['::1']",
            "group 2: name",
        ),
        (
            "[[group]]\nname='b'\naddresses=[]",
            "group 'b' has no addresses",
        ),
        ("[[group]]\nname='b'\naddresses=['10.1.0']", "10.1.0"),
        (
            "[[group]]\nname='b'\naddresses=['fd00:7::1/64']",
            "in group 'home'",
        ),
        (
            "[[group]]\nname='b'\naddresses=['10.1.0.3']\nsplitt=true",
            "splitt",
        ),
        ("[[group]]\naddresses=['10.1.0.3']", "name"),
    ] {
        let fault = group(&format!("{home}{more}")).unwrap_err();
        assert!(fault.contains(says), "{more}: {fault}");
        assert!(!fault.contains('\n'), "{fault}");
    }
    assert_eq!(
        group(&format!(
            "{home}[[group]]\nname='b'\naddresses=['fd00:7::1']"
        )),
        Ok(2)
    );
}

const PLACES: &str = "[[node]]\naddress='self'\nx_m=0\ny_m=0\n\
                      [[node]]\naddress='02:00:00:00:00:01'\nx_m=300\ny_m=400\n";

#[test]
fn a_fault_of_a_place_is_named() {
    let node = |rest: &str| parse(&format!("{PLACES}[[node]]\naddress='10.1.0.3'\n{rest}"));
    let host = |rest: &str| parse(&format!("{PLACES}[[host]]\naddress='10.1.0.2'\n{rest}"));
    assert!(node("x_m=1\ny_m=2").is_ok());
    for (rest, says) in [
        ("x_m=1", "node 10.1.0.3 has no place"),
        ("x_m=1\nlatitude=2", "node 10.1.0.3 has no place"),
        ("x_m=1\ny_m=2e9", "y_m"),
        ("latitude=1\nlongitude=2", "degrees"),
        ("latitude=91\nlongitude=2", "latitude"),
        ("z_m=1", "z_m"),
    ] {
        let fault = node(rest).unwrap_err();
        assert!(fault.contains(says), "{rest}: {fault}");
    }
    for (rest, says) in [
        ("hop_m=[0]", "hop_m"),
        ("hop_m=[10]\nway=['02:00:00:00:00:01']", "both"),
        ("way=['10.1.0.9']", "10.1.0.9"),
        ("way=['self']", "self"),
        ("way=['relay']", "'relay' is no node"),
    ] {
        let fault = host(rest).unwrap_err();
        assert!(fault.contains(says), "{rest}: {fault}");
    }
    let many = format!("hop_m={:?}", vec![10.0; 33]);
    assert!(host(&many).unwrap_err().contains("32"));
    let twice = format!("{PLACES}{PLACES}");
    assert!(parse(&twice).unwrap_err().contains("twice"));
    let homeless = parse("[[node]]\naddress='10.1.0.3'\nx_m=1\ny_m=1").unwrap_err();
    assert!(homeless.contains("self"), "{homeless}");
}

#[test]
fn a_node_is_so_far_from_another() {
    let config = parse(PLACES).unwrap();
    let (here, there) = (&config.node[0], &config.node[1]);
    assert_eq!(there.from(here), Some((30_000, 40_000)));
    // 1290.66 m by the haversine formula on the same sphere.
    let config = parse(
        "[[node]]\naddress='self'\nlatitude=51.3356\nlongitude=12.3724\n\
         [[node]]\naddress='10.1.0.2'\nlatitude=51.3455\nlongitude=12.3821\n",
    )
    .unwrap();
    let (east, north) = config.node[1].from(&config.node[0]).unwrap();
    let metres = f64::from(east).hypot(f64::from(north)) / 100.0;
    assert!((1290.5..1290.8).contains(&metres), "{metres}");
    assert!(0 < east && east < north);
    // Across the date line it is no way round the globe.
    let config = parse(
        "[[node]]\naddress='self'\nlatitude=0\nlongitude=179.999\n\
         [[node]]\naddress='10.1.0.2'\nlatitude=0\nlongitude=-179.999\n",
    )
    .unwrap();
    let (east, _) = config.node[1].from(&config.node[0]).unwrap();
    assert!((22_200..22_300).contains(&east), "{east}");
}
