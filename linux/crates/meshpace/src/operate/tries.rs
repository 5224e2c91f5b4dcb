// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace try`: a gateway that observes paces for a while. The gateway itself keeps the time; this program looks on, and
//! may be ended at any moment.
use std::time::{Duration, Instant};

use crate::base::errors::{bail, Result};
use crate::base::output::print;
use crate::cli::TryArgs;
use crate::operate::release_line;
use crate::show::control;
use crate::show::requests::{self, Reply, Request};
use crate::show::status::Status;
use crate::show::tries::Ended;

/// A gateway that starts again answers within seconds; systemd starts one that died within a few more (RestartSec=2).
const SILENCE: Duration = Duration::from_secs(60);

pub fn run(arguments: &TryArgs) -> Result<()> {
    let mesh = control::chosen(arguments.mesh.mesh.as_deref())?;
    if arguments.stay {
        return stay(&mesh);
    }
    let request = match arguments.stop {
        true => Request::Stop,
        false => Request::Try {
            seconds: arguments.time_s,
        },
    };
    let Reply::Done { text, number } = requests::ask(&mesh, &request)? else {
        bail!("the gateway on {mesh} is of another version; start it again");
    };
    print(&format!("{text}.\n"))?;
    if !arguments.stop {
        print("It ends by itself, whatever becomes of this terminal. At once: meshpace try --stop. For good: meshpace try --stay.\n")?;
    }
    look_on(&mesh, number)
}

/// The file first: whatever then happens to the gateway, its next start paces.
fn stay(mesh: &str) -> Result<()> {
    let Reply::File { path } = requests::ask(mesh, &Request::File)? else {
        bail!("the gateway on {mesh} is of another version; start it again");
    };
    let changed = release_line::have_paced(&path)?;
    let said = match changed {
        true => "now says release = \"auto\"",
        false => "says to pace already",
    };
    print(&format!("{} {said}.\n", path.display()))?;
    if let Reply::Done { text, .. } = requests::ask(mesh, &Request::Stay)? {
        print(&format!("{text}.\n"))?;
    }
    Ok(())
}

/// What has become of a try.
enum Found {
    GoesOn,
    Over(Box<Ended>),
    /// the gateway knows of none
    Lost,
    /// it goes on, for ever
    Stays,
}

fn find(status: Status, number: u64) -> Found {
    let ended = status.latest_try.filter(|ended| ended.number == number);
    if let Some(ended) = ended {
        return Found::Over(Box::new(ended));
    }
    match (&status.trying, status.release.as_str()) {
        (Some(running), _) if running.number == number => Found::GoesOn,
        (None, "observe") | (Some(_), _) => Found::Lost,
        (None, _) => Found::Stays,
    }
}

/// Until the try is over.
fn look_on(mesh: &str, number: u64) -> Result<()> {
    let mut heard = Instant::now();
    // The program starts again before the try begins, and tells of it from then on.
    let mut begun = false;
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let found = match control::ask(Some(mesh)) {
            Ok(status) if status.mesh.is_empty() => continue, // it is about to be told
            Ok(status) => find(status, number),
            Err(_) if heard.elapsed() < SILENCE => continue,
            Err(error) => return Err(error),
        };
        match found {
            Found::Over(ended) => {
                return print(&format!("The gateway on {mesh} observes again: {}", ended.table()));
            }
            Found::GoesOn => (begun, heard) = (true, Instant::now()),
            Found::Stays => return print("The gateway goes on pacing.\n"),
            Found::Lost if begun || heard.elapsed() >= SILENCE => bail!(
                "the gateway on {mesh} was started anew meanwhile, so the try is over: it observes; its log says why"
            ),
            Found::Lost => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::tries::Running;

    #[test]
    fn what_has_become_of_a_try() {
        let observes = Status {
            mesh: "bat0".into(),
            release: "observe".into(),
            ..Status::default()
        };
        let running = |number| {
            Some(Running {
                number,
                left_s: 9.0,
            })
        };
        let ended = |number| Ended {
            number,
            ..Ended::default()
        };
        let paces = Status {
            release: "htb".into(),
            ..observes.clone()
        };
        let is = |status: Status| match find(status, 7) {
            Found::GoesOn => "goes on",
            Found::Over(_) => "over",
            Found::Lost => "lost",
            Found::Stays => "stays",
        };
        assert_eq!(is(observes.clone()), "lost");
        assert_eq!(is(paces.clone()), "stays");
        let latest_try = Some(ended(6));
        assert_eq!(
            is(Status {
                latest_try,
                trying: running(7),
                ..paces.clone()
            }),
            "goes on"
        );
        assert_eq!(
            is(Status {
                trying: running(8),
                ..paces
            }),
            "lost"
        );
        let latest_try = Some(ended(7));
        assert_eq!(
            is(Status {
                latest_try,
                ..observes
            }),
            "over"
        );
    }
}
