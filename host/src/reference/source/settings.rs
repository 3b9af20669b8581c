//! What may be fetched, and how long that may take.

use std::path::PathBuf;
use std::time::Duration;

/// What may be fetched, and how long that may take.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceSettings {
    /// Directories below which files of this machine may be read; none forbids it.
    pub local_roots: Vec<PathBuf>,
    /// The only hosts that are fetched from; none allows all.
    pub domains: Vec<String>,
    /// Whether addresses that are not public may be connected to.
    pub allow_private: bool,
    /// Most redirects that are followed.
    pub redirects: usize,
    /// Most bytes of an encoded clip.
    pub bytes: usize,
    /// Time for the first attempt; each further one has four times as long, within `patience`.
    pub attempt: Duration,
    /// Most attempts.
    pub attempts: u32,
    /// Time for all attempts and redirects together.
    pub patience: Duration,
}

impl Default for SourceSettings {
    fn default() -> Self {
        Self {
            local_roots: Vec::new(),
            domains: Vec::new(),
            allow_private: false,
            redirects: 3,
            bytes: 25 << 20,
            attempt: Duration::from_secs(10),
            attempts: 3,
            patience: Duration::from_secs(60),
        }
    }
}
