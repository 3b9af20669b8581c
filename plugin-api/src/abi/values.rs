//! Values that cross the boundary, and their conversions.
//!
//! Enums cross as integers, so that a value an older side does not know is an error and not undefined behaviour.

use abi_stable::StableAbi;
use abi_stable::std_types::{RString, RVec};

use crate::{Data, ErrorKind, Extent, FinishReason, NamedTensor, PluginError, Prompt, SeqWork, StageEvent, TensorValues, Usage};

/// [`PluginError`] on the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct ErrorAbi {
    kind: u32,
    /// Empty for none.
    field: RString,
    message: RString,
}

const ERROR_KINDS: [ErrorKind; 7] = [
    ErrorKind::Invalid,
    ErrorKind::Unsupported,
    ErrorKind::Checkpoint,
    ErrorKind::Exhausted,
    ErrorKind::Internal,
    ErrorKind::Panicked,
    ErrorKind::Incomplete,
];

impl From<PluginError> for ErrorAbi {
    fn from(error: PluginError) -> Self {
        let kind = ERROR_KINDS.iter().position(|kind| *kind == error.kind).unwrap_or(4) as u32;
        Self { kind, field: error.field.unwrap_or_default().into(), message: error.message.into() }
    }
}

impl From<ErrorAbi> for PluginError {
    fn from(error: ErrorAbi) -> Self {
        let kind = ERROR_KINDS.get(error.kind as usize).copied().unwrap_or(ErrorKind::Internal);
        let field = Some(error.field.into_string()).filter(|field| !field.is_empty());
        Self { kind, field, message: error.message.into() }
    }
}

/// [`Data`] on the boundary: `rows` is codebooks, patch or channels, `columns` the width of latents.
#[repr(C)]
#[derive(StableAbi)]
pub struct DataAbi {
    kind: u32,
    rows: u64,
    columns: u64,
    handle: u64,
    ints: RVec<i32>,
    floats: RVec<f32>,
}

impl DataAbi {
    fn empty() -> Self {
        Self { kind: 0, rows: 0, columns: 0, handle: 0, ints: RVec::new(), floats: RVec::new() }
    }
}

impl From<Data> for DataAbi {
    fn from(data: Data) -> Self {
        let empty = Self::empty();
        match data {
            Data::Codes { codes, codebooks } => Self { kind: 1, rows: codebooks as u64, ints: codes.into(), ..empty },
            Data::Tokens(tokens) => Self { kind: 2, ints: tokens.into(), ..empty },
            Data::Latents { values, patch, width } => {
                Self { kind: 3, rows: patch as u64, columns: width as u64, floats: values.into(), ..empty }
            }
            Data::Pcm { samples, channels } => Self { kind: 4, rows: channels as u64, floats: samples.into(), ..empty },
            Data::Handle { id, units } => Self { kind: 5, rows: units as u64, handle: id, ..empty },
        }
    }
}

impl TryFrom<DataAbi> for Data {
    type Error = PluginError;

    fn try_from(data: DataAbi) -> Result<Self, PluginError> {
        let (rows, columns) = (size(data.rows)?, size(data.columns)?);
        match data.kind {
            1 => Ok(Data::Codes { codes: data.ints.into_vec(), codebooks: rows }),
            2 => Ok(Data::Tokens(data.ints.into_vec())),
            3 => Ok(Data::Latents { values: data.floats.into_vec(), patch: rows, width: columns }),
            4 => Ok(Data::Pcm { samples: data.floats.into_vec(), channels: rows }),
            5 => Ok(Data::Handle { id: data.handle, units: rows }),
            other => Err(PluginError::internal(format!("data of kind {other}, which this version does not know"))),
        }
    }
}

fn size(value: u64) -> Result<usize, PluginError> {
    usize::try_from(value).map_err(|_| PluginError::internal(format!("a size of {value} does not fit this machine")))
}

/// A chunk that may be absent: kind 0 is none.
pub fn optional_data(data: Option<Data>) -> DataAbi {
    data.map_or_else(DataAbi::empty, DataAbi::from)
}

/// The inverse of [`optional_data`].
pub fn read_optional_data(data: DataAbi) -> Result<Option<Data>, PluginError> {
    if data.kind == 0 { Ok(None) } else { Data::try_from(data).map(Some) }
}

/// [`NamedTensor`] on the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct TensorAbi {
    name: RString,
    shape: RVec<u64>,
    /// 1 floats, 2 integers.
    kind: u32,
    floats: RVec<f32>,
    ints: RVec<i32>,
}

impl From<NamedTensor> for TensorAbi {
    fn from(tensor: NamedTensor) -> Self {
        let shape = tensor.shape.iter().map(|extent| *extent as u64).collect();
        let name = tensor.name.into();
        match tensor.values {
            TensorValues::F32(values) => Self { name, shape, kind: 1, floats: values.into(), ints: RVec::new() },
            TensorValues::I32(values) => Self { name, shape, kind: 2, floats: RVec::new(), ints: values.into() },
        }
    }
}

impl TryFrom<TensorAbi> for NamedTensor {
    type Error = PluginError;

    fn try_from(tensor: TensorAbi) -> Result<Self, PluginError> {
        let name = tensor.name.into_string();
        let shape = tensor.shape.iter().map(|extent| size(*extent)).collect::<Result<Vec<_>, _>>()?;
        let values = match tensor.kind {
            1 => TensorValues::F32(tensor.floats.into_vec()),
            2 => TensorValues::I32(tensor.ints.into_vec()),
            other => return Err(PluginError::internal(format!("tensor '{name}' of kind {other}, which this version does not know"))),
        };
        let expected = shape.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent));
        if expected != Some(values.len()) {
            return Err(PluginError::internal(format!("tensor '{name}' of shape {shape:?} holds {} values", values.len())));
        }
        Ok(Self { name, shape, values })
    }
}

/// Converts a set of tensors towards the boundary.
pub fn tensors_out(tensors: Vec<NamedTensor>) -> RVec<TensorAbi> {
    tensors.into_iter().map(TensorAbi::from).collect()
}

/// Converts a set of tensors from the boundary.
pub fn tensors_in(tensors: RVec<TensorAbi>) -> Result<Vec<NamedTensor>, PluginError> {
    tensors.into_iter().map(NamedTensor::try_from).collect()
}

/// [`Prompt`] on the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct PromptAbi {
    params: RString,
    tensors: RVec<TensorAbi>,
}

impl From<Prompt> for PromptAbi {
    fn from(prompt: Prompt) -> Self {
        Self { params: prompt.params.to_string().into(), tensors: tensors_out(prompt.tensors) }
    }
}

impl TryFrom<PromptAbi> for Prompt {
    type Error = PluginError;

    fn try_from(prompt: PromptAbi) -> Result<Self, PluginError> {
        let params =
            serde_json::from_str(&prompt.params).map_err(|error| PluginError::internal(format!("the prompt is not JSON: {error}")))?;
        Ok(Self { params, tensors: tensors_in(prompt.tensors)? })
    }
}

/// [`SeqWork`] on the boundary.
#[repr(C)]
#[derive(StableAbi)]
pub struct WorkAbi {
    seq: u64,
    max_units: u64,
}

impl From<SeqWork> for WorkAbi {
    fn from(work: SeqWork) -> Self {
        Self { seq: work.seq, max_units: work.max_units as u64 }
    }
}

impl From<&WorkAbi> for SeqWork {
    fn from(work: &WorkAbi) -> Self {
        Self { seq: work.seq, max_units: usize::try_from(work.max_units).unwrap_or(usize::MAX) }
    }
}

/// [`StageEvent`] on the boundary, all variants in one flat record.
#[repr(C)]
#[derive(StableAbi)]
pub struct EventAbi {
    /// 1 output, 2 needs input, 3 finished, 4 failed.
    kind: u32,
    seq: u64,
    data: DataAbi,
    /// 1 stop, 2 length.
    reason: u32,
    generated: u64,
    error: ErrorAbi,
}

impl From<StageEvent> for EventAbi {
    fn from(event: StageEvent) -> Self {
        let error = ErrorAbi { kind: 0, field: RString::new(), message: RString::new() };
        let empty = Self { kind: 2, seq: event.seq(), data: DataAbi::empty(), reason: 0, generated: 0, error };
        match event {
            StageEvent::Output { data, .. } => Self { kind: 1, data: data.into(), ..empty },
            StageEvent::NeedsInput { .. } => empty,
            StageEvent::Finished { reason, generated, .. } => {
                let reason = if reason == FinishReason::Stop { 1 } else { 2 };
                Self { kind: 3, reason, generated, ..empty }
            }
            StageEvent::Failed { error, .. } => Self { kind: 4, error: error.into(), ..empty },
        }
    }
}

impl TryFrom<EventAbi> for StageEvent {
    type Error = PluginError;

    fn try_from(event: EventAbi) -> Result<Self, PluginError> {
        let seq = event.seq;
        match event.kind {
            1 => Ok(StageEvent::Output { seq, data: event.data.try_into()? }),
            2 => Ok(StageEvent::NeedsInput { seq }),
            3 => {
                let reason = if event.reason == 2 { FinishReason::Length } else { FinishReason::Stop };
                Ok(StageEvent::Finished { seq, reason, generated: event.generated })
            }
            4 => Ok(StageEvent::Failed { seq, error: event.error.into() }),
            other => Err(PluginError::internal(format!("an event of kind {other}, which this version does not know"))),
        }
    }
}

/// The counts of a prepared request, which cross as one JSON text.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct Counts {
    #[serde(flatten)]
    pub usage: Usage,
    #[serde(default)]
    pub extent: Extent,
}

/// Reads JSON text that crossed the boundary.
pub fn read_json<T: for<'de> serde::Deserialize<'de>>(what: &str, text: &str) -> Result<T, PluginError> {
    serde_json::from_str(text).map_err(|error| PluginError::internal(format!("{what} is not what this version expects: {error}")))
}

/// Writes JSON text that will cross the boundary.
pub fn write_json<T: serde::Serialize>(what: &str, value: &T) -> Result<RString, PluginError> {
    let text = serde_json::to_string(value).map_err(|error| PluginError::internal(format!("{what} cannot be written as JSON: {error}")))?;
    Ok(text.into())
}

/// The kinds that a stage may declare, to be kept in step with [`DataAbi`]'s numbers.
#[cfg(test)]
pub const KINDS: [(u32, crate::DataKind); 5] = {
    use crate::DataKind::*;
    [(1, Codes), (2, Tokens), (3, Latents), (4, Pcm), (5, Handle)]
};

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(event: StageEvent) -> StageEvent {
        EventAbi::from(event).try_into().expect("our own event converts back")
    }

    #[test]
    fn events_survive_the_boundary() {
        let chunks = [
            Data::Codes { codes: vec![1, -2, 3, 4], codebooks: 2 },
            Data::Tokens(vec![5, 6]),
            Data::Latents { values: vec![0.5; 6], patch: 1, width: 3 },
            Data::Pcm { samples: vec![0.25; 4], channels: 2 },
            Data::Handle { id: 9, units: 12 },
        ];
        for (data, (number, kind)) in chunks.into_iter().zip(KINDS) {
            assert_eq!(data.kind(), kind);
            assert_eq!(DataAbi::from(data.clone()).kind, number);
            let event = StageEvent::Output { seq: 3, data };
            assert_eq!(there_and_back(event.clone()), event);
        }
        let finished = StageEvent::Finished { seq: 4, reason: FinishReason::Length, generated: 80 };
        assert_eq!(there_and_back(finished.clone()), finished);
        let failed = StageEvent::Failed { seq: 5, error: PluginError::invalid("voice", "no such voice") };
        assert_eq!(there_and_back(failed.clone()), failed);
        let hungry = StageEvent::NeedsInput { seq: 6 };
        assert_eq!(there_and_back(hungry.clone()), hungry);
    }

    #[test]
    fn an_unknown_number_is_an_error_and_not_undefined_behaviour() {
        let event = EventAbi { kind: 77, ..EventAbi::from(StageEvent::NeedsInput { seq: 1 }) };
        assert!(StageEvent::try_from(event).is_err());
        assert!(Data::try_from(DataAbi { kind: 42, ..DataAbi::empty() }).is_err());
    }

    #[test]
    fn a_tensor_that_does_not_fill_its_shape_is_refused_by_name() {
        let tensor = TensorAbi::from(NamedTensor::f32("spk", vec![2, 3], vec![0.0; 5]));
        let error = NamedTensor::try_from(tensor).expect_err("five values are not six");
        assert!(error.message.contains("spk"), "{error}");
        let huge = TensorAbi::from(NamedTensor::i32("big", vec![usize::MAX, 2], vec![]));
        assert!(NamedTensor::try_from(huge).is_err());
    }
}
