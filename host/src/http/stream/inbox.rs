//! What the client has sent and the session has not worked off yet, in order.
//!
//! Whatever a message brings about (units, the end of an utterance, an error, the end of the session) takes its place behind what came
//! before, so a client sees answers in the order of its messages. Only `input.cancel` overtakes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::config::Config;
use super::end::End;
use super::event::Failure;
use super::limits::{MAX_WAITING_ANSWERS, MAX_WAITING_CHARS};
use super::protocol::{ClientMessage, Frame, Refusal};
use super::utterance::Unit;
use crate::engine::Engine;
use crate::text::segment::Segmenter;

const MID_UTTERANCE: &str = "session.config cannot be applied while an utterance is in progress; send input.done first";

/// One thing to do.
pub enum Step {
    /// Speak this.
    Speak(Unit),
    /// Tell that an utterance has ended.
    EndUtterance {
        /// Whether the client cancelled it.
        cancelled: bool,
    },
    /// Tell of a message that was refused.
    Complain(Failure),
    /// End the session.
    Close,
}

/// What taking a frame asks of the session at once.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing: it waits for its turn.
    Queued,
    /// To stop speaking.
    Cancelled,
}

/// Everything that waits.
#[derive(Default)]
pub struct Inbox {
    /// How to speak, and the text that waits for the end of its unit.
    input: Option<(Arc<Config>, Segmenter)>,
    /// Whether text has come since the last `input.done`.
    is_open: bool,
    /// Whether `session.close` has come, after which nothing counts.
    is_closed: bool,
    steps: VecDeque<Step>,
    /// Characters of the units among the steps.
    unit_chars: usize,
    /// Steps that are no units.
    answers: usize,
}

impl Inbox {
    /// Whether a `session.config` has come.
    pub fn is_configured(&self) -> bool {
        self.input.is_some()
    }

    /// Whether the session should read on. A client that only makes the server answer has to wait for its answers.
    pub fn has_room(&self) -> bool {
        self.answers < MAX_WAITING_ANSWERS
    }

    /// The next step.
    pub fn pop(&mut self) -> Option<Step> {
        let step = self.steps.pop_front()?;
        match &step {
            Step::Speak(unit) => self.unit_chars = self.unit_chars.saturating_sub(unit.chars()),
            _ => self.answers -= 1,
        }
        Some(step)
    }

    /// The first unit among the steps, in whatever utterance.
    pub fn next_unit(&mut self) -> Option<&mut Unit> {
        self.steps.iter_mut().find_map(|step| if let Step::Speak(unit) = step { Some(unit) } else { None })
    }

    /// Takes a text frame.
    pub fn take(&mut self, frame: &str, engine: &Engine) -> Result<Taken, End> {
        if self.is_closed {
            return Ok(Taken::Queued);
        }
        match Frame::read(frame) {
            Ok(frame) if !self.is_configured() => self.take_first(frame, engine).map(|()| Taken::Queued),
            Err(refusal) if !self.is_configured() => Err(End::Rejected(refusal.to_string())),
            frame => Ok(match frame.and_then(Frame::message) {
                Ok(message) => self.apply(message, engine),
                Err(refusal) => self.refuse(refusal),
            }),
        }
    }

    /// The first message has to be a valid configuration.
    fn take_first(&mut self, frame: Frame, engine: &Engine) -> Result<(), End> {
        let unexpected = format!("Expected session.config, got: {}", frame.kind);
        let Ok(ClientMessage::Config(members)) = frame.message() else { return Err(End::Rejected(unexpected)) };
        let config = Config::read(members, engine);
        config.map(|config| self.configure(config)).map_err(|error| End::Rejected(invalid_config(error.message())))
    }

    fn apply(&mut self, message: ClientMessage, engine: &Engine) -> Taken {
        match message {
            ClientMessage::Config(_) if self.is_open => self.complain(MID_UTTERANCE),
            ClientMessage::Config(members) => match Config::read(members, engine) {
                Ok(config) => self.configure(config),
                Err(error) => self.complain(invalid_config(error.message())),
            },
            ClientMessage::Text(text) => self.hear(&text),
            ClientMessage::Done => self.end_utterance(),
            ClientMessage::Cancel => {
                self.cancel();
                return Taken::Cancelled;
            }
            ClientMessage::Close => {
                self.is_closed = true;
                self.answer(Step::Close);
            }
        }
        Taken::Queued
    }

    fn configure(&mut self, config: Config) {
        let segmenter = Segmenter::new(config.granularity);
        self.input = Some((Arc::new(config), segmenter));
    }

    /// Takes in more text; all of a message or nothing.
    fn hear(&mut self, text: &str) {
        let Some((config, segmenter)) = &mut self.input else { return };
        let waiting = self.unit_chars + segmenter.pending().chars().count() + text.chars().count();
        if waiting > MAX_WAITING_CHARS {
            let message = format!("input.text refused: {waiting} characters would wait to be spoken, at most {MAX_WAITING_CHARS} may");
            return self.complain(message);
        }
        self.is_open |= !text.is_empty();
        for unit in segmenter.push(text) {
            let unit = Unit::new(unit, Arc::clone(config));
            self.unit_chars += unit.chars();
            self.steps.push_back(Step::Speak(unit));
        }
    }

    fn end_utterance(&mut self) {
        if let Some((config, segmenter)) = &mut self.input
            && let Some(rest) = segmenter.flush()
        {
            let unit = Unit::new(rest, Arc::clone(config));
            self.unit_chars += unit.chars();
            self.steps.push_back(Step::Speak(unit));
        }
        self.is_open = false;
        self.answer(Step::EndUtterance { cancelled: false });
    }

    /// Forgets all text. What was to be answered still is.
    fn cancel(&mut self) {
        if let Some((config, segmenter)) = &mut self.input {
            *segmenter = Segmenter::new(config.granularity);
        }
        self.is_open = false;
        self.unit_chars = 0;
        self.steps.retain(|step| !matches!(step, Step::Speak(_)));
        for step in &mut self.steps {
            if let Step::EndUtterance { cancelled } = step {
                *cancelled = true;
            }
        }
        self.answer(Step::EndUtterance { cancelled: true });
    }

    fn refuse(&mut self, refusal: Refusal) -> Taken {
        self.answer(Step::Complain(refusal.into()));
        Taken::Queued
    }

    fn complain(&mut self, message: impl Into<String>) {
        self.answer(Step::Complain(Failure::told(message)));
    }

    fn answer(&mut self, step: Step) {
        self.answers += 1;
        self.steps.push_back(step);
    }
}

fn invalid_config(reason: &str) -> String {
    format!("Invalid session config: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::stream::testing::engine;
    use serde_json::{Value, json};

    /// An inbox after these messages, and how the last one was taken.
    fn after(messages: &[Value]) -> (Inbox, Result<Taken, End>) {
        let (mut inbox, mut taken, engine) = (Inbox::default(), Ok(Taken::Queued), engine());
        for message in messages {
            taken = inbox.take(&message.to_string(), &engine);
        }
        (inbox, taken)
    }

    /// The steps, in short.
    fn steps(inbox: &mut Inbox) -> Vec<String> {
        let shown = |step| match step {
            Step::Speak(unit) => unit.text().to_owned(),
            Step::EndUtterance { cancelled } => if cancelled { "<cancelled>" } else { "<end>" }.to_owned(),
            Step::Complain(failure) => format!("<{}>", &failure.message[..7]),
            Step::Close => "<close>".to_owned(),
        };
        std::iter::from_fn(|| inbox.pop()).map(shown).collect()
    }

    fn config() -> Value {
        json!({"type": "session.config", "split_granularity": "sentence"})
    }

    fn text(text: &str) -> Value {
        json!({"type": "input.text", "text": text})
    }

    fn of(kind: &str) -> Value {
        json!({"type": kind})
    }

    #[test]
    fn messages_become_steps_in_their_order() {
        let (done, cancel, close) = (of("input.done"), of("input.cancel"), of("session.close"));
        let none = json!({"type": "session.config", "split_granularity": "none"});
        for (rule, messages, wanted) in [
            ("text waits for the end of its unit", vec![text("One. Tw"), text("o")], &["One."][..]),
            ("done flushes", vec![text("One. Tw"), text("o"), done.clone()], &["One.", "Two", "<end>"]),
            ("done without text only ends", vec![done.clone(), done.clone()], &["<end>", "<end>"]),
            ("close discards what waits", vec![text("One. Two"), close.clone()], &["One.", "<close>"]),
            ("nothing counts after close", vec![close, text("One."), done.clone(), cancel.clone()], &["<close>"]),
            ("an error keeps its place", vec![text("One. "), of("x"), done.clone()], &["One.", "<Unknown>", "<end>"]),
            ("cancel drops text", vec![text("One. Two"), cancel.clone(), text("Three"), done.clone()], &["<cancelled>", "Three", "<end>"]),
            (
                "every done is still answered",
                vec![text("One."), done.clone(), text("Two."), done.clone(), text("Three."), cancel],
                &["<cancelled>", "<cancelled>", "<cancelled>"],
            ),
            (
                "a config in the utterance is refused",
                vec![text("One. Two"), none.clone(), done.clone()],
                &["One.", "<session>", "Two", "<end>"],
            ),
            ("empty text opens no utterance", vec![text(""), none.clone(), text("One. Two. "), done.clone()], &["One. Two.", "<end>"]),
            (
                "a bad config keeps the old one",
                vec![json!({"type": "session.config", "speed": 9}), text("One. Two")],
                &["<Invalid>", "One."],
            ),
            ("a new config is whole", vec![of("session.config"), text("One. Two"), done], &["One. Two", "<end>"]),
        ] {
            let messages: Vec<Value> = std::iter::once(config()).chain(messages).collect();
            assert_eq!(steps(&mut after(&messages).0), wanted, "{rule}");
        }
    }

    #[test]
    fn the_first_message_has_to_be_a_config() {
        for (message, wanted) in [
            (of("input.text"), "Expected session.config, got: input.text"),
            (of("hello"), "Expected session.config, got: hello"),
            (json!({}), "Expected session.config, got: None"),
            (json!([]), "WebSocket messages must be JSON objects"),
            (json!({"type": "session.config", "speed": 9}), "Invalid session config: 1 validation error"),
        ] {
            let Err(End::Rejected(reason)) = after(&[message]).1 else { panic!("it is taken") };
            assert!(reason.starts_with(wanted), "{reason}");
        }
    }

    #[test]
    fn only_cancel_is_felt_at_once() {
        assert_eq!(after(&[config(), text("One. Two."), of("input.cancel")]).1, Ok(Taken::Cancelled));
        assert_eq!(after(&[config(), text("One. Two."), of("session.close")]).1, Ok(Taken::Queued));
    }

    #[test]
    fn text_is_bounded_and_what_was_spoken_makes_room() {
        let third = text(&format!("{}. ", "a".repeat(MAX_WAITING_CHARS / 3)));
        let (mut inbox, _) = after(&[config(), third.clone(), third.clone(), third.clone()]);
        assert_eq!(inbox.steps.len(), 3);
        assert!(matches!(&inbox.steps[2], Step::Complain(failure) if failure.message.starts_with("input.text refused")));
        inbox.pop();
        assert_eq!(inbox.take(&third.to_string(), &engine()), Ok(Taken::Queued));
        assert!(matches!(inbox.steps.back(), Some(Step::Speak(_))));
    }

    #[test]
    fn a_flood_of_questions_waits_for_its_answers() {
        let flood: Vec<Value> = std::iter::once(config()).chain((0..MAX_WAITING_ANSWERS).map(|_| of("input.done"))).collect();
        let (mut inbox, _) = after(&flood);
        assert!(!inbox.has_room());
        inbox.pop();
        assert!(inbox.has_room());
    }

    #[test]
    fn the_next_unit_is_found_across_utterances() {
        let (mut inbox, _) = after(&[config(), of("input.done"), text("One. Two. ")]);
        assert_eq!(inbox.next_unit().map(|unit| unit.text().to_owned()).as_deref(), Some("One."));
    }
}
