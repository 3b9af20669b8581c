//! The kind of an uploaded file.
//!
//! What a client says is taken where it is one of the known kinds, or another name of one. Many clients say nothing, or something general; then
//! the file's name decides, or its first bytes. Whether the file can be used is decided by decoding it, never by what it is called.

/// The kinds of files that may be uploaded.
pub const ALLOWED: [&str; 8] =
    ["audio/aac", "audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav", "audio/webm", "audio/x-wav"];

/// Other names of the kinds.
const ALIASES: [(&str, &str); 22] = [
    ("application/ogg", "audio/ogg"),
    ("audio/aacp", "audio/aac"),
    ("audio/m4a", "audio/mp4"),
    ("audio/mp3", "audio/mpeg"),
    ("audio/mpeg3", "audio/mpeg"),
    ("audio/mpga", "audio/mpeg"),
    ("audio/opus", "audio/ogg"),
    ("audio/vnd.wave", "audio/wav"),
    ("audio/vorbis", "audio/ogg"),
    ("audio/wave", "audio/wav"),
    ("audio/x-aac", "audio/aac"),
    ("audio/x-flac", "audio/flac"),
    ("audio/x-m4a", "audio/mp4"),
    ("audio/x-mp3", "audio/mpeg"),
    ("audio/x-mpeg", "audio/mpeg"),
    ("audio/x-ogg", "audio/ogg"),
    ("audio/x-pn-wav", "audio/wav"),
    ("audio/x-webm", "audio/webm"),
    ("video/mp4", "audio/mp4"),
    ("video/ogg", "audio/ogg"),
    ("video/webm", "audio/webm"),
    ("video/x-matroska", "audio/webm"),
];

/// The kinds of the endings of file names.
const ENDINGS: [(&str, &str); 13] = [
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("mpeg", "audio/mpeg"),
    ("mpga", "audio/mpeg"),
    ("flac", "audio/flac"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("aac", "audio/aac"),
    ("webm", "audio/webm"),
    ("weba", "audio/webm"),
    ("mp4", "audio/mp4"),
    ("m4a", "audio/mp4"),
];

/// What says nothing.
const GENERAL: [&str; 2] = ["application/octet-stream", "binary/octet-stream"];

/// The kind of a file, or none if the client says that it is no audio.
pub fn kind(declared: Option<&str>, file_name: &str, start: &[u8]) -> Option<&'static str> {
    let declared = declared.map(|declared| declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let declared = declared.as_deref().filter(|declared| !declared.is_empty());
    match declared {
        None => Some(sniffed(start).or_else(|| by_ending(file_name)).unwrap_or("audio/wav")),
        Some(general) if GENERAL.contains(&general) => Some(by_ending(file_name).unwrap_or("audio/wav")),
        Some(declared) => {
            let alias = || ALIASES.iter().find(|(alias, _)| *alias == declared).map(|(_, kind)| *kind);
            ALLOWED.iter().find(|kind| **kind == declared).copied().or_else(alias)
        }
    }
}

fn by_ending(file_name: &str) -> Option<&'static str> {
    let ending = file_name.rsplit_once('.')?.1.to_ascii_lowercase();
    ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
}

fn sniffed(start: &[u8]) -> Option<&'static str> {
    match start {
        [b'R', b'I', b'F', b'F', ..] => Some("audio/wav"),
        [b'f', b'L', b'a', b'C', ..] => Some("audio/flac"),
        [b'O', b'g', b'g', b'S', ..] => Some("audio/ogg"),
        [0x1A, 0x45, 0xDF, 0xA3, ..] => Some("audio/webm"),
        [b'I', b'D', b'3', ..] => Some("audio/mpeg"),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some("audio/mp4"),
        // Both begin with eleven set bits; AAC then has a layer of zero.
        [0xFF, second, ..] if second & 0xF6 == 0xF0 => Some("audio/aac"),
        [0xFF, second, ..] if second & 0xE0 == 0xE0 => Some("audio/mpeg"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_what_the_client_says_or_what_the_name_or_the_bytes_say() {
        for (declared, name, start, wanted) in [
            (Some("audio/wav"), "a.mp3", &b"fLaC"[..], Some("audio/wav")),
            (Some("Audio/X-M4A; codecs=mp4a"), "a", b"", Some("audio/mp4")),
            (Some("application/octet-stream"), "a.FLAC", b"RIFF", Some("audio/flac")),
            (Some("application/octet-stream"), "a.bin", b"fLaC", Some("audio/wav")),
            (Some(""), "a.wav", b"OggS", Some("audio/ogg")),
            (None, "a", b"\xff\xfb\x90", Some("audio/mpeg")),
            (None, "a", b"\xff\xf1\x50", Some("audio/aac")),
            (None, "a.webm", b"what", Some("audio/webm")),
            (None, "", b"", Some("audio/wav")),
            (Some("text/plain"), "a.wav", b"RIFF", None),
            (Some("image/png"), "a.wav", b"RIFF", None),
        ] {
            assert_eq!(kind(declared, name, start), wanted, "{declared:?} {name}");
        }
    }
}
