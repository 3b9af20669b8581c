//! What of the API an operator may set.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::Failure;
use crate::engine::{VoiceAlias, VoiceAliases};
use crate::http::ApiSettings;

/// Options of the API.
#[derive(Debug, Args)]
pub struct ApiArgs {
    /// Another name of a voice, for clients that know only certain names; may be given several times
    #[arg(long, value_name = "NAME=VOICE")]
    voice_alias: Vec<VoiceAlias>,
    /// A YAML or JSON file that maps names to voices; --voice-alias wins over it
    #[arg(long, value_name = "FILE")]
    voice_aliases: Option<PathBuf>,
    /// Most items of a batch
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    batch_max_items: u32,
    /// Seconds a WebSocket session may take to send its configuration
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    ws_config_secs: u64,
    /// Seconds a WebSocket session may be idle, neither speaking nor spoken to
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    ws_idle_secs: u64,
}

impl ApiArgs {
    /// The other names of voices.
    pub fn aliases(&self) -> Result<Arc<VoiceAliases>, Failure> {
        let file = self.voice_aliases.as_deref().map(VoiceAliases::read).transpose().map_err(|error| Failure(error.to_string()))?;
        Ok(Arc::new(file.unwrap_or_default().with(self.voice_alias.iter().cloned())))
    }

    /// The limits of the endpoints.
    pub fn settings(&self) -> ApiSettings {
        ApiSettings {
            max_batch_items: self.batch_max_items as usize,
            session_config: Duration::from_secs(self.ws_config_secs),
            session_idle: Duration::from_secs(self.ws_idle_secs),
        }
    }
}
