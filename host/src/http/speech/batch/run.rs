//! The items at work.
//!
//! The items of each model are a queue, and lanes work it off: a lane holds a place in the model and speaks one item after the other. The
//! first lane has its place before anything is spoken, or the batch is refused; the others wait for theirs, as many as the model has slots
//! at most, so that a batch neither fails half-way for want of places nor takes all of those that wait in line.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, Stream, StreamExt, select_all};
use serde_json::{Map, Value};

use super::answer::Entry;
use super::budget::{Budget, MAX_SAMPLES, Share};
use super::merge::merge;
use super::request::Batch;
use crate::audio::Format;
use crate::engine::{Place, Served};
use crate::http::error::ApiError;
use crate::http::speech::validate::accept_by;
use crate::http::speech::whole::collect_while;
use crate::http::speech::{Accepted, Clip, Record, SpeechForm};
use crate::http::state::App;

/// The requests that are worked on at once hold a copy each of what their batch says for all: so many bytes of bodies at most.
const MAX_COPIED_BYTES: usize = 256 << 20;

/// An item and its number.
type Item = (usize, Map<String, Value>);
/// Results of a lane.
type Lane<'a> = Pin<Box<dyn Stream<Item = Entry> + Send + 'a>>;

/// The items of one model that nobody works on yet.
struct Queue {
    served: Arc<Served>,
    items: Mutex<VecDeque<Item>>,
}

impl Queue {
    fn items(&self) -> std::sync::MutexGuard<'_, VecDeque<Item>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all items share.
struct Work<'a> {
    app: &'a App,
    defaults: Map<String, Value>,
    budget: Budget,
}

/// Speaks all items of a batch, which came in a body of `body_len` bytes.
pub async fn speak(app: &App, batch: Batch, body_len: usize) -> Result<Vec<Entry>, ApiError> {
    let (queues, mut entries) = sort(app, batch.model.as_deref(), batch.items)?;
    let work = Work { app, defaults: batch.defaults, budget: Budget::new(MAX_SAMPLES) };
    let most = (MAX_COPIED_BYTES / body_len.max(1)).max(1);
    let mut lanes = Vec::new();
    let mut waiting = 0;
    for queue in &queues {
        let count = queue.items().len();
        queue.served.has_room()?;
        lanes.push(lane(&work, queue, Some(queue.served.enter()?)));
        lanes.extend((1..count.min(queue.served.slots()).min(most)).map(|_| lane(&work, queue, None)));
        waiting += count;
    }
    // Lanes that still wait for a place when all is done are dropped.
    entries.extend(select_all(lanes).take(waiting).collect::<Vec<_>>().await);
    Ok(entries)
}

/// The items of each model, and the results of those whose model cannot be had.
fn sort(app: &App, model: Option<&str>, items: Vec<Map<String, Value>>) -> Result<(Vec<Queue>, Vec<Entry>), ApiError> {
    let common = app.engine().find(model)?;
    let (mut queues, mut entries) = (Vec::<Queue>::new(), Vec::new());
    for (index, item) in items.into_iter().enumerate() {
        let served = match item.get("model").and_then(Value::as_str).filter(|model| !model.is_empty()) {
            Some(own) => app.engine().find(Some(own)),
            None => Ok(Arc::clone(&common)),
        };
        match served {
            Ok(served) => put(&mut queues, served, (index, item)),
            Err(error) => entries.push(Entry::new(index, Err(error.into()))),
        }
    }
    Ok((queues, entries))
}

fn put(queues: &mut Vec<Queue>, served: Arc<Served>, item: Item) {
    match queues.iter().find(|queue| Arc::ptr_eq(&queue.served, &served)) {
        Some(queue) => queue.items().push_back(item),
        None => queues.push(Queue { served, items: Mutex::new(VecDeque::from([item])) }),
    }
}

/// Speaks what is in a queue, one item after the other, from when there is a place.
fn lane<'a>(work: &'a Work<'a>, queue: &'a Queue, place: Option<Arc<Place>>) -> Lane<'a> {
    Box::pin(stream::unfold(place, move |place| async move {
        let place = match place {
            Some(place) => place,
            None => queue.served.enter_in_turn().await,
        };
        let (index, item) = queue.items().pop_front()?;
        let outcome = speak_item(work, queue, item, Arc::clone(&place)).await;
        Some((Entry::new(index, outcome), Some(place)))
    }))
}

async fn speak_item(work: &Work<'_>, queue: &Queue, item: Map<String, Value>, place: Arc<Place>) -> Result<(Clip, Format), ApiError> {
    let form = SpeechForm::read(merge(&work.defaults, item))?;
    let accepted = accept_by(work.app, Arc::clone(&queue.served), form).await?;
    let (format, mut record, mut share) = (accepted.wanted.format, Record::new(&accepted), work.budget.share());
    let mut closing = work.app.closing();
    let outcome = tokio::select! {
        biased;
        outcome = make(work.app, accepted, place, &record, &mut share) => outcome,
        _ = closing.wait_for(|closing| *closing) => Err(ApiError::stopping()),
    };
    match outcome {
        Ok(clip) => {
            share.keep();
            record.made(clip.samples);
            record.done();
            Ok((clip, format))
        }
        Err(error) => {
            record.failed(error.message());
            Err(error)
        }
    }
}

async fn make(app: &App, accepted: Accepted, place: Arc<Place>, record: &Record, share: &mut Share<'_>) -> Result<Clip, ApiError> {
    let (wanted, words) = (accepted.wanted, accepted.words.clone());
    let stream = accepted.speak_at(app, place).await?;
    record.warned(&stream.head.warnings);
    collect_while(stream, wanted, words, |samples| share.take(samples)).await
}
