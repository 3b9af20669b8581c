//! The engine's own workers under a time that moves from event to event: what a load would do to a model whose stages take so long.
//!
//! Nothing here decides anything. Doors, routes, schedules, chunks, credits and faults are those of the engine; only threads, the clock and
//! the stages are replaced. One seed of visits gives one course of events, so that a property that fails can be run again.

mod listener;
mod model;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use omni_plugin_api::{Extent, Placement, PluginError, Prompt, Usage};

pub use self::listener::{Listener, Manner, Outcome, Visit};
use self::model::{Books, Modelled, info};
pub use self::model::{Cost, ModelledStage, Script};
use super::admission::{Admission, DoorLimits};
use super::clock::Clock;
use super::job::{Job, JobParts, Jobs};
use super::measures::{Arrival, ModelMeasures};
use super::pipeline::{Patience, Pipeline, PipelineParts};
use super::stage::{StageWorker, Submitted, open_within};
use super::stream::{SpeechStream, StreamParts};
use super::{Loading, Pacing, SpeechHead, StageSettings, watchdog};
use crate::observe::Silent;

/// Turns without a step that the workers may take in a row at one moment: more means that they go round in circles.
const MOST_TURNS: usize = 100_000;

/// How long somebody who has stopped to read waits before it looks what has become of its stream: longer than the engine has patience.
const STALL: Duration = Duration::from_secs(300);

/// How often the watchdog looks.
const TICK: Duration = Duration::from_secs(1);

/// What is simulated.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    /// Talker and codec.
    pub stages: [ModelledStage; 2],
    /// What a deploy file would decide about them.
    pub settings: Vec<StageSettings>,
    /// Requests that may wait for a slot.
    pub max_queue: usize,
    /// Who comes.
    pub visits: Vec<Visit>,
    /// When a replica of a stage dies: the time, the stage, the replica.
    pub deaths: Vec<(Duration, usize, usize)>,
}

/// What came of it.
pub struct Course {
    /// Everybody who came, in the order of the scenario.
    pub listeners: Vec<Listener>,
    /// What the engine did wrong.
    pub complaints: Vec<String>,
    /// When the last thing happened.
    pub end: Duration,
    /// Whether the talker took the sequences in the order in which they came.
    pub is_first_come_first_served: bool,
    /// Steps of each stage.
    pub steps: [usize; 2],
    /// Time by the machine's clock in which the workers were at work: what the engine's own code takes, without those who listen.
    pub worked: Duration,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives(usize),
    Reads(usize),
    Leaves(usize),
    Looks(usize),
    Steps(usize),
    /// A worker has set itself an alarm.
    Rings,
    Dies(usize, usize),
    Tick,
}

struct Seat {
    /// Gone once its replica has given it up and it is outside the stage.
    worker: Option<StageWorker>,
    under_way: Option<Submitted>,
    alarm: Option<Duration>,
}

struct Simulation {
    clock: Clock,
    pipeline: Arc<Pipeline>,
    door: Arc<Admission>,
    measures: ModelMeasures,
    books: Arc<Books>,
    seats: Vec<Seat>,
    listeners: Vec<Listener>,
    events: BinaryHeap<Reverse<(Duration, usize, Event)>>,
    planned: usize,
    complaints: Vec<String>,
    steps: [usize; 2],
    worked: Duration,
}

/// Runs a scenario to its end.
pub fn run(scenario: Scenario) -> Result<Course, PluginError> {
    let mut simulation = Simulation::new(scenario)?;
    while let Some(Reverse((at, _, event))) = simulation.events.pop() {
        simulation.clock.advance_to(at);
        simulation.happen(event);
        simulation.settle();
    }
    Ok(simulation.finish())
}

impl Simulation {
    fn new(scenario: Scenario) -> Result<Self, PluginError> {
        let Scenario { stages, settings, max_queue, visits, deaths } = scenario;
        let (clock, books) = (Clock::moved(), Arc::new(Books::default()));
        let second = Duration::from_secs(1);
        let parts = PipelineParts {
            model: Box::new(Modelled { stages, books: Arc::clone(&books) }),
            info: info(),
            id: "modelled".to_owned(),
            jobs: Arc::new(Jobs::default()),
            loading: Loading::new("modelled", Arc::new(Silent)),
            patience: Patience { call: 30 * second, open_stage: 600 * second, reopen: 5 * second, slow_reader: 60 * second },
            placement: Placement::default(),
            settings,
            clock: clock.clone(),
        };
        let (pipeline, workers) = Pipeline::open(parts)?;
        let door = Admission::new(DoorLimits { running: pipeline.slots(), waiting: max_queue, promised_s: None });
        let seats = workers.into_iter().map(|worker| Seat { worker: Some(worker), under_way: None, alarm: None }).collect();
        let listeners: Vec<Listener> = visits.into_iter().map(Listener::new).collect();
        let (events, complaints) = (BinaryHeap::new(), Vec::new());
        let measures = ModelMeasures::new("modelled", 2, 100, 1);
        let mut simulation = Self {
            clock,
            pipeline,
            door,
            measures,
            books,
            seats,
            listeners,
            events,
            planned: 0,
            complaints,
            steps: [0; 2],
            worked: Duration::ZERO,
        };
        for index in 0..simulation.listeners.len() {
            simulation.plan(simulation.listeners[index].visit.at, Event::Arrives(index));
        }
        for (at, stage, replica) in deaths {
            simulation.plan(at, Event::Dies(stage, replica));
        }
        simulation.plan(TICK, Event::Tick);
        Ok(simulation)
    }

    /// Of two things at one time the one that was planned first happens first.
    fn plan(&mut self, at: Duration, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrives(index) => self.arrive(index),
            Event::Reads(_) | Event::Rings => {}
            Event::Leaves(index) if self.listeners[index].stream.is_some() => self.listeners[index].end(Outcome::Left),
            Event::Leaves(_) => {}
            Event::Looks(index) => self.listeners[index].look(self.clock.now()),
            Event::Steps(index) => {
                let seat = &mut self.seats[index];
                if let (Some(worker), Some(submitted)) = (&mut seat.worker, seat.under_way.take()) {
                    let begun = Instant::now();
                    worker.take_waiting();
                    worker.end_turn(submitted);
                    self.worked += begun.elapsed();
                }
            }
            Event::Dies(stage, replica) => {
                let dying = self.pipeline.replicas().find(|other| (other.stage, other.index) == (stage, replica)).cloned();
                if let Some(dying) = dying.filter(|replica| replica.check_alive().is_ok()) {
                    self.pipeline.close(&dying, "died, as told");
                }
            }
            Event::Tick => self.tick(),
        }
    }

    /// What the watchdog's thread does now and then, for as long as anything may still happen.
    fn tick(&mut self) {
        watchdog::end_the_overdue(&self.pipeline);
        let now = self.clock.now();
        let closed: Vec<_> = self.pipeline.replicas().filter(|replica| replica.begin_opening(now)).cloned().collect();
        for replica in closed {
            match open_within(&self.pipeline, &replica) {
                Ok(opened) => {
                    let worker = StageWorker::new(&self.pipeline, &replica, opened);
                    self.seats.push(Seat { worker: Some(worker), under_way: None, alarm: None });
                    self.pipeline.look_after();
                }
                Err(error) => self.complaints.push(error.message),
            }
        }
        let is_over = self.listeners.iter().all(|listener| listener.stream.is_none()) && self.events.is_empty();
        if !is_over {
            self.plan(now + TICK, Event::Tick);
        }
    }

    fn arrive(&mut self, index: usize) {
        let now = self.clock.now();
        let Visit { script, is_whole, manner, timeout, .. } = self.listeners[index].visit.clone();
        match self.start(&script, is_whole, timeout.map(|timeout| now + timeout)) {
            Ok(stream) => self.listeners[index].stream = Some(stream),
            Err(super::SpeechError::Overloaded { .. }) => self.listeners[index].outcome = Outcome::Refused,
            Err(error) => self.listeners[index].outcome = Outcome::Failed(error),
        }
        match manner {
            Manner::Leaves(after) => self.plan(now + after, Event::Leaves(index)),
            Manner::Stalls(_) => self.plan(now + STALL, Event::Looks(index)),
            Manner::Eager | Manner::Slow(_) => {}
        }
    }

    fn start(&self, script: &Script, is_whole: bool, deadline: Option<Duration>) -> Result<SpeechStream, super::SpeechError> {
        let place = Arc::new(self.door.enter()?);
        let prompt = Prompt::of(script).map_err(|error| self.pipeline.failed(&error.message))?;
        let (job, ends) = Job::new(JobParts {
            seq: Pipeline::next_seq(),
            prompt,
            extent: Extent { prompt_tokens: script.prompt_tokens, max_new_tokens: u64::from(script.frames) },
            pacing: Pacing { is_whole, first_units: None },
            stages: 2,
            longest_s: 3_600,
            deadline,
            place: Arc::downgrade(&place),
            clock: self.clock.clone(),
            measures: self.measures.begin(Arrival::now(), Usage::default(), 0),
        });
        let head = SpeechHead { sample_rate_hz: 0, channels: 1, usage: Default::default(), warnings: Vec::new() };
        let pipeline = Arc::clone(&self.pipeline);
        let stream = SpeechStream::new(StreamParts { head, job: Arc::clone(&job), ends, pipeline, place, characters: 0 });
        self.pipeline.begin(&job)?;
        Ok(stream)
    }

    /// Lets everybody do what they can do now.
    fn settle(&mut self) {
        for _ in 0..MOST_TURNS {
            let begun = Instant::now();
            let has_worked = (0..self.seats.len()).filter(|seat| self.turn(*seat)).count() > 0;
            self.worked += begun.elapsed();
            let has_read = (0..self.listeners.len()).filter(|index| self.read(*index)).count() > 0;
            if !has_worked && !has_read {
                self.set_alarms();
                return self.check();
            }
        }
        self.complaints.push("the workers go round in circles".to_owned());
        self.events.clear();
    }

    /// Notes when workers that sleep want to be woken.
    fn set_alarms(&mut self) {
        for index in 0..self.seats.len() {
            let seat = &mut self.seats[index];
            let sleeper = seat.worker.as_ref().filter(|_| seat.under_way.is_none());
            let alarm = sleeper.and_then(StageWorker::alarm);
            if alarm.is_some() && alarm != seat.alarm {
                seat.alarm = alarm;
                self.plan(alarm.unwrap_or_default(), Event::Rings);
            }
        }
    }

    /// Begins a worker's turn if there is anything to do. Whether there was.
    fn turn(&mut self, index: usize) -> bool {
        let seat = &mut self.seats[index];
        let Some(worker) = seat.worker.as_mut().filter(|_| seat.under_way.is_none()) else { return false };
        worker.take_waiting();
        if worker.is_over() {
            seat.worker = None;
            return true;
        }
        if !worker.can_step() {
            return false;
        }
        seat.under_way = worker.begin_turn();
        if worker.holds_ended() {
            self.complaints.push("a sequence that ended kept its slot for another step".to_owned());
        }
        if seat.under_way.is_some() {
            self.steps[worker.place().0] += 1;
            let at = self.clock.now() + Duration::from_micros(self.books.cost_us());
            self.plan(at, Event::Steps(index));
        }
        true
    }

    fn read(&mut self, index: usize) -> bool {
        let now = self.clock.now();
        let listener = &mut self.listeners[index];
        let has_read = listener.read(now);
        let next = listener.next_read;
        if has_read && next > now && listener.stream.is_some() {
            self.plan(next, Event::Reads(index));
        }
        has_read
    }

    /// What must always hold.
    fn check(&mut self) {
        let workers = || self.seats.iter().filter_map(|seat| seat.worker.as_ref());
        let (taken, held) = (workers().map(|worker| worker.taken().0).sum::<usize>(), self.books.slots());
        let mut found = Vec::new();
        if taken != held {
            found.push(format!("the engine counts {taken} slots that are taken, the stages {held}"));
        }
        for worker in workers() {
            let (rules, (slots, kv_tokens)) = (worker.rules(), worker.taken());
            if slots > rules.slots || (rules.kv_tokens > 0 && kv_tokens > rules.kv_tokens) {
                found.push(format!("{slots} slots and {kv_tokens} tokens are taken, there are {} and {}", rules.slots, rules.kv_tokens));
            }
        }
        self.complaints.extend(found);
    }

    /// What must hold at the end: nothing is left of anybody.
    fn finish(mut self) -> Course {
        let pending = self.listeners.iter().filter(|listener| listener.outcome == Outcome::Pending).count();
        let loads: usize = self.pipeline.replicas().map(|replica| replica.load()).sum();
        let workers = self.seats.iter().filter_map(|seat| seat.worker.as_ref());
        let taken = workers.fold((0, 0), |sum, worker| (sum.0 + worker.taken().0, sum.1 + worker.taken().1));
        let left = [("requests without an end", pending), ("slots", taken.0), ("tokens of the cache", taken.1 as usize)];
        let left = left.into_iter().chain([("jobs of replicas", loads), ("jobs", self.pipeline.jobs.count())]);
        let left = left.chain([("places at the door", self.door.running() + self.door.waiting())]);
        let left: Vec<String> = left.filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what} are left")).collect();
        self.complaints.extend(left);
        let complaints = self.listeners.iter().filter_map(|listener| listener.complaint.clone());
        self.complaints.extend(complaints);
        let is_first_come_first_served = self.books.admitted().is_sorted();
        let (listeners, complaints, steps, worked) = (self.listeners, self.complaints, self.steps, self.worked);
        Course { listeners, complaints, end: self.clock.now(), is_first_come_first_served, steps, worked }
    }
}
