//! The RIFF WAVE header: 44 bytes, 16-bit PCM, no extra chunks.

use super::pcm::SAMPLE_BYTES;

/// Bytes before the samples.
pub const HEADER_BYTES: usize = 44;
/// What both size fields hold while nobody knows the end.
const UNKNOWN: u32 = u32::MAX;
/// Bytes of the header that the RIFF size counts.
const COUNTED_BYTES: u32 = HEADER_BYTES as u32 - 8;

/// The header of a stream, whose sizes are unknown.
pub fn stream_header(sample_rate_hz: u32, channels: u16) -> [u8; HEADER_BYTES] {
    header(sample_rate_hz, channels, UNKNOWN, UNKNOWN)
}

/// The header of a file with `data_len` bytes of samples; none if that is more than the format can say.
pub fn file_header(sample_rate_hz: u32, channels: u16, data_len: usize) -> Option<[u8; HEADER_BYTES]> {
    let data = u32::try_from(data_len).ok()?;
    Some(header(sample_rate_hz, channels, data.checked_add(COUNTED_BYTES)?, data))
}

fn header(sample_rate_hz: u32, channels: u16, riff_size: u32, data_size: u32) -> [u8; HEADER_BYTES] {
    let frame_bytes = channels.saturating_mul(SAMPLE_BYTES as u16);
    let byte_rate = sample_rate_hz.saturating_mul(u32::from(frame_bytes));
    let mut header = [0; HEADER_BYTES];
    let fields: [&[u8]; 13] = [
        b"RIFF",
        &riff_size.to_le_bytes(),
        b"WAVE",
        b"fmt ",
        &16_u32.to_le_bytes(),
        &1_u16.to_le_bytes(),
        &channels.to_le_bytes(),
        &sample_rate_hz.to_le_bytes(),
        &byte_rate.to_le_bytes(),
        &frame_bytes.to_le_bytes(),
        &(SAMPLE_BYTES as u16 * 8).to_le_bytes(),
        b"data",
        &data_size.to_le_bytes(),
    ];
    for (place, byte) in header.iter_mut().zip(fields.concat()) {
        *place = byte;
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    #[test]
    fn a_header_says_what_it_should() {
        let header = file_header(22_050, 2, 4_000).expect("it fits");
        let wanted = b"RIFF\xc4\x0f\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x22\x56\0\0\x88\x58\x01\0\x04\0\x10\0data\xa0\x0f\0\0";
        assert_eq!(&header, wanted);
    }

    #[test]
    fn a_stream_has_open_sizes() {
        let header = stream_header(24_000, 1);
        assert_eq!((&header[4..8], &header[40..]), (&[0xFF; 4][..], &[0xFF; 4][..]));
        assert_eq!(header[8..40], file_header(24_000, 1, 0).expect("it fits")[8..40]);
    }

    proptest! {
        #[test]
        fn another_reader_finds_what_a_header_says(rate in 4_000_u32..400_000, channels in 1_u16..=2, frames in 0_usize..2_000) {
            let len = frames * usize::from(channels) * SAMPLE_BYTES;
            let header = file_header(rate, channels, len).expect("it fits");
            let file = [&header[..], &vec![7; len]].concat();
            let mut reader = hound::WavReader::new(Cursor::new(file)).expect("a file");
            let spec = reader.spec();
            prop_assert_eq!((spec.sample_rate, spec.channels, spec.bits_per_sample), (rate, channels, 16));
            prop_assert_eq!((reader.duration() as usize, reader.samples::<i16>().count()), (frames, frames * usize::from(channels)));
            prop_assert_eq!(&stream_header(rate, channels)[8..40], &header[8..40]);
        }
    }

    #[test]
    fn a_file_too_long_for_the_format_has_no_header() {
        assert!(file_header(24_000, 1, u32::MAX as usize - 36).is_some());
        assert!(file_header(24_000, 1, u32::MAX as usize - 35).is_none());
    }
}
