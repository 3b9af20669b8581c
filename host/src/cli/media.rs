//! What reference audio may be fetched, from flags and from the reference's variables.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::Failure;
use crate::reference::{DecodeLimits, ReferenceSettings, SourceSettings};

/// Flags of reference audio.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reference audio")]
pub struct MediaArgs {
    /// Directory below which requests may name files as reference audio; may be given several times. Without it no file can be named
    #[arg(long, value_name = "DIR")]
    allowed_local_media_path: Vec<PathBuf>,
    /// The only hosts that reference audio is downloaded from; without it every public one
    #[arg(long, value_name = "HOST", num_args = 1.., value_delimiter = ',')]
    allowed_media_domains: Vec<String>,
    /// Also download from addresses that are not public, such as those of this network; anybody who may send requests can then reach them
    #[arg(long, env = "OMNI_HOST_ALLOW_PRIVATE_MEDIA", value_parser = FalseyValueParser::new())]
    allow_private_media: bool,
    /// MiB of memory for what models made of voices and clips
    #[arg(long, value_name = "MIB", default_value_t = 512, env = "OMNI_HOST_REFERENCE_CACHE_MB")]
    reference_cache_mb: usize,
    /// Folder of speakers' vectors, one .safetensors file a speaker, which requests name as voices; what is added there counts at once
    #[arg(long, value_name = "DIR", env = "TTS_PROFILES_DIR")]
    speaker_profiles: Option<PathBuf>,
}

impl MediaArgs {
    /// The settings, with what the environment says.
    pub fn settings(&self, variable: impl Fn(&str) -> Option<String>) -> Result<ReferenceSettings, Failure> {
        let read = Variables { variable: &variable };
        let plain = ReferenceSettings::default();
        let redirects = read.number("VLLM_MEDIA_URL_ALLOW_REDIRECTS")?.map_or(plain.source.redirects, |allowed: u8| match allowed {
            0 => 0,
            _ => plain.source.redirects,
        });
        let clip_mb: usize = read.number("VLLM_MAX_AUDIO_CLIP_FILESIZE_MB")?.unwrap_or(25);
        let download_mb: usize = read.number("VLLM_MAX_MEDIA_DOWNLOAD_SIZE_MB")?.unwrap_or(clip_mb);
        let bytes = clip_mb.min(download_mb).saturating_mul(1 << 20);
        let source = SourceSettings {
            local_roots: self.allowed_local_media_path.clone(),
            domains: self.allowed_media_domains.clone(),
            allow_private: self.allow_private_media,
            redirects,
            bytes,
            attempt: Duration::from_secs(read.number("VLLM_AUDIO_FETCH_TIMEOUT")?.unwrap_or(10_u16).into()),
            attempts: read.number("VLLM_MEDIA_FETCH_MAX_RETRIES")?.unwrap_or(plain.source.attempts),
            ..plain.source
        };
        let limits = DecodeLimits {
            encoded_bytes: bytes,
            decoded_seconds: read.number("VLLM_MAX_AUDIO_DECODE_DURATION_S")?.unwrap_or(plain.limits.decoded_seconds),
            decoded_samples: read.number("VLLM_MAX_AUDIO_DECODE_BYTES")?.map_or(plain.limits.decoded_samples, |bytes: u64| bytes / 4),
            ..plain.limits
        };
        let threads = read.number("VLLM_MEDIA_LOADING_THREAD_COUNT")?.unwrap_or(plain.threads);
        let feature_bytes = self.reference_cache_mb.saturating_mul(1 << 20);
        let profiles = self.speaker_profiles.clone();
        Ok(ReferenceSettings { source, limits, feature_bytes, threads, profiles, ..plain })
    }
}

struct Variables<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Variables<'_> {
    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = (self.variable)(name).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| Failure(format!("{name}: a number is expected, found '{text}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        media: MediaArgs,
    }

    fn settings(flags: &[&str], variables: &[(&str, &str)]) -> Result<ReferenceSettings, Failure> {
        let typed = Typed::try_parse_from(["omni-host"].iter().chain(flags)).expect("the flags are right");
        typed.media.settings(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn flags_and_variables_become_settings() {
        assert_eq!(settings(&[], &[]), Ok(ReferenceSettings::default()));
        let flags = [
            "--allowed-local-media-path",
            "/a",
            "--allowed-local-media-path",
            "/b",
            "--allowed-media-domains",
            "x.org,y.org",
            "--allow-private-media",
            "--reference-cache-mb",
            "1",
        ];
        let variables =
            [("VLLM_MEDIA_URL_ALLOW_REDIRECTS", "0"), ("VLLM_MAX_AUDIO_CLIP_FILESIZE_MB", "3"), ("VLLM_AUDIO_FETCH_TIMEOUT", "7")];
        let set = settings(&flags, &variables).expect("they are right");
        assert_eq!(set.source.local_roots, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(set.source.domains, ["x.org", "y.org"]);
        assert!(set.source.allow_private);
        assert_eq!((set.source.redirects, set.source.bytes, set.limits.encoded_bytes), (0, 3 << 20, 3 << 20));
        assert_eq!((set.source.attempt, set.feature_bytes), (Duration::from_secs(7), 1 << 20));
        assert!(settings(&[], &[("VLLM_AUDIO_FETCH_TIMEOUT", "soon")]).is_err());
    }
}
