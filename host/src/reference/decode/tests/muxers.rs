//! Containers that nothing here writes otherwise, made byte by byte.

use opus_pure::{Application, MAX_PACKET_BYTES, OpusEncoder};

/// How a WAV file holds its samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WavKind {
    /// Whole numbers of so many bits.
    Pcm(u16),
    /// Floats of so many bits.
    Float(u16),
    /// G.711.
    MuLaw,
    /// G.711.
    ALaw,
}

pub const WAV_KINDS: [WavKind; 8] = [
    WavKind::Pcm(8),
    WavKind::Pcm(16),
    WavKind::Pcm(24),
    WavKind::Pcm(32),
    WavKind::Float(32),
    WavKind::Float(64),
    WavKind::MuLaw,
    WavKind::ALaw,
];

/// A mono WAV file; `extensible` writes `WAVE_FORMAT_EXTENSIBLE`.
pub fn wav(kind: WavKind, extensible: bool, samples: &[f32], rate_hz: u32) -> Vec<u8> {
    let data: Vec<u8> = samples.iter().flat_map(|sample| wav_sample(kind, *sample)).collect();
    let (tag, bits) = match kind {
        WavKind::Pcm(bits) => (1_u16, bits),
        WavKind::Float(bits) => (3, bits),
        WavKind::ALaw => (6, 8),
        WavKind::MuLaw => (7, 8),
    };
    let block = bits / 8;
    let mut format = Vec::new();
    format.extend((if extensible { 0xFFFE } else { tag }).to_le_bytes());
    format.extend(1_u16.to_le_bytes());
    format.extend(rate_hz.to_le_bytes());
    format.extend((rate_hz * u32::from(block)).to_le_bytes());
    format.extend(block.to_le_bytes());
    format.extend(bits.to_le_bytes());
    if extensible {
        format.extend([22, 0]);
        format.extend(bits.to_le_bytes());
        format.extend(4_u32.to_le_bytes());
        format.extend(tag.to_le_bytes());
        format.extend([0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0xAA, 0x00, 0x38, 0x9B, 0x71]);
    } else if matches!(kind, WavKind::ALaw | WavKind::MuLaw) {
        format.extend([0, 0]);
    }
    riff(&[(b"fmt ", &format), (b"data", &data)])
}

/// A RIFF WAVE file of these chunks.
pub fn riff(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut body = b"WAVE".to_vec();
    for (name, data) in chunks {
        body.extend(*name);
        body.extend((data.len() as u32).to_le_bytes());
        body.extend(*data);
        body.extend(vec![0; data.len() % 2]);
    }
    let mut file = b"RIFF".to_vec();
    file.extend((body.len() as u32).to_le_bytes());
    file.extend(body);
    file
}

fn wav_sample(kind: WavKind, sample: f32) -> Vec<u8> {
    let whole = |bits: u16| (f64::from(sample) * 2_f64.powi(i32::from(bits) - 1)) as i64;
    match kind {
        WavKind::Pcm(8) => vec![(whole(8) + 128) as u8],
        WavKind::Pcm(bits) => whole(bits).to_le_bytes()[..usize::from(bits / 8)].to_vec(),
        WavKind::Float(64) => f64::from(sample).to_le_bytes().to_vec(),
        WavKind::Float(_) => sample.to_le_bytes().to_vec(),
        WavKind::MuLaw => vec![nearest(sample, mu_law)],
        WavKind::ALaw => vec![nearest(sample, a_law)],
    }
}

/// The code whose sound is nearest.
fn nearest(sample: f32, decode: fn(u8) -> i32) -> u8 {
    let wanted = (sample * 32_767.0) as i32;
    (0..=255).min_by_key(|code| (decode(*code) - wanted).abs()).unwrap_or_default()
}

/// G.711 mu-law, as a 16-bit sample.
fn mu_law(code: u8) -> i32 {
    let code = i32::from(!code);
    let magnitude = (((code & 0x0F) << 3) + 0x84) << ((code & 0x70) >> 4);
    if code & 0x80 == 0 { magnitude - 0x84 } else { 0x84 - magnitude }
}

/// G.711 A-law, as a 16-bit sample.
fn a_law(code: u8) -> i32 {
    let code = i32::from(code ^ 0x55);
    let (exponent, mantissa) = ((code >> 4) & 0x07, code & 0x0F);
    let magnitude = if exponent == 0 { (mantissa << 4) + 8 } else { ((mantissa << 4) + 0x108) << (exponent - 1) };
    if code & 0x80 == 0 { -magnitude } else { magnitude }
}

/// A WebM file with one Opus track.
pub fn webm_opus(samples: &[f32], channels: u16) -> Vec<u8> {
    const FRAME: usize = 960;
    let mut encoder = OpusEncoder::new(48_000, usize::from(channels), Application::Audio).expect("an encoder");
    let skip = encoder.lookahead() as u16;
    let mut head = b"OpusHead".to_vec();
    head.extend([1, channels as u8]);
    head.extend(skip.to_le_bytes());
    head.extend(48_000_u32.to_le_bytes());
    head.extend([0, 0, 0]);
    let audio = [element(&[0xB5], &48_000_f32.to_be_bytes()), element(&[0x9F], &[channels as u8])].concat();
    let track = [
        element(&[0xD7], &[1]),
        element(&[0x73, 0xC5], &[1]),
        element(&[0x83], &[2]),
        element(&[0x86], b"A_OPUS"),
        element(&[0x63, 0xA2], &head),
        element(&[0xE1], &audio),
    ];
    let info = [element(&[0x2A, 0xD7, 0xB1], &1_000_000_u32.to_be_bytes()), element(&[0x4D, 0x80], b"t"), element(&[0x57, 0x41], b"t")];
    let mut cluster = element(&[0xE7], &[0]);
    for (at, frame) in samples.chunks_exact(FRAME * usize::from(channels)).enumerate() {
        let mut packet = vec![0; MAX_PACKET_BYTES];
        let len = encoder.encode(frame, FRAME, &mut packet).expect("a packet");
        let mut block = vec![0x81];
        block.extend((at as i16 * 20).to_be_bytes());
        block.push(0x80);
        block.extend(&packet[..len]);
        cluster.extend(element(&[0xA3], &block));
    }
    let segment = [
        element(&[0x15, 0x49, 0xA9, 0x66], &info.concat()),
        element(&[0x16, 0x54, 0xAE, 0x6B], &element(&[0xAE], &track.concat())),
        element(&[0x1F, 0x43, 0xB6, 0x75], &cluster),
    ];
    [ebml_head(), element(&[0x18, 0x53, 0x80, 0x67], &segment.concat())].concat()
}

/// The head of a WebM file.
pub fn ebml_head() -> Vec<u8> {
    let members = [
        element(&[0x42, 0x86], &[1]),
        element(&[0x42, 0xF7], &[1]),
        element(&[0x42, 0xF2], &[4]),
        element(&[0x42, 0xF3], &[8]),
        element(&[0x42, 0x82], b"webm"),
        element(&[0x42, 0x87], &[4]),
        element(&[0x42, 0x85], &[2]),
    ];
    element(&[0x1A, 0x45, 0xDF, 0xA3], &members.concat())
}

/// An EBML element.
pub fn element(id: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = id.to_vec();
    bytes.extend((0x0100_0000_0000_0000 | data.len() as u64).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A FLAC file of `frames` frames with 65,535 samples of the value 1 each: 14 bytes a frame.
pub fn flac_bomb(frames: u32, rate_hz: u32) -> Vec<u8> {
    let mut file = b"fLaC".to_vec();
    file.extend([0x80, 0, 0, 34, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0]);
    // 20 bits of rate, 3 of channels, 5 of depth, 36 of length: mono, 16 bits, length unknown.
    file.extend(((u64::from(rate_hz) << 44) | (15 << 36)).to_be_bytes());
    file.extend([0; 16]);
    for number in 0..frames {
        let start = file.len();
        file.extend([0xFF, 0xF8, 0x70, 0x00]);
        file.extend(utf8_like(number));
        file.extend([0xFF, 0xFE]);
        let check = crc(&file[start..], 8, 0x07);
        file.push(check as u8);
        file.extend([0x00, 0x00, 0x01]);
        let check = crc(&file[start..], 16, 0x8005);
        file.extend(check.to_be_bytes());
    }
    file
}

fn utf8_like(number: u32) -> Vec<u8> {
    char::from_u32(number).map_or_else(Vec::new, |letter| letter.to_string().into_bytes())
}

fn crc(bytes: &[u8], width: u32, polynomial: u32) -> u16 {
    let top = 1 << (width - 1);
    let mask = (1 << width) - 1;
    let register = bytes.iter().fold(0_u32, |register, byte| {
        (0..8).fold(register ^ (u32::from(*byte) << (width - 8)), |register, _| {
            if register & top == 0 { (register << 1) & mask } else { ((register << 1) ^ polynomial) & mask }
        })
    });
    register as u16
}
