// SPDX-License-Identifier: GPL-2.0-only
//! `meshpace gateway`: sets everything up, keeps it going once a second, puts everything back.
pub mod again;
pub mod clean;
mod doors;
mod report;
mod second;
mod steps;
mod task;
mod tries;

use std::cell::RefCell;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::errors::{bail, Error, Result};
use crate::base::system::{self, now_ns};
use crate::config::{Law, OptionPolicy, ReleaseChoice, Rights, Source};
use crate::hosts::registry::Registry;
use crate::kernel::intf::{self, mp_limits, mp_settings, MP_AIR_STEP_NS};
use crate::kernel::programs::{Maps, Programs};
use crate::kernel::record::{Recording, Running};
use crate::policy::Policy;
use crate::release::holding::Holding;
use crate::setup::changes::Changes;
use crate::setup::machine::Machine;
use crate::setup::release::{self, Release, SetUp};
use crate::setup::watch::Watch;
use crate::show::control;
use crate::show::files::Files;
use again::Handed;
use doors::Doors;
use steps::Steps;
use task::Task;
use tries::{Asked, Tries};

/// The BPF programs hear of new settings so often, and shares of the air are reckoned.
const ROUND: Duration = Duration::from_nanos(MP_AIR_STEP_NS as u64);
const TICK: Duration = Duration::from_secs(1);
const NO_WAY: &str = "this machine has no way to hold packets (see meshpace doctor)";

/// When the next second is over.
struct Ticks {
    next: Instant,
}

impl Ticks {
    fn new(now: Instant) -> Self {
        Self { next: now + TICK }
    }

    /// Once a second. What was missed while the process stood still is not made up for: the law's second
    /// would be a tenth of one.
    fn is_due(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let after = self.next + TICK;
        self.next = if after > now { after } else { now + TICK };
        true
    }
}

/// A gateway at work.
pub struct Gateway {
    task: Task,
    maps: Arc<Maps>,
    machine: Machine,
    holding: Holding,
    hosts: Registry,
    policy: Policy,
    tries: Tries,
    started: Instant,
    complaint: Option<String>,
    /// what waits goes first, nothing is paced any more
    ending: bool,
    /// ends when packets no longer come by
    recording: Option<Running>,
    doors: Doors,
    /// the last that goes, with its lock
    files: Files,
}

/// What the caller of [`Gateway::run`] sends.
pub enum Order {
    Stop,
    Reload,
    Ask(Asked),
}

/// Why [`Gateway::run`] returned.
pub enum End {
    Stopped,
    /// the program has to start again, with this
    Again(Box<Handed>),
}

impl Gateway {
    /// Sets everything up. On an error everything is as it was.
    /// `record`: the file to write a trace into; `handed`: by the program that was here before; `orders`: to the loop.
    pub fn start(
        source: Source,
        replace: bool,
        record: Option<&Path>,
        mut handed: Handed,
        orders: Sender<Order>,
    ) -> Result<Self> {
        let mut task = Task::read(source, handed.release())?;
        let missing = system::missing_capabilities();
        if !missing.is_empty() {
            bail!("not permitted: {} missing; run as root", missing.join(", "));
        }
        system::refuse_another_clock()?;
        let limits = mp_limits {
            l2_bytes: system::link_header_bytes(task.mesh())?,
            max_flows: task.config().max_flows,
            records: record.is_some().into(),
            ..Default::default()
        };
        let recording = record.map(Recording::open).transpose()?;
        let mut programs = Programs::load(limits)?;
        // Only now: a gateway that is replaced goes on where this one cannot start.
        let lock = control::lock(task.mesh(), replace)?;
        let inherited = std::mem::take(&mut handed.sockets);
        let history = handed.history.clone();
        let carrier = tries::carrier(orders);
        let files = Files::new(task.mesh(), lock, inherited, history, carrier);
        let mut changes = Changes::open(task.mesh())?.whatever_can_be_noted();
        match changes.undo_all() {
            Ok(0) => {}
            Ok(_) => log::info!("cleaned up after a gateway that ended without"),
            Err(error) => log::warn!("a gateway that ended left something behind: {error:#}"),
        }
        task.find_wired();
        let maps = Arc::new(programs.maps()?);
        let recording = match recording {
            Some(recording) => Some(recording.start(programs.records()?)?),
            None => None,
        };
        if let Some(recording) = &recording {
            maps.record(recording.recorder());
        }
        let watch = Watch::new(task.mesh(), limits, &programs)?;
        let holding = RefCell::new(Holding::default());
        let release = release::set_up(
            task.release(),
            &mut SetUp {
                mesh: task.mesh(),
                programs: &mut programs,
                changes: &mut changes,
                serve_queue: &mut || holding.borrow_mut().serve_queue(task.config(), &maps),
                serve_classes: &mut |ifb| holding.borrow_mut().serve_classes(&maps, ifb),
            },
        );
        let (sources, findings) = meshpace_paths::Sources::survey(task.mesh());
        findings.iter().for_each(|finding| log::info!("{finding}"));
        let policy = Policy::new(task.config().fairness, now_ns());
        let mut gateway = Self {
            doors: Doors::of(task.config()),
            machine: Machine::new(task.mesh(), watch, changes),
            task,
            maps,
            holding: holding.into_inner(),
            hosts: Registry::new(sources),
            policy,
            tries: Tries::after(handed),
            started: Instant::now(),
            complaint: None,
            ending: false,
            recording,
            files,
        };
        // From here on an error puts back what was set up.
        let (release, means) = release?;
        gateway.machine.releases_by(release, means);
        if release == Release::Observe && gateway.task.release() != ReleaseChoice::Observe {
            gateway.machine.rest(NO_WAY.into());
        }
        gateway.begin()?;
        Ok(gateway)
    }

    /// The second half of the start, on a gateway that is put back when it fails.
    fn begin(&mut self) -> Result<()> {
        let config = self.task.config();
        self.hosts.configure(&self.maps, config);
        self.policy.set_rights(Rights::of(config));
        if self.machine.holds() {
            self.policy.can_wake(self.machine.port().clone());
        }
        if self.machine.holds() && config.local_retransmission {
            let budget = u64::from(config.retransmit_cache_mib) << 20;
            let port = self.machine.port().clone();
            self.holding.keep_copies(&self.maps, port, budget)?;
        }
        self.write_settings()?;
        let rules = self.machine.rules().cloned();
        self.holding.start_heart(self.maps.clone(), rules)?;
        self.machine.attach()?;
        self.tick()?;
        self.files.serve()?;
        self.doors.open(&self.files);
        for lack in self.hosts.lacks(self.task.config()) {
            log::info!("law map: {lack}");
        }
        system::notify_ready();
        log::info!(
            "ready: {}, law {}, release {}, attached by {}, wired side {}",
            self.task.mesh(),
            self.task.config().law,
            self.machine.release(),
            self.machine.attached(),
            task::wired_words(self.task.wired()),
        );
        Ok(())
    }

    fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    fn settings(&self) -> mp_settings {
        let config = self.task.config();
        let shares = self.policy.shares();
        let holds = self.machine.holds();
        let is_paced = config.law != Law::Off;
        let by = self.machine.release();
        let in_kernel = by == Release::Htb && is_paced;
        let holds_here = matches!(by, Release::Nfqueue | Release::Htb) && is_paced && !self.ending;
        let held_at = self.machine.held_at();
        let has_lines = !shares.caps().is_empty() || self.holding.has_host_lines();
        mp_settings {
            law: config.parameters(config.law),
            default_hops: config.default_path.hops,
            default_kbps: (config.default_path.mbps * 1e3) as u32,
            default_link: self.hosts.default_link(),
            pace: (is_paced && !self.ending).into(),
            option: self.option_policy() as u8,
            local_retransmission: (holds && config.local_retransmission).into(),
            // What must not overtake what waits in a host's line follows it there, also after the last cap.
            aliases: (has_lines && !shares.aliases().is_empty()).into(),
            udp_waits: (!shares.caps().is_empty()).into(),
            silences: (holds_here && !shares.busy().hosts.is_empty()).into(),
            blanks: holds.into(),
            holds: match held_at {
                0 => intf::mp_holds_MP_HOLDS_NOTHING as u8,
                _ if in_kernel && !self.ending => intf::mp_holds_MP_HOLDS_ALL as u8,
                _ => intf::mp_holds_MP_HOLDS_ORDER as u8,
            },
            held_at,
            host_lines: has_lines.into(),
            shared: (holds && shares.air().is_shared()).into(),
            // Where nothing is held, nothing is lost either.
            unanswered_bytes_per_s: if holds {
                self.policy.strangers_bytes_per_s()
            } else {
                0
            },
            changes: self.maps.changes(),
        }
    }

    fn option_policy(&self) -> intf::mp_option_policy {
        match self.task.config().option {
            _ if !self.machine.holds() => intf::mp_option_policy_MP_OPTION_NEVER,
            OptionPolicy::Never => intf::mp_option_policy_MP_OPTION_NEVER,
            OptionPolicy::Asked => intf::mp_option_policy_MP_OPTION_ASKED,
            OptionPolicy::Always => intf::mp_option_policy_MP_OPTION_ALWAYS,
        }
    }

    fn write_settings(&self) -> Result<()> {
        let udp_waits = !self.policy.shares().caps().is_empty();
        let config = self.task.config();
        let law = config.parameters(config.law);
        // Intervals that nobody measures any more are obeyed by nobody.
        let pass = self.ending || !self.machine.holds();
        self.holding.set(udp_waits, law, pass);
        self.maps.set_settings(&self.settings())
    }

    /// Runs until told to stop, or until the program has to start again.
    pub fn run(&mut self, orders: &Receiver<Order>) -> Result<End> {
        let mut ticks = Ticks::new(Instant::now());
        let mut steps = Steps::new(Instant::now());
        loop {
            match orders.recv_timeout(ROUND) {
                Ok(Order::Stop) => return Ok(End::Stopped),
                Ok(Order::Reload) => self.reload(),
                Ok(Order::Ask(asked)) => self.carry_out(&asked),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the signals' thread has ended"),
            }
            let (began, before) = (Instant::now(), system::thread_cpu());
            if !steps.is_early(began) && ticks.is_due(began) {
                self.files.look_after();
                self.doors.open(&self.files);
                self.machine.note_again();
                self.task.find_wired_again(began);
                if let Err(error) = self.tick() {
                    self.complain(Some(error));
                }
                steps.took(began, Duration::ZERO);
            } else if self.shares_air() && steps.is_due(began) {
                if let Err(error) = self.step() {
                    self.complain(Some(error));
                }
                steps.took(began, system::thread_cpu().saturating_sub(before));
            }
            self.judge();
            if let Some(handed) = self.next() {
                return Ok(End::Again(Box::new(handed)));
            }
            self.look_after_mesh();
            self.watch_rules();
            if let Err(error) = self.write_settings() {
                self.complain(Some(error));
            }
        }
    }

    /// What failed once in a round may work in the next: it is said, once, and the gateway goes on.
    fn complain(&mut self, error: Option<Error>) {
        let complaint = error.map(|error| format!("{error:#}"));
        if let Some(text) = complaint.as_ref().filter(|_| complaint != self.complaint) {
            log::error!("{text}; the gateway goes on without");
        }
        self.complaint = complaint;
    }

    fn reload(&mut self) {
        if self.task.read_again() {
            self.hosts.configure(&self.maps, self.task.config());
            self.policy.set_rights(Rights::of(self.task.config()));
            log::info!("configuration read again");
        }
    }

    fn look_after_mesh(&mut self) {
        let seen = [
            intf::mp_counter_MP_COUNT_SEEN_COME,
            intf::mp_counter_MP_COUNT_SEEN_LEAVE,
        ];
        let seen = || seen.map(|counter| self.maps.counter(counter));
        if !self.machine.watch_mesh(seen) {
            return;
        }
        // What flows and the retransmit cache hold has another link-layer header.
        for (key, _) in self.maps.all_flows().unwrap_or_default() {
            self.maps.remove_flow(&key);
        }
    }

    fn watch_rules(&mut self) {
        let gone = || self.holding.has_missed_rules();
        self.machine.watch_rules(gone, || {
            let left = [
                intf::mp_counter_MP_COUNT_LEFT4,
                intf::mp_counter_MP_COUNT_LEFT6,
            ];
            let left = left.map(|counter| self.maps.counter(counter));
            (left, self.holding.let_go())
        });
    }

    /// What the kernel holds leaves at the rates that it has; no departure is further ahead than core/'s horizon.
    fn drain_classes(&self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_nanos(intf::MP_HORIZON_NS as u64);
        while self.maps.waiting()? > 0 && Instant::now() < deadline {
            self.write_settings()?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Pacing ends, and what waits leaves in its order, before anything is taken away.
    fn end_pacing(&mut self) -> Result<()> {
        self.ending = true;
        self.write_settings()?;
        match self.machine.set_up() {
            Release::Htb => self.drain_classes(),
            Release::Nfqueue => {
                self.holding.wait_until_empty();
                Ok(())
            }
            Release::Observe => Ok(()),
        }
    }
}

impl Drop for Gateway {
    /// Puts everything back: what waits first, then programs, rules and the ifb.
    fn drop(&mut self) {
        if let Err(error) = self.end_pacing() {
            log::warn!("packets that waited may be lost: {error:#}");
        }
        self.machine.put_back();
        self.holding.end_queue();
        self.files.remove_sockets();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_were_missed_are_not_made_up_for() {
        let began = Instant::now();
        let mut ticks = Ticks::new(began);
        let mut due_within = |from: u32, rounds: u32| {
            let late = |round| began + ROUND * (from + round) + ROUND / 10;
            (0..rounds).filter(|n| ticks.is_due(late(*n))).count()
        };
        // A second is ten rounds, and what a round takes beside adds up to nothing.
        assert_eq!(due_within(1, 300), 30);
        // Stopped for a minute, and a half of a second.
        assert_eq!(due_within(906, 1), 1, "what there is to do is done at once");
        assert_eq!(due_within(907, 50), 5);
    }
}
