//! Reads WAV bodies strictly: what the header says must be what is there.

/// Sound as 16-bit samples, channels interleaved.
#[derive(Clone, Debug, PartialEq)]
pub struct Wav {
    /// Samples a second of one channel.
    pub rate: u32,
    /// Channels.
    pub channels: u16,
    /// The samples.
    pub samples: Vec<i16>,
}

/// Bytes before the samples of a WAV file without extra chunks.
pub const HEADER_BYTES: usize = 44;
/// What both size fields hold in a stream, whose end nobody knows when the header is sent.
pub const UNKNOWN_SIZE: u32 = u32::MAX;

impl Wav {
    /// Reads a complete file, whose sizes must be true.
    ///
    /// # Errors
    /// Says what in the header is wrong.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        let header = Header::read(file)?;
        same("RIFF size", header.riff_size as usize, file.len() - 8)?;
        same("data size", header.data_size as usize, file.len() - HEADER_BYTES)?;
        header.with_samples(&file[HEADER_BYTES..])
    }

    /// Reads the joined pieces of a stream, whose size fields must both say "unknown".
    ///
    /// # Errors
    /// Says what in the header is wrong.
    pub fn read_stream(stream: &[u8]) -> Result<Self, String> {
        let header = Header::read(stream)?;
        same("RIFF size", header.riff_size as usize, UNKNOWN_SIZE as usize)?;
        same("data size", header.data_size as usize, UNKNOWN_SIZE as usize)?;
        header.with_samples(&stream[HEADER_BYTES..])
    }

    /// Takes headerless samples.
    ///
    /// # Errors
    /// When half a sample is left over.
    pub fn from_pcm(pcm: &[u8], rate: u32) -> Result<Self, String> {
        Ok(Self { rate, channels: 1, samples: samples(pcm)? })
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(self.channels) / f64::from(self.rate)
    }

    /// The part between two sample positions.
    pub fn part(&self, from: usize, to: usize) -> Self {
        Self { samples: self.samples[from..to].to_vec(), ..*self }
    }
}

/// The first 44 bytes.
#[derive(Debug)]
struct Header {
    riff_size: u32,
    data_size: u32,
    rate: u32,
    channels: u16,
}

impl Header {
    fn read(file: &[u8]) -> Result<Self, String> {
        if file.len() < HEADER_BYTES {
            return Err(format!("{} bytes are too few for a WAV header", file.len()));
        }
        for (at, mark) in [(0, b"RIFF"), (8, b"WAVE"), (12, b"fmt "), (36, b"data")] {
            if &file[at..at + 4] != mark {
                return Err(format!("expected {:?} at byte {at}", String::from_utf8_lossy(mark)));
            }
        }
        let header = Self { riff_size: long(file, 4), data_size: long(file, 40), rate: long(file, 24), channels: short(file, 22) };
        header.check_format(file)?;
        Ok(header)
    }

    fn check_format(&self, file: &[u8]) -> Result<(), String> {
        let block = usize::from(self.channels) * 2;
        same("format chunk size", long(file, 16) as usize, 16)?;
        same("format tag", usize::from(short(file, 20)), 1)?;
        same("byte rate", long(file, 28) as usize, self.rate as usize * block)?;
        same("block size", usize::from(short(file, 32)), block)?;
        same("bits a sample", usize::from(short(file, 34)), 16)
    }

    fn with_samples(&self, bytes: &[u8]) -> Result<Wav, String> {
        Ok(Wav { rate: self.rate, channels: self.channels, samples: samples(bytes)? })
    }
}

fn samples(bytes: &[u8]) -> Result<Vec<i16>, String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(format!("{} bytes are not whole 16-bit samples", bytes.len()));
    }
    Ok(pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect())
}

fn same(what: &str, found: usize, expected: usize) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found}, expected {expected}")) }
}

fn long(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]])
}

fn short(file: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([file[at], file[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn file(samples: &[i16]) -> Vec<u8> {
        let spec = hound::WavSpec { channels: 1, sample_rate: 24_000, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
        let mut file = Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut file, spec).expect("a writer");
        samples.iter().for_each(|sample| writer.write_sample(*sample).expect("a sample is written"));
        writer.finalize().expect("the header is written");
        file.into_inner()
    }

    #[test]
    fn a_file_of_another_writer_is_read() {
        let wav = Wav::read(&file(&[1, -2, 300])).expect("a good file");
        assert_eq!(wav, Wav { rate: 24_000, channels: 1, samples: vec![1, -2, 300] });
        assert_eq!(wav.part(1, 2).samples, [-2]);
    }

    #[test]
    fn sizes_left_open_are_refused_in_a_file_and_required_in_a_stream() {
        let mut open = file(&[1, 2]);
        assert!(Wav::read_stream(&open).is_err());
        open[4..8].fill(0xFF);
        open[40..44].fill(0xFF);
        assert!(Wav::read(&open).expect_err("sizes are not true").contains("RIFF size"));
        assert_eq!(Wav::read_stream(&open).expect("a good stream").samples, [1, 2]);
    }

    #[test]
    fn half_samples_and_short_files_are_refused() {
        assert!(Wav::from_pcm(&[1, 2, 3], 24_000).is_err());
        assert!(Wav::read(b"RIFF").is_err());
    }
}
