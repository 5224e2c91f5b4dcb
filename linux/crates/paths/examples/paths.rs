// SPDX-License-Identifier: GPL-2.0-only
//! Prints what the mesh knows of hosts: `paths IF [IP]...`. Exit status 1 when it knows nothing of
//! one.

use meshpace_paths::{Link, Sources};
use std::net::IpAddr;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

/// A host behind a router takes a second refresh, a count of hops a moment more.
const SECONDS: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let hosts: Result<Vec<IpAddr>, _> = arguments.iter().skip(1).map(|a| a.parse()).collect();
    let (Some(interface), Ok(hosts)) = (arguments.first(), hosts) else {
        eprintln!("usage: paths IF [IP]...");
        return ExitCode::from(2);
    };
    let (mut sources, findings) = Sources::survey(interface);
    for finding in findings {
        println!("{} {finding}", if finding.present { "+" } else { "-" });
    }
    for _ in 0..SECONDS {
        let done = |host: &IpAddr| {
            sources
                .lookup(*host)
                .is_some_and(|link| link.hops.is_some())
        };
        // All of them each time: the first lookup is what starts the counting.
        if hosts.iter().filter(|host| done(host)).count() == hosts.len() {
            break;
        }
        sleep(Duration::from_secs(1));
        if let Err(error) = sources.refresh() {
            eprintln!("paths: {error}");
        }
    }
    println!("{:?}", sources.first_hop().radio);
    let links: Vec<_> = hosts
        .iter()
        .map(|host| (host, sources.lookup(*host)))
        .collect();
    for (host, link) in &links {
        println!(
            "{host} {}",
            link.as_ref().map_or("unknown".into(), describe)
        );
    }
    if links.iter().all(|(_, link)| link.is_some()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn describe(link: &Link) -> String {
    let number = |value: Option<i64>| value.map_or("?".into(), |v| v.to_string());
    format!(
        "source={} hops={} kbps={} expected_kbps={} signal_dbm={} node={} next_hop={} via={}",
        link.source,
        number(link.hops.map(i64::from)),
        number(link.kbps.map(i64::from)),
        number(link.expected_kbps.map(i64::from)),
        number(link.first_hop.signal_dbm.map(i64::from)),
        link.node,
        link.next_hop,
        link.via.map_or("-".into(), |via| via.to_string())
    )
}
