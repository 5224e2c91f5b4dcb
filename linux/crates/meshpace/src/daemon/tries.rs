// SPDX-License-Identifier: GPL-2.0-only
//! A try: a gateway that observes paces for a while, and observes again by itself: when its time is over, when it is told
//! to, or when pacing made things worse. Only this process knows of it, so that one that dies leaves none.
use std::sync::mpsc::{sync_channel, Sender, SyncSender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::again::{Handed, Pacing};
use super::{Gateway, Order, NO_WAY};
use crate::base::errors::{usage, Error, Result};
use crate::base::system::now_ns;
use crate::config::{Law, ReleaseChoice};
use crate::policy::compare::{Compare, Side};
use crate::setup::release::Release;
use crate::show::files::CarryOut;
use crate::show::requests::{self, Reply, Request};
use crate::show::tries::{span, Ended, Row, Running};

const NS_PER_S: u64 = 1_000_000_000;
/// Longer, it would compare one day with another. That less than two minutes compare nothing is for the command to say.
const MOST_S: u64 = 24 * 3600;

/// What is not begun by then is not begun: the rest of its patience is for the doing.
const TO_BEGIN: Duration = Duration::from_secs(requests::PATIENCE.as_secs() - 1);

/// A request, and who waits for what came of it.
pub struct Asked {
    request: Request,
    reply: SyncSender<Reply>,
    /// later, who asked has been told that nothing came of it
    until: Instant,
}

/// Carries requests to the main loop, for the thread that answers.
pub fn carrier(orders: Sender<Order>) -> CarryOut {
    Arc::new(move |request| {
        let (reply, answer) = sync_channel(1);
        let until = Instant::now() + TO_BEGIN;
        let sent = orders.send(Order::Ask(Asked {
            request,
            reply,
            until,
        }));
        let silent = || Reply::Refused {
            text: "the gateway is busy; see: meshpace status".into(),
        };
        sent.map_or_else(
            |_| silent(),
            |()| {
                answer
                    .recv_timeout(requests::PATIENCE)
                    .unwrap_or_else(|_| silent())
            },
        )
    })
}

/// What the gateway knows of tries.
#[derive(Default)]
pub struct Tries {
    pub compare: Compare,
    pacing: Option<Pacing>,
    ended: Option<Ended>,
    /// what is done as soon as the program can start again
    next: Option<Handed>,
}

impl Tries {
    pub fn after(handed: Handed) -> Self {
        Self {
            compare: Compare::after(handed.before),
            pacing: handed.pacing,
            ended: handed.ended,
            next: None,
        }
    }

    pub fn running(&self) -> Option<Running> {
        let pacing = self.pacing.as_ref()?;
        let left = Duration::from_nanos(pacing.until_ns.saturating_sub(now_ns()));
        Some(Running {
            number: pacing.number,
            left_s: left.as_secs_f64(),
        })
    }

    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    fn handed(&self, pacing: Option<Pacing>) -> Handed {
        Handed {
            pacing,
            before: self.compare.before(),
            ended: self.ended.clone(),
            ..Handed::default()
        }
    }

    /// The try is over.
    fn end(&mut self, why: String, retreated: bool) {
        let Some(pacing) = self.pacing.take() else {
            return;
        };
        let (hosts, all) = self.compare.rows();
        let paced = Duration::from_nanos(now_ns().saturating_sub(pacing.began_ns));
        let ended = Ended {
            number: pacing.number,
            why,
            retreated,
            paced_s: paced.as_secs_f64(),
            hosts: hosts.into_iter().map(Row::from).collect(),
            all: all.into(),
        };
        match retreated {
            true => log::warn!("observes again: {}", ended.why),
            false => log::info!("observes again: {}", ended.why),
        }
        ended
            .table()
            .lines()
            .skip(1)
            .for_each(|line| log::info!("{line}"));
        self.ended = Some(ended);
        self.next = Some(self.handed(None));
    }
}

fn refused(error: &Error) -> Reply {
    Reply::Refused {
        text: format!("{error:#}"),
    }
}

fn done(text: impl Into<String>, number: u64) -> Reply {
    Reply::Done {
        text: text.into(),
        number,
    }
}

impl Gateway {
    /// Does what it was told, and says so.
    pub(super) fn carry_out(&mut self, asked: &Asked) {
        if Instant::now() > asked.until {
            return;
        }
        let reply = match asked.request {
            Request::Try { seconds } => self.begin_try(seconds),
            Request::Stop => self.stop_try(),
            Request::File => self.file(),
            Request::Stay => self.stay(),
        };
        // Who asked may have left.
        let _ = asked
            .reply
            .try_send(reply.unwrap_or_else(|error| refused(&error)));
    }

    fn begin_try(&mut self, seconds: u64) -> Result<Reply> {
        if let Some(running) = self.tries.running() {
            return Err(usage(format!(
                "a try goes on for another {}; end it first: meshpace try --stop",
                span(running.left_s)
            )));
        }
        if !(1..=MOST_S).contains(&seconds) {
            return Err(usage(format!(
                "{seconds} s is out of range; give at most 24h"
            )));
        }
        if self.tries.next.is_some() {
            return Err(usage(
                "the gateway is about to begin or end a try; ask again in a second",
            ));
        }
        if self.task.release() != ReleaseChoice::Observe {
            return Err(usage(format!(
                "the gateway on {} paces already (release {}); nothing is to be tried",
                self.task.mesh(),
                self.machine.release()
            )));
        }
        self.may_begin_to_pace()?;
        self.task.can_start(Some(ReleaseChoice::Auto))?;
        let now = now_ns();
        let pacing = Pacing {
            number: now,
            began_ns: now,
            until_ns: now + seconds * NS_PER_S,
        };
        let left = span(seconds as f64);
        log::info!("a try: paces for {left}, then observes again");
        self.tries.next = Some(self.tries.handed(Some(pacing)));
        Ok(done(
            format!(
                "{} is paced for {left}, then observed again",
                self.task.mesh()
            ),
            pacing.number,
        ))
    }

    /// Whether a program that paces may take this one's place.
    fn may_begin_to_pace(&self) -> Result<()> {
        if self.task.config().law == Law::Off {
            return Err(usage(
                "law = \"off\" paces nothing; set law = \"even\" and start the gateway again",
            ));
        }
        if self.is_recorded() {
            return Err(usage(
                "a trace is written (--record), which ends when pacing begins; start the gateway without",
            ));
        }
        Ok(())
    }

    /// The file that is to say how packets are released.
    fn file(&self) -> Result<Reply> {
        if self.tries.pacing.is_none() && self.task.release() == ReleaseChoice::Observe {
            self.may_begin_to_pace()?;
        }
        let path = self.task.release_file()?;
        Ok(Reply::File { path })
    }

    fn stop_try(&mut self) -> Result<Reply> {
        if let Some(pacing) = self.tries.pacing {
            self.tries.end("it was stopped".into(), false);
            return Ok(done(
                "the try is over, the gateway observes again",
                pacing.number,
            ));
        }
        if let Some(pacing) = self.tries.next.as_ref().and_then(|next| next.pacing) {
            self.tries.next = None;
            return Ok(done("the try has not begun", pacing.number));
        }
        let paces = self.task.release() != ReleaseChoice::Observe;
        Err(usage(match (paces, self.task.release_file()) {
            (false, _) => format!("no try goes on: the gateway on {} observes", self.task.mesh()),
            (true, Ok(file)) => format!(
                "no try goes on: the configuration says to pace; write release = \"observe\" into {} and start the gateway again",
                file.display()
            ),
            (true, Err(_)) => "no try goes on: the command line says to pace; start the gateway with --observe".into(),
        }))
    }

    /// The file says so already, for the next start.
    fn stay(&mut self) -> Result<Reply> {
        self.task.release_file()?;
        self.task.says_to_pace()?;
        if self.tries.pacing.take().is_some() {
            log::info!("the try is over, and the gateway goes on pacing");
            return Ok(done("the gateway goes on pacing", 0));
        }
        if self.task.release() == ReleaseChoice::Observe {
            self.may_begin_to_pace()?;
            self.task.can_start(None)?;
            log::info!("the gateway paces from now on");
            self.tries.next = Some(self.tries.handed(None));
        }
        Ok(done("the gateway paces from now on", 0))
    }

    /// Which time it is that is looked at; None: packets pass for a reason of their own.
    pub(super) fn side(&self) -> Option<Side> {
        match (self.task.release(), self.machine.release()) {
            (ReleaseChoice::Observe, _) => Some(Side::Before),
            (_, Release::Observe) => None,
            _ => Some(Side::Paced),
        }
    }

    /// Ends a try whose time is over, or that made things worse.
    pub(super) fn judge(&mut self) {
        let Some(pacing) = self.tries.pacing else {
            return;
        };
        if self.task.config().retreat {
            if let Some((worse, of)) = self.tries.compare.verdict() {
                let why = format!(
                    "pacing made it worse: {worse} of {of} hosts at work got less than half of what they had before"
                );
                return self.tries.end(why, true);
            }
        }
        // Two clocks are compared; what is paced, and how, comes from core/.
        if now_ns() >= pacing.until_ns {
            self.tries.end("its time is over".into(), false);
        } else if self.machine.set_up() == Release::Observe {
            self.tries.end(NO_WAY.into(), false);
        }
    }

    /// What the program that starts in this one's place is handed, once it can start: until then packets pass.
    pub(super) fn next(&mut self) -> Option<Handed> {
        let next = self.tries.next.take()?;
        if let Err(error) = self.task.can_start(next.release()) {
            self.machine.rest(format!(
                "the program has to start again for what comes next, and cannot: {error:#}"
            ));
            self.tries.next = Some(next);
            return None;
        }
        Some(Handed {
            sockets: self.files.hand_over(),
            history: self.files.history(),
            ..next
        })
    }
}
