//! An item of a manifest: a request, and where its audio goes.

use std::fs;
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::audio::Format;

/// Largest clip that is read for an item.
const MAX_CLIP_BYTES: u64 = 25 << 20;

/// An item.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Which one it is, from 0.
    pub index: usize,
    /// The file it names, below the output directory.
    pub output: Option<PathBuf>,
    /// The request.
    pub request: Map<String, Value>,
    /// Where the manifest is, from which files of reference audio are named.
    folder: PathBuf,
}

impl Item {
    /// Takes the item's own members out of its fields.
    pub fn new(index: usize, mut fields: Map<String, Value>, folder: &Path) -> Result<Self, String> {
        fields.retain(|_, value| !value.is_null());
        if let Some(text) = fields.remove("text") {
            fields.entry("input").or_insert(text);
        }
        if !fields.contains_key("input") {
            return Err("there is no 'input'".to_owned());
        }
        let output = fields.remove("output").or_else(|| fields.remove("file"));
        let output = output.map(|name| output_path(&name)).transpose()?;
        // The audio comes whole, whatever else was asked.
        fields.retain(|name, _| name != "stream" && name != "stream_format");
        Ok(Self { index, output, request: fields, folder: folder.to_owned() })
    }

    /// The file's name and its format: the field's, else that of the name's end, else `default`.
    pub fn target(&self, default: Format) -> (PathBuf, Format) {
        let named = self.request.get("response_format").and_then(Value::as_str).and_then(Format::of_name);
        let end = self.output.as_deref().and_then(Path::extension).and_then(|end| end.to_str()).unwrap_or_default();
        let format = named.or_else(|| Format::of_name(&end.to_ascii_lowercase())).unwrap_or(default);
        let name = self.output.clone().unwrap_or_else(|| PathBuf::from(format!("{:06}.{}", self.index + 1, format.name())));
        (name, format)
    }

    /// Names the request: another text or voice is another name.
    pub fn fingerprint(&self, format: Format) -> String {
        let text = format!("{}\n{}", Value::Object(self.request.clone()), format.name());
        Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The request as it is sent: clips that are files beside the manifest travel in it, as the server may be another machine.
    pub fn body(&self, format: Format) -> Result<Map<String, Value>, String> {
        let mut request = self.request.clone();
        request.insert("response_format".to_owned(), Value::from(format.name()));
        if let Some(Value::String(clip)) = request.get("ref_audio")
            && is_path(clip)
        {
            let inline = read_clip(&self.folder.join(clip)).map_err(|reason| format!("ref_audio '{clip}': {reason}"))?;
            request.insert("ref_audio".to_owned(), Value::from(inline));
        }
        Ok(request)
    }
}

/// Whether a clip is named by its path, and not by a URL or by its content.
fn is_path(clip: &str) -> bool {
    const LONGEST: usize = 1024;
    clip.len() <= LONGEST && !["http:", "https:", "data:", "file:"].iter().any(|scheme| clip.to_ascii_lowercase().starts_with(scheme))
}

fn read_clip(path: &Path) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() || about.len() > MAX_CLIP_BYTES {
        return Err(format!("expected a file of at most {} MiB", MAX_CLIP_BYTES >> 20));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    Ok(format!("data:application/octet-stream;base64,{}", BASE64.encode(bytes)))
}

fn output_path(name: &Value) -> Result<PathBuf, String> {
    let path = name.as_str().filter(|name| !name.is_empty()).map(PathBuf::from).ok_or("'output' is no name of a file")?;
    let stays = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) && path.file_name().is_some();
    if stays { Ok(path) } else { Err("'output' leaves the directory".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn item(fields: Value) -> Item {
        Item::new(4, fields.as_object().cloned().unwrap_or_default(), Path::new(".")).expect("an item")
    }

    #[test]
    fn the_format_is_the_fields_then_the_names_then_the_default() {
        for (fields, name, format) in [
            (json!({"input": "a"}), "000005.wav", Format::Wav),
            (json!({"input": "a", "output": "x.mp3"}), "x.mp3", Format::Mp3),
            (json!({"input": "a", "output": "d/x.MP3", "response_format": "flac"}), "d/x.MP3", Format::Flac),
            (json!({"input": "a", "output": "x", "response_format": "opus"}), "x", Format::Opus),
        ] {
            assert_eq!(item(fields).target(Format::Wav), (PathBuf::from(name), format));
        }
    }

    #[test]
    fn another_request_has_another_fingerprint_and_another_file_does_not() {
        let print = |fields: Value| item(fields).fingerprint(Format::Wav);
        let one = print(json!({"input": "a"}));
        assert_eq!(print(json!({"text": "a", "output": "x", "stream": true, "voice": null})), one);
        assert_ne!(print(json!({"input": "b"})), one);
        assert_ne!(print(json!({"input": "a", "voice": "v"})), one);
        assert_ne!(item(json!({"input": "a"})).fingerprint(Format::Mp3), one);
    }

    #[test]
    fn a_clip_beside_the_manifest_travels_in_the_request() {
        let folder = tempfile::tempdir().expect("a directory");
        fs::write(folder.path().join("clip.wav"), b"sound").expect("a file");
        let item = |clip: &str| {
            let fields = json!({"input": "a", "ref_audio": clip});
            Item::new(0, fields.as_object().cloned().unwrap_or_default(), folder.path()).expect("an item").body(Format::Wav)
        };
        assert_eq!(item("clip.wav").expect("it is read")["ref_audio"], "data:application/octet-stream;base64,c291bmQ=");
        assert_eq!(item("https://host/clip.wav").expect("it is left")["ref_audio"], "https://host/clip.wav");
        assert!(item("gone.wav").expect_err("it is not there").contains("ref_audio 'gone.wav'"));
    }
}
