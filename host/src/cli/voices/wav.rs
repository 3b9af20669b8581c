//! A clip as a WAV file of 32-bit floats, which loses nothing on its way to a server.

use crate::reference::Clip;

/// The format tag of floats.
const FLOAT: u16 = 3;
const BYTES: u32 = 4;

/// The file; none if the clip is longer than a WAV file can be.
pub fn write(clip: &Clip) -> Option<Vec<u8>> {
    let data = u32::try_from(clip.samples.len()).ok()?.checked_mul(BYTES)?;
    let rate = clip.sample_rate_hz;
    let mut file = Vec::with_capacity(44 + data as usize);
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&data.checked_add(36)?.to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16_u32.to_le_bytes());
    file.extend_from_slice(&FLOAT.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&rate.checked_mul(BYTES)?.to_le_bytes());
    file.extend_from_slice(&(BYTES as u16).to_le_bytes());
    file.extend_from_slice(&(8 * BYTES as u16).to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&data.to_le_bytes());
    clip.samples.iter().for_each(|sample| file.extend_from_slice(&sample.to_le_bytes()));
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_comes_back_as_it_was() {
        let clip = Clip::new(vec![0.0, 0.1, -1.0], 22_050);
        let file = write(&clip).expect("a short clip");
        let mut reader = hound::WavReader::new(file.as_slice()).expect("a WAV file");
        assert_eq!((reader.spec().sample_rate, reader.spec().channels), (22_050, 1));
        assert_eq!(reader.samples::<f32>().collect::<Result<Vec<_>, _>>().expect("samples"), clip.samples);
    }
}
