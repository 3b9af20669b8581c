//! Where each model stands, for `/ready`, for the log and for the refusals.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::observe::LoadProgress;

/// A model's state under its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// The model's id, or what was asked for while that is not known.
    pub model: String,
    /// Its state.
    pub state: ModelState,
}

/// Where a model stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelState {
    /// On its way.
    Loading {
        /// What is being done.
        phase: String,
        /// How much of it.
        done: u64,
        /// Of how much; 0 when unknown.
        total: u64,
    },
    /// It speaks.
    Ready,
    /// It did not load.
    Failed(String),
    /// It loaded and stopped working.
    Unhealthy(String),
}

/// The state of one model, shared by whoever changes or reads it.
#[derive(Clone)]
pub struct Loading(Arc<Shared>);

struct Shared {
    status: Mutex<ModelStatus>,
    cancelled: AtomicBool,
    progress: Arc<dyn LoadProgress>,
}

impl Loading {
    /// A model that begins to load under a provisional name.
    pub fn new(model: &str, progress: Arc<dyn LoadProgress>) -> Self {
        let state = ModelState::Loading { phase: "opening".to_owned(), done: 0, total: 0 };
        let status = Mutex::new(ModelStatus { model: model.to_owned(), state });
        Self(Arc::new(Shared { status, cancelled: AtomicBool::new(false), progress }))
    }

    /// Whether both are the state of the same model.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn with<T>(&self, act: impl FnOnce(&mut ModelStatus) -> T) -> T {
        act(&mut self.0.status.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The state now.
    pub fn status(&self) -> ModelStatus {
        self.with(|status| status.clone())
    }

    /// Gives the model its final name.
    pub fn rename(&self, model: &str) {
        self.with(|status| status.model = model.to_owned());
    }

    /// Notes how far the load has come. Ignored once it has ended.
    pub fn update(&self, phase: &str, done: u64, total: u64) {
        let model = self.with(|status| {
            let ModelState::Loading { .. } = status.state else { return None };
            status.state = ModelState::Loading { phase: phase.to_owned(), done, total };
            Some(status.model.clone())
        });
        if let Some(model) = model {
            self.0.progress.update(&model, phase, done, total);
        }
    }

    /// Ends the load, well or with a reason. A load that was given up stays given up.
    pub fn end(&self, outcome: Result<(), String>) -> bool {
        let model = self.with(|status| {
            let ModelState::Loading { .. } = status.state else { return None };
            status.state = match &outcome {
                Ok(()) => ModelState::Ready,
                Err(reason) => ModelState::Failed(reason.clone()),
            };
            Some(status.model.clone())
        });
        let Some(model) = model else { return false };
        let told = match &outcome {
            Ok(()) => Ok(()),
            Err(reason) => Err(reason.as_str()),
        };
        self.0.progress.done(&model, told);
        true
    }

    /// Tells the plugin, when it asks, that nobody waits for this load any more.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
    }

    /// Whether [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Marks a model that had stopped working as one that speaks again.
    pub fn recovered(&self) {
        self.with(|status| {
            if let ModelState::Unhealthy(_) = status.state {
                status.state = ModelState::Ready;
            }
        });
    }

    /// Marks a model that speaks as one that no longer does.
    pub fn unhealthy(&self, reason: &str) {
        self.with(|status| status.state = ModelState::Unhealthy(reason.to_owned()));
    }
}
