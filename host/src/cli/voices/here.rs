//! Voices in a store, without a server.

use serde_json::Value;

use super::{AddArgs, Failure, Outcome, Place, read};
use crate::config::Environment;
use crate::reference::{DecodeLimits, decode};
use crate::voices::mime;
use crate::voices::mix::{self, Part};
use crate::voices::{self, NewVoice, Record, Sample, VoiceError, VoiceName, Voices};

/// A store.
pub struct Here(Voices);

impl Here {
    /// Opens a place, or the one that the environment names.
    pub fn open(place: Option<&str>) -> Result<Self, Failure> {
        let environment = Environment::here().map_err(|error| Failure(error.to_string()))?;
        let (usual, rules) = voices::settings(&environment);
        let place = place.unwrap_or(&usual);
        let store = voices::open_store(place).map_err(|error| Failure(format!("'{place}' cannot be opened: {error}")))?;
        let voices = Voices::new(store, rules, Box::new(|_| ()));
        voices.refresh().map_err(|error| Failure(format!("'{place}' cannot be read: {error}")))?;
        Ok(Self(voices))
    }

    fn register(&self, new: &NewVoice) -> Result<String, Failure> {
        let record = self.0.register(new).map_err(|error| failed(&error))?;
        Ok(record.name.clone())
    }

    fn load(&self, name: &str) -> Result<(std::sync::Arc<Record>, Sample), Failure> {
        let found = self.0.load(name).map_err(|error| failed(&error))?;
        found.ok_or_else(|| Failure(format!("there is no voice '{name}' at {}", self.0.store().place())))
    }
}

fn failed(error: &VoiceError) -> Failure {
    Failure(error.to_string())
}

fn name(text: &str) -> Result<VoiceName, Failure> {
    VoiceName::read(text).map_err(|error| Failure(format!("'{text:.100}' is no name of a voice: it {error}")))
}

impl Place for Here {
    fn list(&self) -> Result<Vec<Value>, Failure> {
        let unshowable = |error: serde_json::Error| Failure(format!("a voice cannot be shown: {error}"));
        self.0.list().iter().map(|record| serde_json::to_value(&**record).map_err(unshowable)).collect()
    }

    fn add(&self, args: &AddArgs) -> Result<String, Failure> {
        let (name, bytes) = (name(&args.name)?, read(&args.file)?);
        if args.file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
            let vector: Vec<f32> = serde_json::from_slice(&bytes)
                .map_err(|error| Failure(format!("'{}' is no array of numbers: {error}", args.file.display())))?;
            return self.register(&NewVoice::of_vector(name, &args.consent, vector));
        }
        let (size, start) = (bytes.len() as u64, bytes.iter().copied().take(16).collect::<Vec<u8>>());
        let clip = decode(bytes, &DecodeLimits::default()).map_err(|error| Failure(format!("'{}': {error}", args.file.display())))?;
        let file_name = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.register(&NewVoice {
            name,
            consent: args.consent.clone(),
            mime_type: mime::kind(None, &file_name, &start).unwrap_or_default().to_owned(),
            original_filename: file_name,
            file_size: Some(size),
            ref_text: args.ref_text.clone(),
            speaker_description: args.description.clone(),
            sample: Sample::Audio(clip),
        })
    }

    fn remove(&self, name: &str) -> Outcome {
        match self.0.remove(name).map_err(|error| failed(&error))? {
            true => Ok(()),
            false => Err(Failure(format!("there is no voice '{name}' at {}", self.0.store().place()))),
        }
    }

    fn export(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let (record, sample) = self.load(name)?;
        let written = voices::write(&again(&record, sample)?, record.created_at, &voices::file_of(&record.key));
        written.map(|(_, file)| file).map_err(|error| Failure(format!("voice '{name}' cannot be written: {error}")))
    }

    fn import(&self, file: &[u8]) -> Result<String, Failure> {
        let (record, sample) = voices::read(file).map_err(|error| Failure(format!("the file cannot be used: {error}")))?;
        self.register(&again(&record, sample)?)
    }

    fn mix(&self, mixture: &str, new_name: &str, consent: &str) -> Outcome {
        let wrong = |error: mix::MixError| Failure(error.to_string());
        let parts: Vec<Part> =
            mix::parse(mixture).ok_or_else(|| Failure(format!("'{mixture}' is no mixture: write a(2)+b")))?.map_err(wrong)?;
        let vectors = parts.iter().map(|part| match self.load(&part.voice)?.1 {
            Sample::Embedding(vector) => Ok(vector),
            Sample::Audio(_) => Err(Failure(format!(
                "voice '{}' is a clip, of which only a model can make a vector: mix it on a server with --url",
                part.voice
            ))),
        });
        let vectors = vectors.collect::<Result<Vec<_>, Failure>>()?;
        let vector = mix::mix(&parts, &vectors).map_err(wrong)?;
        self.register(&NewVoice::of_vector(name(new_name)?, consent, vector)).map(drop)
    }
}

/// A voice that was stored, to be stored again.
fn again(record: &Record, sample: Sample) -> Result<NewVoice, Failure> {
    Ok(NewVoice {
        name: name(&record.name)?,
        consent: record.consent.clone(),
        mime_type: record.mime_type.clone(),
        original_filename: record.original_filename.clone(),
        file_size: Some(record.file_size),
        ref_text: record.ref_text.clone(),
        speaker_description: record.speaker_description.clone(),
        sample,
    })
}
