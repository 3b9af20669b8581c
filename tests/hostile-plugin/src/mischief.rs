//! The ways to misbehave, and the words that ask for them.

use std::env;
use std::fs;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Environment variable that names a [`LoadMischief`].
const LOAD: &str = "OMNI_HOSTILE";
/// Environment variable with the seconds that "hang" lasts; long past any watchdog when absent.
const HANG_SECS: &str = "OMNI_HOSTILE_HANG_SECS";

/// What goes wrong while the plugin loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadMischief {
    /// `panic-on-load`: its constructor panics.
    PanicOnLoad,
    /// `panic-on-describe`: its description panics.
    PanicOnDescribe,
    /// `hang-on-describe`: its description does not come.
    HangOnDescribe,
    /// `panic-on-open`: opening the model panics.
    PanicOnOpen,
    /// `hang-on-load`: opening the model does not end.
    HangOnLoad,
    /// `fail-on-load`: opening the model fails in the orderly way.
    FailOnLoad,
    /// `panic-on-open-stage`: opening the stage panics.
    PanicOnOpenStage,
    /// `rate-zero`: it describes a sample rate of 0.
    RateZero,
    /// `duplicate-name`: it claims to be the family `sine`.
    DuplicateName,
}

impl LoadMischief {
    /// The one asked for: by the name of this library's file, `libhostile+panic-on-load.so`, so that one host can hold several that
    /// misbehave differently; else by the environment.
    pub fn asked() -> Option<Self> {
        Self::named(&load_word()?)
    }

    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "panic-on-load" => Self::PanicOnLoad,
            "panic-on-describe" => Self::PanicOnDescribe,
            "hang-on-describe" => Self::HangOnDescribe,
            "panic-on-open" => Self::PanicOnOpen,
            "hang-on-load" => Self::HangOnLoad,
            "fail-on-load" => Self::FailOnLoad,
            "panic-on-open-stage" => Self::PanicOnOpenStage,
            "rate-zero" => Self::RateZero,
            "duplicate-name" => Self::DuplicateName,
            _ => return None,
        })
    }
}

/// The word in the file's name or in the environment.
pub fn load_word() -> Option<String> {
    word_in(&own_file()?).map(str::to_owned).or_else(|| env::var(LOAD).ok())
}

fn word_in(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.strip_prefix("libhostile+")?.strip_suffix(".so")
}

/// The file this library was loaded from: the one mapped where its own code lies.
fn own_file() -> Option<String> {
    let here = own_file as fn() -> Option<String> as usize;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(from, to)| (number(from)..number(to)).contains(&here))
    };
    let line = maps.lines().find(holds)?;
    line.find('/').map(|at| line[at..].to_owned())
}

/// What goes wrong in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mischief {
    /// "panic in prepare"
    PanicInPrepare,
    /// "hang in prepare"
    HangInPrepare,
    /// "panic in admit"
    PanicInAdmit,
    /// "panic in step"
    PanicInStep,
    /// "hang in step"
    HangInStep,
    /// "panic in release": the audio is good, giving the slot back panics.
    PanicInRelease,
    /// "flood forever": good chunks, many a step, and no end.
    FloodForever,
    /// "flood": a hundred thousand empty chunks in one step.
    Flood,
    /// "lie about the sequence": audio for a sequence that does not exist.
    LieAboutTheSequence,
    /// "wrong kind": codes where audio was declared.
    WrongKind,
    /// "not finite": samples that are no numbers.
    NotFinite,
    /// "malformed": samples that do not fill their channels.
    Malformed,
    /// "fail late": an orderly failure after a quarter of a second of audio.
    FailLate,
    /// "stop short": every other time it says after a quarter of a second that the text has not come to its end.
    StopShort,
    /// "fail": an orderly failure at once.
    Fail,
    /// "stage fails": the step itself fails in the orderly way.
    StageFails,
    /// "nothing": an end without audio.
    Nothing,
    /// "idle forever": steps in which nothing happens.
    IdleForever,
    /// "log flood": ten thousand log lines, then good audio.
    LogFlood,
}

/// The words for each, longer ones before those they contain.
const WORDS: [(&str, Mischief); 19] = [
    ("panic in prepare", Mischief::PanicInPrepare),
    ("hang in prepare", Mischief::HangInPrepare),
    ("panic in admit", Mischief::PanicInAdmit),
    ("panic in step", Mischief::PanicInStep),
    ("hang in step", Mischief::HangInStep),
    ("panic in release", Mischief::PanicInRelease),
    ("log flood", Mischief::LogFlood),
    ("flood forever", Mischief::FloodForever),
    ("flood", Mischief::Flood),
    ("lie about the sequence", Mischief::LieAboutTheSequence),
    ("wrong kind", Mischief::WrongKind),
    ("not finite", Mischief::NotFinite),
    ("malformed", Mischief::Malformed),
    ("fail late", Mischief::FailLate),
    ("stage fails", Mischief::StageFails),
    ("stop short", Mischief::StopShort),
    ("fail", Mischief::Fail),
    ("nothing", Mischief::Nothing),
    ("idle forever", Mischief::IdleForever),
];

impl Mischief {
    /// The first one that a text asks for.
    pub fn asked(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, mischief)| *mischief)
    }
}

/// Does not come back for a long time. Bounded, so that a forgotten process ends.
pub fn hang() {
    let seconds = env::var(HANG_SECS).ok().and_then(|text| text.parse().ok()).unwrap_or(600);
    thread::sleep(Duration::from_secs(seconds));
}

#[cfg(test)]
mod tests {
    use super::{Mischief, own_file, word_in};

    #[test]
    fn the_longer_words_win() {
        assert_eq!(Mischief::asked("Flood forever, please."), Some(Mischief::FloodForever));
        assert_eq!(Mischief::asked("a log flood"), Some(Mischief::LogFlood));
        assert_eq!(Mischief::asked("Fail late!"), Some(Mischief::FailLate));
        assert_eq!(Mischief::asked("Be good."), None);
    }

    #[test]
    fn a_file_can_name_what_goes_wrong_while_it_loads() {
        assert_eq!(word_in("/tmp/x/libhostile+panic-on-load.so"), Some("panic-on-load"));
        assert_eq!(word_in("/tmp/libhostile.so"), None);
        let file = own_file().expect("this code was loaded from a file");
        assert!(file.contains("hostile"), "{file}");
    }
}
