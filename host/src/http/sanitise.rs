//! Messages without what they should not tell: addresses in memory, lines of a traceback, and where files of a machine are.
//!
//! The rules are the reference's, in its order. A plugin's own words, an operating system's and a client's all end up in messages.

/// Folders below which a machine keeps its files.
const ROOTS: [&str; 9] = ["/home/", "/usr/", "/opt/", "/var/", "/tmp/", "/root/", "/lib/", "/mnt/", "/srv/"];
/// What stands for a path.
const PATH: &str = "<path>";

/// A message as an answer tells it.
pub fn sanitised(message: &str) -> String {
    let text = without_traceback(&without_addresses(message));
    without_files(&without_folders(&text)).trim().to_owned()
}

/// `<object at 0x7f…>` as `<object>`.
fn without_addresses(text: &str) -> String {
    const MARK: &str = " at 0x";
    let mut clean = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(MARK) {
        let (before, from) = rest.split_at(start);
        let digits = from[MARK.len()..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let end = MARK.len() + digits;
        clean.push_str(before);
        if digits == 0 || !from[end..].starts_with('>') {
            clean.push_str(&from[..end]);
        }
        rest = &from[end..];
    }
    clean + rest
}

/// Without the lines in which Python tells where it was.
fn without_traceback(text: &str) -> String {
    let is_place = |line: &&str| line.trim_start().strip_prefix("File \"").is_some_and(|line| line.contains("\", line "));
    text.split('\n').filter(|line| !is_place(line)).collect::<Vec<_>>().join("\n")
}

/// Without whatever is below one of the folders.
fn without_folders(text: &str) -> String {
    let ends = |letter: char| letter.is_whitespace() || "'\"`,;:)]>".contains(letter);
    let path_len = |text: &str| {
        let root = ROOTS.into_iter().find(|root| text.starts_with(root))?;
        let len = text.find(ends).unwrap_or(text.len());
        (len > root.len()).then_some(len)
    };
    replaced(text, path_len)
}

/// Without paths of two names or more whose last one has an extension.
fn without_files(text: &str) -> String {
    replaced(text, file_len)
}

/// Bytes of the path at the beginning of a text, up to its last name with an extension.
fn file_len(text: &str) -> Option<usize> {
    let (mut end, mut names, mut found) = (0, 0, None);
    while let Some(name) = text[end..].strip_prefix('/') {
        let len = name.find(|letter: char| !(letter.is_alphanumeric() || "_.-".contains(letter))).unwrap_or(name.len());
        if len == 0 {
            break;
        }
        names += 1;
        let whole = name[..len].trim_end_matches(['.', '-']);
        if names > 1 && whole.rsplit_once('.').is_some_and(|(stem, _)| !stem.is_empty()) {
            found = Some(end + 1 + whole.len());
        }
        end += 1 + len;
    }
    found
}

/// A text in which a mark stands for what begins with a slash and has a length by this rule. Behind two slashes there is a host, not a path.
fn replaced(text: &str, path_len: impl Fn(&str) -> Option<usize>) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('/') {
        let from = &rest[start..];
        let slashes = from.len() - from.trim_start_matches('/').len();
        let path = start + slashes - 1;
        let len = path_len(&rest[path..]).filter(|_| slashes != 2);
        let (kept, mark) = if len.is_some() { (path, PATH) } else { (path + 1, "") };
        clean.push_str(&rest[..kept]);
        clean.push_str(mark);
        rest = &rest[path + len.unwrap_or(1)..];
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_and_lines_of_a_traceback_are_left_out() {
        for (message, told) in [
            ("<Engine object at 0x7f3a9c> died", "<Engine object> died"),
            ("<a at 0xF1>, <b at 0x2>", "<a>, <b>"),
            ("the register at 0x7f3a holds 3 > 2", "the register at 0x7f3a holds 3 > 2"),
            ("at 0x>", "at 0x>"),
            ("<a at 0x>", "<a at 0x>"),
            ("it broke\n  File \"model.py\", line 5, in step\nKeyError: 7", "it broke\nKeyError: 7"),
            ("File \"model.py\", line 5", ""),
            ("the File \"model.py\", line 5", "the File \"model.py\", line 5"),
            ("  spaces around \n", "spaces around"),
        ] {
            assert_eq!(sanitised(message), told, "{message:?}");
        }
    }

    #[test]
    fn what_is_below_the_folders_of_a_machine_is_left_out() {
        for root in ROOTS {
            assert_eq!(sanitised(&format!("cannot read '{root}a b', gone")), "cannot read '<path> b', gone");
            assert_eq!(
                sanitised(&format!("see {root}a/b-c, or ({root}d); `{root}e`: {root}f")),
                "see <path>, or (<path>); `<path>`: <path>"
            );
            let plain = format!("{root} and {}", root.trim_end_matches('/'));
            assert_eq!(sanitised(&plain), plain);
        }
        assert_eq!(sanitised("file:///home/me/a.wav is gone"), "file://<path> is gone");
        assert_eq!(sanitised("https://home/me"), "https://home/me");
    }

    #[test]
    fn paths_with_an_extension_are_left_out_and_other_slashes_stay() {
        for (message, told) in [
            ("https://h/a/b.wav", "https://h<path>"),
            ("https://h:80/a/b.wav?c=d", "https://h:80<path>?c=d"),
            ("file:///data/clips/a.wav", "file://<path>"),
            ("delete it by DELETE /v1/audio/voices/bob.smith.", "delete it by DELETE <path>."),
            ("/data/v1.2/weights", "<path>/weights"),
            ("/data/a.tar.gz/b.bin: broken", "<path>: broken"),
            ("/data/größe.wav", "<path>"),
            ("/data/.cache/.x.conf", "<path>"),
            ("/a.wav", "/a.wav"),
            ("/data/.cache", "/data/.cache"),
            ("There is nothing at /v1/audio/speech.", "There is nothing at /v1/audio/speech."),
            (
                "a URL (http/https), base64 data URL (data:...), or file URI (file://...)",
                "a URL (http/https), base64 data URL (data:...), or file URI (file://...)",
            ),
            ("Allowed: audio/mpeg, audio/wav, audio/x-wav", "Allowed: audio/mpeg, audio/wav, audio/x-wav"),
            ("The model `org/model-1.5b` does not exist.", "The model `org/model-1.5b` does not exist."),
            ("and/or 3.5/4.5 // /", "and/or 3.5/4.5 // /"),
            ("", ""),
        ] {
            assert_eq!(sanitised(message), told, "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn no_message_grows_or_breaks_it(message in "([/a.0x >\"\n:-]|/tmp/| at 0x1f>|File \"|\", line 3|ü){0,40}") {
            prop_assert!(sanitised(&message).len() <= message.len());
        }
    }
}
