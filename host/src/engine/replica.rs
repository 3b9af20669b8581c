//! One replica of a stage: whether it lives, how to reach its thread, and whose work it has.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omni_plugin_api::{Device, SeqId};

use super::SpeechError;
use super::job::Job;
use super::stage::Command;
use super::watchdog::{Heartbeat, Pulse};

/// Faults in a row, without a request that ended well, after which a replica is closed for a while.
const FAULTS_IN_A_ROW: usize = 3;

/// The longest a replica stays closed before it is tried again.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);

/// Threads of a replica that may hang in a plugin at once: past that it is not tried again before one of them returns.
const MOST_STUCK: usize = 3;

/// A replica of a stage. It outlives the threads that work for it.
pub struct Replica {
    /// Number of the stage.
    pub stage: usize,
    /// Its own number within the stage.
    pub index: usize,
    /// Where it runs.
    pub device: Device,
    inside: Mutex<Inside>,
    faults: AtomicUsize,
    stuck: Arc<AtomicUsize>,
}

struct Inside {
    state: State,
    jobs: BTreeMap<SeqId, Arc<Job>>,
    back_off: Duration,
}

enum State {
    Alive(Life),
    Closed { reason: String, until: Duration },
    Opening { reason: String },
}

/// A thread that works for a replica, from its start to its end.
#[derive(Clone)]
pub struct Life {
    /// Its queue.
    pub commands: Sender<Command>,
    /// Its sign of life.
    pub heartbeat: Arc<Heartbeat>,
    /// Set when the replica has given the thread up: nothing that it still does counts.
    pub is_over: Arc<AtomicBool>,
}

impl Replica {
    /// A replica without a thread.
    pub fn new(stage: usize, index: usize, device: Device) -> Arc<Self> {
        let state = State::Opening { reason: "it was not opened yet".to_owned() };
        let inside = Mutex::new(Inside { state, jobs: BTreeMap::new(), back_off: Duration::ZERO });
        Arc::new(Self { stage, index, device, inside, faults: AtomicUsize::new(0), stuck: Arc::default() })
    }

    fn inside(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in. `false` when it does not live.
    pub fn enter(&self, job: &Arc<Job>) -> bool {
        let mut inside = self.inside();
        let is_alive = matches!(inside.state, State::Alive(_));
        if is_alive {
            inside.jobs.insert(job.seq, Arc::clone(job));
        }
        is_alive
    }

    /// Forgets a job that it is done with.
    pub fn leave(&self, seq: SeqId) {
        self.inside().jobs.remove(&seq);
    }

    /// Jobs it has.
    pub fn load(&self) -> usize {
        self.inside().jobs.len()
    }

    /// Tells its thread something. Without a thread nobody listens: the jobs of one that ended have failed already.
    pub fn send(&self, command: Command) {
        if let State::Alive(life) = &self.inside().state {
            let _ = life.commands.send(command);
        }
    }

    /// A thread works for it from now on.
    pub fn come_up(&self, life: Life) {
        self.faults.store(0, Ordering::Release);
        self.inside().state = State::Alive(life);
    }

    /// Whether it takes work; if not, why.
    pub fn check_alive(&self) -> Result<(), String> {
        match &self.inside().state {
            State::Alive(_) => Ok(()),
            State::Closed { reason, .. } | State::Opening { reason } => Err(reason.clone()),
        }
    }

    /// What it is doing; `name` is that of its stage.
    pub fn pulse(&self, name: &str) -> Pulse {
        let inside = self.inside();
        let (call, quiet, closed) = match &inside.state {
            State::Alive(life) => (life.heartbeat.under_way(), life.heartbeat.quiet(), None),
            State::Closed { reason, .. } | State::Opening { reason } => (None, Duration::ZERO, Some(reason.clone())),
        };
        let (stage, replica, device, sequences) = (self.stage, self.index, self.device, inside.jobs.len());
        Pulse { stage, name: name.to_owned(), replica, device, call, quiet, closed, sequences }
    }

    /// Counts a fault; `true` when there were too many in a row.
    pub fn count_fault(&self) -> bool {
        self.faults.fetch_add(1, Ordering::AcqRel) + 1 >= FAULTS_IN_A_ROW
    }

    /// Notes a request that ended well.
    pub fn note_success(&self) {
        self.faults.store(0, Ordering::Release);
        self.inside().back_off = Duration::ZERO;
    }

    /// Gives its thread up and closes it until it is tried again, each time later. Its jobs, which fail, are given back.
    pub fn close(&self, reason: &str, now: Duration, first_back_off: Duration) -> Vec<Arc<Job>> {
        let mut inside = self.inside();
        inside.back_off = (inside.back_off * 2).clamp(first_back_off, LONGEST_BACK_OFF.max(first_back_off));
        let until = now.saturating_add(inside.back_off);
        let before = std::mem::replace(&mut inside.state, State::Closed { reason: reason.to_owned(), until });
        if let State::Alive(life) = before {
            life.is_over.store(true, Ordering::Release);
            let _ = life.commands.send(Command::Stop);
        }
        std::mem::take(&mut inside.jobs).into_values().collect()
    }

    /// Ends its thread for good.
    pub fn stop(&self) {
        if let State::Alive(life) = &self.inside().state {
            life.is_over.store(true, Ordering::Release);
            let _ = life.commands.send(Command::Stop);
        }
    }

    /// The call that its thread has been in for `limit` or longer.
    pub fn stuck_in(&self, limit: Duration) -> Option<&'static str> {
        let State::Alive(life) = &self.inside().state else { return None };
        let (call, since) = life.heartbeat.under_way()?;
        (since >= limit).then_some(call)
    }

    /// Whether it lives, has no work, and its thread is in no call.
    pub fn is_at_rest(&self) -> bool {
        let inside = self.inside();
        inside.jobs.is_empty() && matches!(&inside.state, State::Alive(life) if life.heartbeat.under_way().is_none())
    }

    /// Whether it is time to open it again; whoever gets `true` does it.
    pub fn begin_opening(&self, now: Duration) -> bool {
        let mut inside = self.inside();
        match &inside.state {
            State::Closed { reason, until } if *until <= now && self.stuck.load(Ordering::Acquire) < MOST_STUCK => {
                inside.state = State::Opening { reason: reason.clone() };
                true
            }
            _ => false,
        }
    }

    /// Counts a thread of its own that entered a plugin, until the guard is dropped: one that hangs never comes back from there.
    pub fn guard_thread(&self) -> ThreadGuard {
        self.stuck.fetch_add(1, Ordering::AcqRel);
        ThreadGuard(Arc::clone(&self.stuck))
    }

    /// Fails jobs that it had.
    pub fn fail(jobs: Vec<Arc<Job>>, error: &SpeechError) {
        for job in jobs {
            job.fail(error.clone());
        }
    }
}

/// A thread of a replica, alive as long as this is.
pub struct ThreadGuard(Arc<AtomicUsize>);

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
