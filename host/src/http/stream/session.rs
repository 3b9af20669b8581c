//! A session from its first message to its last.

use std::pin::pin;

use omni_plugin_api::FinishReason;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::end::End;
use super::event::{Event, Failure, Place, UnitDone};
use super::inbox::{Inbox, Step, Taken};
use super::limits::PING_INTERVAL;
use super::socket::{Incoming, Socket};
use super::sounding::Sound;
use super::speaking::{Progress, Speaking};
use super::utterance::Ready;
use crate::engine::SpeechHead;
use crate::http::error::ApiError;
use crate::http::state::App;

/// A session.
pub struct Session {
    app: App,
    socket: Socket,
    inbox: Inbox,
    speaking: Option<Speaking>,
    place: Place,
    /// Since when there has been neither a message nor anything to say.
    quiet_since: Instant,
    pings: Interval,
    stop: Stop,
}

/// What a session hears of the end of the server.
struct Stop {
    draining: watch::Receiver<bool>,
    closing: watch::Receiver<bool>,
    is_draining: bool,
}

/// What a session waits for.
enum Happened {
    Received(Result<Incoming, End>),
    Progressed(Progress),
    Quiet,
    PingDue,
    Draining,
    Closing,
}

impl Session {
    /// A session on a connection that was just made.
    pub fn new(app: App, socket: Socket) -> Self {
        let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stop = Stop { draining: app.draining(), closing: app.closing(), is_draining: false };
        let (inbox, place) = (Inbox::default(), Place::default());
        Self { app, socket, inbox, speaking: None, place, quiet_since: Instant::now(), pings, stop }
    }

    /// Serves it to its end.
    pub async fn run(mut self) {
        let end = loop {
            if let Err(end) = self.turn().await {
                break end;
            }
        };
        // What the engine still works on is let go before the client is waited for.
        self.speaking = None;
        self.inbox = Inbox::default();
        tracing::info!(utterances = self.place.utterance_index, code = end.close_frame().code, reason = %end, "session ended");
        if end.is_told() && self.socket.tell(&Event::Error(Failure::told(end.to_string()))).await.is_err() {
            return;
        }
        self.socket.close(&end).await;
    }

    async fn turn(&mut self) -> Result<(), End> {
        self.advance().await?;
        match self.wait().await {
            Happened::Received(incoming) => self.receive(incoming?).await,
            Happened::Progressed(progress) => self.progress(progress).await,
            Happened::Quiet if self.inbox.is_configured() => Err(End::Idle),
            Happened::Quiet => Err(End::NoConfig),
            Happened::PingDue => self.socket.ping().await,
            Happened::Draining => {
                self.stop.is_draining = true;
                Ok(())
            }
            Happened::Closing => self.cut_off().await,
        }
    }

    /// Takes steps until a unit is to be spoken or nothing is left to do.
    async fn advance(&mut self) -> Result<(), End> {
        while self.speaking.is_none() {
            let step = self.inbox.pop();
            let is_new_work = match &step {
                None => true,
                Some(Step::Speak(unit)) => !unit.is_begun(),
                Some(_) => false,
            };
            if self.stop.is_draining && is_new_work {
                return Err(End::Stopping);
            }
            let Some(step) = step else { return Ok(()) };
            self.step(step).await?;
            self.quiet_since = Instant::now();
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), End> {
        match step {
            Step::Speak(unit) => match unit.config().obstacle(self.app.engine()) {
                None => self.speaking = Some(Speaking::new(unit, &self.app)),
                Some(obstacle) => {
                    self.place.sentence_index += 1;
                    self.socket.tell(&Event::Error(Failure::told(obstacle))).await?;
                }
            },
            Step::EndUtterance { cancelled } => {
                let Place { utterance_index, sentence_index: total_sentences } = self.place;
                self.place = Place { utterance_index: utterance_index + 1, sentence_index: 0 };
                self.socket.tell(&Event::UtteranceDone { utterance_index, total_sentences, cancelled }).await?;
            }
            Step::Complain(failure) => self.socket.tell(&Event::Error(failure)).await?,
            Step::Close => return Err(End::Asked),
        }
        Ok(())
    }

    async fn wait(&mut self) -> Happened {
        let is_speaking = self.speaking.is_some();
        let settings = self.app.settings();
        let patience = if self.inbox.is_configured() { settings.session_idle } else { settings.session_config };
        let Stop { draining, closing, is_draining } = &mut self.stop;
        let drains = pin!(async { drop(draining.wait_for(|draining| *draining).await) });
        let closes = pin!(async { drop(closing.wait_for(|closing| *closing).await) });
        tokio::select! {
            incoming = self.socket.receive(), if self.inbox.has_room() => Happened::Received(incoming),
            progress = next(&mut self.speaking), if is_speaking => Happened::Progressed(progress),
            () = sleep_until(self.quiet_since + patience), if !is_speaking => Happened::Quiet,
            _ = self.pings.tick(), if self.inbox.has_room() => Happened::PingDue,
            () = drains, if !*is_draining => Happened::Draining,
            () = closes => Happened::Closing,
        }
    }

    async fn receive(&mut self, incoming: Incoming) -> Result<(), End> {
        let Incoming::Text(text) = incoming else { return Ok(()) };
        self.quiet_since = Instant::now();
        match self.inbox.take(&text, self.app.engine())? {
            Taken::Queued => {
                self.look_ahead();
                Ok(())
            }
            Taken::Cancelled => self.cancel().await,
        }
    }

    /// Gives the next unit to the engine while the current one is being sent.
    fn look_ahead(&mut self) {
        let is_sounding = self.speaking.as_ref().is_some_and(|speaking| speaking.is_started);
        if is_sounding
            && !self.stop.is_draining
            && let Some(unit) = self.inbox.next_unit()
        {
            unit.begin(&self.app);
        }
    }

    async fn progress(&mut self, progress: Progress) -> Result<(), End> {
        match progress {
            Progress::Ready(Ok(Ready::Whole(clip))) => {
                self.start(Some(&clip.head)).await?;
                self.send(clip.bytes.into()).await?;
                self.done(Some(clip.finish.reason)).await
            }
            Progress::Ready(Ok(Ready::Stream(sounding))) => {
                self.start(Some(sounding.head())).await?;
                if let Some(speaking) = &mut self.speaking {
                    speaking.sounds(sounding);
                }
                Ok(())
            }
            Progress::Ready(Err(error)) => {
                if let Some(speaking) = &mut self.speaking
                    && speaking.tries_again(&error, &self.app)
                {
                    return Ok(());
                }
                self.start(None).await?;
                self.fail(&error).await
            }
            Progress::Sound(Sound::Frame(audio)) => self.send(audio).await,
            Progress::Sound(Sound::Chunk(chunk)) => {
                self.has_sent(chunk.bytes);
                self.socket.tell(&Event::Chunk { place: self.place, chunk }).await
            }
            Progress::Failed(error) => self.fail(&error).await,
            Progress::Complete(reason) => self.done(reason).await,
        }
    }

    /// Announces the unit.
    async fn start(&mut self, head: Option<&SpeechHead>) -> Result<(), End> {
        let Some(speaking) = &mut self.speaking else { return Ok(()) };
        speaking.is_started = true;
        let (unit, place) = (&speaking.unit, self.place);
        let rate = head.map(|head| head.sample_rate_hz);
        let event = Event::Start {
            place,
            sentence_text: unit.text().to_owned(),
            format: unit.config().format().name(),
            sample_rate: rate.or_else(|| unit.config().sample_rate_hz(self.app.engine())),
            word_timestamps: unit.config().word_timestamps,
            warnings: head.map_or_else(Vec::new, |head| head.warnings.clone()),
        };
        self.look_ahead();
        self.socket.tell(&event).await
    }

    async fn send(&mut self, audio: bytes::Bytes) -> Result<(), End> {
        self.has_sent(audio.len());
        self.socket.send_audio(audio).await
    }

    fn has_sent(&mut self, bytes: usize) {
        if let Some(speaking) = &mut self.speaking {
            speaking.sent_bytes += bytes;
        }
    }

    async fn done(&mut self, reason: Option<FinishReason>) -> Result<(), End> {
        let Some(speaking) = self.speaking.take() else { return Ok(()) };
        let done = UnitDone::whole(self.place, speaking.sent_bytes).because(reason);
        self.end_unit(done).await
    }

    async fn fail(&mut self, error: &ApiError) -> Result<(), End> {
        let Some(speaking) = self.speaking.take() else { return Ok(()) };
        error.count();
        let failure = Failure::of_unit(self.place, error, speaking.sent_bytes);
        self.socket.tell(&Event::Error(failure)).await?;
        self.end_unit(UnitDone { error: true, ..UnitDone::whole(self.place, speaking.sent_bytes) }).await
    }

    async fn cancel(&mut self) -> Result<(), End> {
        let Some(speaking) = self.speaking.take() else { return Ok(()) };
        if !speaking.is_started {
            self.place.sentence_index += 1;
            return Ok(());
        }
        self.end_unit(UnitDone { cancelled: true, ..UnitDone::whole(self.place, speaking.sent_bytes) }).await
    }

    async fn end_unit(&mut self, done: UnitDone) -> Result<(), End> {
        self.place.sentence_index += 1;
        self.quiet_since = Instant::now();
        self.socket.tell(&Event::Done(done)).await
    }

    /// Ends the unit that is being spoken, because the server does not wait for it any longer.
    async fn cut_off(&mut self) -> Result<(), End> {
        if self.speaking.as_ref().is_some_and(|speaking| !speaking.is_started) {
            self.start(None).await?;
        }
        self.fail(&ApiError::stopping()).await?;
        Err(End::Stopping)
    }
}

/// Waits for the unit that is being spoken; for ever if there is none.
async fn next(speaking: &mut Option<Speaking>) -> Progress {
    match speaking {
        Some(speaking) => speaking.next().await,
        None => std::future::pending().await,
    }
}
