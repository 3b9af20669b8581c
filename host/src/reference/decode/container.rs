//! From a container to samples.

use std::io::{Cursor, ErrorKind};

use bytes::Bytes;
use symphonia::core::codecs::audio::well_known::CODEC_ID_OPUS;
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;
use symphonia::core::packet::Packet;

use super::DecodeLimits;
use super::mono::Mono;
use super::opus::Opus;
use crate::reference::ReferenceError;

/// Damaged packets that are passed over, as players do. A file with more of them is refused.
const MAX_DAMAGED: usize = 16;

/// All audio of the first track of sound.
pub fn decode(bytes: Bytes, limits: &DecodeLimits) -> Result<Mono, ReferenceError> {
    let source = MediaSourceStream::new(Box::new(Cursor::new(bytes)), Default::default());
    let probe = symphonia::default::get_probe();
    let probed = probe.probe(&Hint::new(), source, FormatOptions::default(), MetadataOptions::default());
    let mut reader = probed.map_err(|error| unsupported(&error))?;
    let track = reader.default_track(TrackType::Audio).ok_or_else(|| ReferenceError::Unsupported("there is no sound in it".to_owned()))?;
    let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio());
    let parameters = parameters.ok_or_else(|| ReferenceError::Unsupported("its codec is unknown".to_owned()))?;
    let (id, mut codec) = (track.id, Codec::open(parameters)?);
    let mut mono = Mono::new(limits);
    let mut damaged = 0;
    while mono.goes_on()?
        && let Some(packet) = next(&mut *reader)?
    {
        if packet.track_id == id && !codec.decode(&packet, &mut mono)? {
            damaged += 1;
            if damaged > MAX_DAMAGED {
                return Err(ReferenceError::Corrupted(format!("more than {MAX_DAMAGED} of its packets are damaged")));
            }
        }
    }
    Ok(mono)
}

/// The next packet. A file that breaks off ends there, and so does one that begins anew.
fn next(reader: &mut dyn FormatReader) -> Result<Option<Packet>, ReferenceError> {
    match reader.next_packet() {
        Ok(packet) => Ok(packet),
        Err(Error::IoError(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(Error::ResetRequired) => Ok(None),
        Err(error) => Err(ReferenceError::Corrupted(error.to_string())),
    }
}

fn unsupported(error: &Error) -> ReferenceError {
    match error {
        Error::IoError(_) => ReferenceError::Unsupported("it is no audio of a known format".to_owned()),
        error => ReferenceError::Unsupported(error.to_string()),
    }
}

enum Codec {
    Known { decoder: Box<dyn AudioDecoder>, block: Vec<f32> },
    Opus(Box<Opus>),
}

impl Codec {
    fn open(parameters: &AudioCodecParameters) -> Result<Self, ReferenceError> {
        if parameters.codec == CODEC_ID_OPUS {
            return Opus::open(parameters.extra_data.as_deref().unwrap_or_default()).map(|opus| Self::Opus(Box::new(opus)));
        }
        let decoder = symphonia::default::get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default());
        Ok(Self::Known { decoder: decoder.map_err(|error| unsupported(&error))?, block: Vec::new() })
    }

    /// Decodes a packet; false when it is damaged.
    fn decode(&mut self, packet: &Packet, mono: &mut Mono) -> Result<bool, ReferenceError> {
        match self {
            Self::Opus(opus) => opus.decode(packet, mono),
            Self::Known { decoder, block } => match decoder.decode(packet) {
                Ok(audio) => {
                    let (rate_hz, channels) = (audio.spec().rate(), audio.spec().channels().count());
                    block.resize(audio.samples_interleaved(), 0.0);
                    audio.copy_to_slice_interleaved(&mut block[..]);
                    mono.take(rate_hz, channels, block).map(|()| true)
                }
                Err(Error::DecodeError(_) | Error::IoError(_)) => Ok(false),
                Err(error) => Err(ReferenceError::Corrupted(error.to_string())),
            },
        }
    }
}
