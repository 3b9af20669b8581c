//! A stored voice as a file: one `.safetensors` with the sound or the vector as its tensor, and the rest in the header's metadata.
//!
//! Keys and tensors are those of vLLM-Omni, whose files are read here and who reads ours.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::header::{Header, HeaderError};
use super::name::key_of;
use super::record::{NewVoice, Record, Sample, Source};
use crate::reference::Clip;

/// The tensor of a clip, `[samples]` or `[samples, channels]`.
const AUDIO: &str = "audio";
/// The tensor of a speaker's vector, `[dim]`.
pub const SPEAKER_EMBEDDING: &str = "speaker_embedding";
/// Larger files are no voices: a clip has thirty seconds at most.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// Rates that a clip may have.
const RATES_HZ: std::ops::RangeInclusive<u32> = 1..=768_000;

/// Why a file is no voice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// More of its beginning is needed.
    #[error("its header has {0} bytes")]
    NeedsMore(usize),
    /// It was a voice, or is half of one.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is something else.
    #[error("it is no voice: {0}")]
    Foreign(String),
}

impl From<HeaderError> for FileError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::NeedsMore(bytes) => Self::NeedsMore(bytes),
            HeaderError::Broken(reason) => Self::Damaged(reason),
            HeaderError::TooLarge(bytes) => Self::Foreign(format!("its header has {bytes} bytes")),
        }
    }
}

/// The record and the file of a voice that is stored now.
pub fn write(new: &NewVoice, created_at: u64, stored_as: &str) -> Result<(Record, Vec<u8>), FileError> {
    let mut record = Record {
        name: new.name.shown().to_owned(),
        key: new.name.key().to_owned(),
        consent: new.consent.clone(),
        created_at,
        mime_type: new.mime_type.clone(),
        original_filename: new.original_filename.clone(),
        file_size: new.file_size.unwrap_or_default(),
        ref_text: new.ref_text.clone(),
        speaker_description: new.speaker_description.clone(),
        source: source_of(&new.sample),
    };
    if record.original_filename.is_empty() {
        record.original_filename = stored_as.to_owned();
    }
    let (tensor, values) = match &new.sample {
        Sample::Audio(clip) => (AUDIO, clip.samples.as_slice()),
        Sample::Embedding(vector) => (SPEAKER_EMBEDDING, vector.as_slice()),
    };
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let unwritable = |error: safetensors::SafeTensorError| FileError::Damaged(error.to_string());
    let view = TensorView::new(Dtype::F32, vec![values.len()], &bytes).map_err(unwritable)?;
    let file = safetensors::serialize([(tensor, view)], Some(metadata(&record, new.file_size))).map_err(unwritable)?;
    if new.file_size.is_none() {
        record.file_size = file.len() as u64;
    }
    Ok((record, file))
}

fn source_of(sample: &Sample) -> Source {
    match sample {
        Sample::Audio(clip) => Source::Audio { sample_rate_hz: clip.sample_rate_hz },
        Sample::Embedding(vector) => Source::Embedding { dim: vector.len() },
    }
}

fn metadata(record: &Record, file_size: Option<u64>) -> HashMap<String, String> {
    let always = [
        ("name", record.name.clone()),
        ("voice_name_lower", record.key.clone()),
        ("consent", record.consent.clone()),
        ("created_at", record.created_at.to_string()),
        ("mime_type", record.mime_type.clone()),
        ("original_filename", record.original_filename.clone()),
        ("embedding_source", record.embedding_source().to_owned()),
    ];
    let rate = match record.source {
        Source::Audio { sample_rate_hz } => Some(sample_rate_hz.to_string()),
        Source::Embedding { .. } => None,
    };
    let sometimes = [
        ("file_size", file_size.map(|size| size.to_string())),
        ("sample_rate", rate),
        ("embedding_dim", record.embedding_dim().map(|dim| dim.to_string())),
        ("ref_text", record.ref_text.clone()),
        ("speaker_description", record.speaker_description.clone()),
    ];
    let given = sometimes.into_iter().filter_map(|(key, value)| Some((key, value?)));
    always.into_iter().chain(given).map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Reads what is known of a voice from the beginning of its file of `file_bytes` bytes.
pub fn read_record(start: &[u8], file_bytes: u64) -> Result<Record, FileError> {
    if file_bytes > MAX_FILE_BYTES {
        return Err(FileError::Foreign(format!("it has {file_bytes} bytes")));
    }
    let header = Header::read(start, file_bytes)?;
    let foreign = |reason: &str| FileError::Foreign(reason.to_owned());
    let text = |key: &str| header.metadata.get(key).cloned().filter(|text| !text.is_empty());
    let number = |key: &str| text(key).and_then(|text| text.trim().parse::<u64>().ok());
    let key = text("voice_name_lower").or(text("name")).map(|name| key_of(&name)).filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| foreign("its header names no voice"))?;
    Ok(Record {
        name: text("name").unwrap_or_else(|| key.clone()),
        key,
        consent: text("consent").unwrap_or_default(),
        created_at: number("created_at").unwrap_or_default(),
        mime_type: text("mime_type").unwrap_or_default(),
        original_filename: text("original_filename").unwrap_or_default(),
        file_size: number("file_size").unwrap_or(file_bytes),
        ref_text: text("ref_text"),
        speaker_description: text("speaker_description"),
        source: read_source(&header, number("sample_rate"))?,
    })
}

fn read_source(header: &Header, rate: Option<u64>) -> Result<Source, FileError> {
    let foreign = |reason: String| FileError::Foreign(reason);
    if let Some(vector) = header.tensors.get(SPEAKER_EMBEDDING) {
        return Ok(Source::Embedding { dim: vector.values()? });
    }
    let audio = header.tensors.get(AUDIO).ok_or_else(|| foreign(format!("it has no tensor '{AUDIO}' or '{SPEAKER_EMBEDDING}'")))?;
    if audio.values()? == 0 {
        return Err(FileError::Damaged("its clip is empty".to_owned()));
    }
    let rate = rate.and_then(|rate| u32::try_from(rate).ok()).filter(|rate| RATES_HZ.contains(rate));
    rate.map(|sample_rate_hz| Source::Audio { sample_rate_hz }).ok_or_else(|| foreign("its header has no usable sample_rate".to_owned()))
}

/// Reads a whole file: what is known of the voice, and what it sounds like. Several channels are mixed to one.
pub fn read(file: &[u8]) -> Result<(Record, Sample), FileError> {
    let record = read_record(file, file.len() as u64)?;
    let damaged = |error: safetensors::SafeTensorError| FileError::Damaged(error.to_string());
    let tensors = SafeTensors::deserialize(file).map_err(damaged)?;
    let sample = match record.source {
        Source::Embedding { .. } => Sample::Embedding(floats(&tensors.tensor(SPEAKER_EMBEDDING).map_err(damaged)?)?),
        Source::Audio { sample_rate_hz } => {
            let tensor = tensors.tensor(AUDIO).map_err(damaged)?;
            let channels = tensor.shape().get(1).copied().unwrap_or(1).max(1);
            let samples = floats(&tensor)?;
            let samples = samples.chunks_exact(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32).collect();
            Sample::Audio(Clip::new(samples, sample_rate_hz))
        }
    };
    Ok((record, sample))
}

fn floats(tensor: &TensorView<'_>) -> Result<Vec<f32>, FileError> {
    if tensor.dtype() != Dtype::F32 {
        return Err(FileError::Damaged(format!("its tensor holds {:?}, expected F32", tensor.dtype())));
    }
    let values = tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let values: Vec<f32> = values.collect();
    if values.iter().any(|value| !value.is_finite()) {
        return Err(FileError::Damaged("its tensor holds NaN or infinite values".to_owned()));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voices::name::VoiceName;
    use proptest::prelude::*;

    fn name(text: &str) -> VoiceName {
        VoiceName::read(text).expect("a name")
    }

    fn clip(samples: Vec<f32>) -> Sample {
        Sample::Audio(Clip::new(samples, 16_000))
    }

    fn new(sample: Sample) -> NewVoice {
        NewVoice {
            name: name("Anne"),
            consent: "c/1".to_owned(),
            mime_type: "audio/wav".to_owned(),
            original_filename: "anne.wav".to_owned(),
            file_size: Some(77),
            ref_text: Some("Good day.".to_owned()),
            speaker_description: None,
            sample,
        }
    }

    #[test]
    fn a_clip_and_all_that_is_known_of_it_come_back() {
        let new = new(clip(vec![0.0, 0.5, -0.25]));
        let (record, file) = write(&new, 1_700_000_000, "x.safetensors").expect("a file");
        assert_eq!(read(&file), Ok((record.clone(), new.sample)));
        assert_eq!(read_record(&file, file.len() as u64), Ok(record));
    }

    #[test]
    fn a_vector_is_listed_with_its_length_and_the_size_of_its_file() {
        let new = NewVoice::of_vector(name("V"), "c", vec![1.0, 2.0]);
        let (record, file) = write(&new, 5, "v.safetensors").expect("a file");
        assert_eq!((record.embedding_dim(), record.file_size), (Some(2), file.len() as u64));
        assert_eq!(record.original_filename, "v.safetensors");
        assert_eq!(read(&file), Ok((record, new.sample)));
    }

    #[test]
    fn a_file_of_the_reference_is_read_and_its_channels_are_mixed() {
        let bytes: Vec<u8> = [0.5_f32, 0.0, -1.0, 1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let view = TensorView::new(Dtype::F32, vec![2, 2], &bytes).expect("a tensor");
        let metadata = [("name", "Bob"), ("sample_rate", "8000"), ("created_at", "12")];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let file = safetensors::serialize([("audio", view)], Some(metadata)).expect("a file");
        let (record, sample) = read(&file).expect("a voice");
        assert_eq!((record.key.as_str(), record.created_at, record.consent.as_str()), ("bob", 12, ""));
        assert!(matches!(sample, Sample::Audio(clip) if clip.samples == [0.25, 0.0] && clip.sample_rate_hz == 8000));
    }

    #[test]
    fn what_is_no_voice_is_told_from_what_is_broken() {
        let (_, file) = write(&new(clip(vec![0.5; 100])), 1, "x").expect("a file");
        for cut in [0, 4, 20, file.len() - 1] {
            let start = &file[..cut];
            assert!(matches!(read_record(start, cut as u64), Err(FileError::Damaged(_))), "{cut}");
        }
        let view = TensorView::new(Dtype::F32, vec![1], &[0; 4]).expect("a tensor");
        let other = safetensors::serialize([("weight", view)], None).expect("a file");
        assert!(matches!(read_record(&other, other.len() as u64), Err(FileError::Foreign(_))));
        assert!(matches!(read_record(&file, MAX_FILE_BYTES + 1), Err(FileError::Foreign(_))));
        let wild = write(&new(clip(vec![f32::NAN])), 1, "x").expect("a file").1;
        assert!(matches!(read(&wild), Err(FileError::Damaged(_))));
    }

    #[test]
    fn the_beginning_tells_how_much_of_it_is_needed() {
        let (record, file) = write(&new(clip(vec![0.5; 100])), 1, "x").expect("a file");
        let Err(FileError::NeedsMore(bytes)) = read_record(&file[..16], file.len() as u64) else { panic!("sixteen bytes are enough") };
        assert_eq!(read_record(&file[..bytes], file.len() as u64), Ok(record));
    }

    proptest! {
        #[test]
        fn no_file_panics(mut file in prop::collection::vec(any::<u8>(), 0..300), len in 0_u64..400) {
            drop(read(&file));
            file.splice(0..8.min(file.len()), len.to_le_bytes());
            drop(read(&file));
        }

        #[test]
        fn no_flipped_byte_panics_or_invents_a_voice(at in 0_usize..700, to in any::<u8>()) {
            let (record, mut file) = write(&new(clip(vec![0.5; 50])), 1, "x").expect("a file");
            if let Some(byte) = file.get_mut(at) { *byte = to }
            if let Ok((read, _)) = read(&file) {
                prop_assert!(read.key.len() <= record.key.len() + 8);
            }
        }
    }
}
