//! What every store must do, and what voices on it must do. A place is opened several times: each time is another host.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use omni_host::config::RegistrationPolicy;
use omni_host::reference::Clip;
use omni_host::voices::{
    DAMAGED, NewVoice, Put, Record, Rules, Sample, Source, StoreError, VoiceError, VoiceName, VoiceStore, Voices, file_of,
};

/// Opens the place once more.
pub type Open<'a> = &'a (dyn Fn() -> Box<dyn VoiceStore> + Sync);

/// A host on the place, which has read what is there.
pub fn host(open: Open<'_>, rules: Rules) -> Voices {
    let voices = Voices::new(open(), rules, Box::new(|_| ()));
    voices.refresh().expect("the store can be read");
    voices
}

/// A clip whose every sample, length and transcript say which one it is.
pub fn clip(name: &str, mark: usize) -> NewVoice {
    let samples = vec![mark as f32 / 1000.0; 16_000 + mark];
    NewVoice {
        name: VoiceName::read(name).expect("a name"),
        consent: format!("consent of {mark}"),
        mime_type: "audio/wav".to_owned(),
        original_filename: "clip.wav".to_owned(),
        file_size: Some(mark as u64),
        ref_text: Some(mark.to_string()),
        speaker_description: None,
        sample: Sample::Audio(Clip::new(samples, 16_000)),
    }
}

/// Which clip a name has; panics when it is a mixture of two.
pub fn mark_of(voices: &Voices, name: &str) -> Option<usize> {
    voices.load(name).expect("the voice can be read").map(|(record, sample)| check(&record, sample))
}

/// The same of a voice that others replace all the time: it may change faster than it can be read, and the error says so.
fn mark_of_changing(voices: &Voices, name: &str) -> Option<usize> {
    match voices.load(name) {
        Err(VoiceError::Store(StoreError::Unavailable(reason))) if reason.contains("faster") => None,
        Err(error) => panic!("{name}: {error}"),
        Ok(found) => found.map(|(record, sample)| check(&record, sample)),
    }
}

fn check(record: &Record, sample: Sample) -> usize {
    let mark: usize = record.ref_text.as_deref().expect("a transcript").parse().expect("a number");
    let Sample::Audio(Clip { samples, .. }) = sample else { panic!("{} is no clip", record.name) };
    assert_eq!((samples.len(), record.file_size), (16_000 + mark, mark as u64), "{} is torn", record.name);
    assert!(samples.iter().all(|sample| *sample == mark as f32 / 1000.0), "{} is torn", record.name);
    mark
}

fn names(voices: &Voices) -> BTreeSet<String> {
    voices.list().iter().map(|record| record.key.clone()).collect()
}

/// Files are put whole, or only where there is none; read, listed, deleted and set aside.
pub fn files(open: Open<'_>) {
    let (store, other) = (open(), open());
    let file = file_of("one");
    assert!(store.list().expect("a listing").is_empty());
    assert!(matches!(store.read(&file, 10), Err(StoreError::NotFound)));
    assert!(matches!(store.delete(&file), Err(StoreError::NotFound)));
    let first = store.put(&file, b"first".to_vec(), Put::IfAbsent).expect("it is put");
    assert!(matches!(other.put(&file, b"second".to_vec(), Put::IfAbsent), Err(StoreError::Exists)));
    let read = other.read(&file, 3).expect("it is there");
    assert_eq!((read.bytes.as_slice(), read.listed.bytes, &read.listed.version), (&b"fir"[..], 5, &first.version));
    let third = other.put(&file, b"third one".to_vec(), Put::Replace).expect("it is replaced");
    assert_ne!(third.version, first.version);
    let listing = store.list().expect("a listing");
    assert_eq!(listing.iter().map(|listed| (&listed.file, &listed.version)).collect::<Vec<_>>(), [(&file, &third.version)]);
    assert_eq!(store.read(&file, 100).expect("it is there").bytes, b"third one");
    assert!(matches!(store.set_aside(&first), Err(StoreError::NotFound)), "another version was set aside");
    assert_eq!(store.read(&file, 100).expect("it is still there").bytes, b"third one");
    assert_eq!(store.set_aside(&third).expect("it is set aside"), format!("{file}{DAMAGED}"));
    assert!(other.list().expect("a listing").is_empty());
    other.put(&file, Vec::new(), Put::Replace).expect("nothing is something too");
    assert!(store.read(&file, 100).expect("it is there").bytes.is_empty());
    store.delete(&file).expect("it is deleted");
    assert!(matches!(other.delete(&file), Err(StoreError::NotFound)));
}

/// Of many that put a file where there is none, one succeeds.
pub fn one_wins(open: Open<'_>) {
    for round in 0..10 {
        let file = file_of(&format!("race {round}"));
        let put = |number: usize| open().put(&file, vec![number as u8; 10_000], Put::IfAbsent).is_ok();
        let winners: Vec<usize> = thread::scope(|scope| {
            let racers: Vec<_> = (0..8).map(|number| scope.spawn(move || put(number).then_some(number))).collect();
            racers.into_iter().filter_map(|racer| racer.join().expect("no panic")).collect()
        });
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        let bytes = open().read(&file, 20_000).expect("it is there").bytes;
        assert_eq!(bytes, vec![winners[0] as u8; 10_000]);
    }
}

/// Voices are stored, found, replaced, deleted, and there after a restart.
pub fn voices(open: Open<'_>) {
    let rules = Rules { max_voices: 3, ..Rules::default() };
    let one = host(open, rules);
    let first = one.register(&clip("Anne", 1)).expect("it is stored");
    let second =
        one.register(&NewVoice::of_vector(VoiceName::read("Vector").expect("a name"), "c", vec![0.5, -1.0])).expect("it is stored");
    assert!(second.created_at > first.created_at, "times grow");
    assert_eq!(mark_of(&one, " ANNE "), Some(1));
    let replaced = one.register(&clip("anne", 2)).expect("it is replaced");
    assert!(replaced.created_at > second.created_at);
    assert_eq!((mark_of(&one, "Anne"), one.list().len()), (Some(2), 2));
    one.register(&clip("Über-Zoë 👩‍🚀", 3)).expect("it is stored");
    assert!(matches!(one.register(&clip("fourth", 4)), Err(VoiceError::Full(3))));
    one.register(&clip("ANNE", 5)).expect("replacing needs no place");

    let after_restart = host(open, rules);
    assert_eq!(names(&after_restart), ["anne", "vector", "über-zoë 👩‍🚀"].map(str::to_owned).into());
    assert_eq!(mark_of(&after_restart, "Anne"), Some(5));
    let (record, sample) = after_restart.load("vector").expect("it can be read").expect("it is there");
    assert_eq!((record.source, sample), (Source::Embedding { dim: 2 }, Sample::Embedding(vec![0.5, -1.0])));
    assert!(after_restart.remove("VECTOR").expect("it is deleted"));
    assert!(!after_restart.remove("vector").expect("nothing is deleted"));
    assert!(after_restart.load("vector").expect("it can be asked for").is_none());
    assert!(!after_restart.remove("").expect("nothing is deleted"));
}

/// A voice that may not be replaced is stored by one of many hosts.
pub fn immutable(open: Open<'_>) {
    let rules = Rules { policy: RegistrationPolicy::Immutable, ..Rules::default() };
    let hosts: Vec<Voices> = (0..6).map(|_| host(open, rules)).collect();
    let stored = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (number, host) in hosts.iter().enumerate() {
            let stored = &stored;
            scope.spawn(move || match host.register(&clip("Only", number + 1)) {
                Ok(_) => stored.store(number + 1, Ordering::SeqCst),
                Err(VoiceError::Exists(_)) => (),
                Err(error) => panic!("{error}"),
            });
        }
    });
    let stored = stored.into_inner();
    assert!(stored > 0, "nobody could store it");
    for host in &hosts {
        assert_eq!(mark_of(host, "only"), Some(stored), "hosts do not agree");
        assert!(matches!(host.register(&clip("ONLY", 9)), Err(VoiceError::Exists(_))));
    }
    assert!(hosts[1].remove("only").expect("it is deleted"));
    hosts[2].register(&clip("only", 7)).expect("its name is free again");
}

/// What one host does is seen by another: a new voice at once when it is asked for, all of it after a look.
pub fn two_hosts(open: Open<'_>) {
    let (one, other) = (host(open, Rules::default()), host(open, Rules::default()));
    one.register(&clip("anne", 1)).expect("it is stored");
    assert_eq!(mark_of(&other, "Anne"), Some(1), "a voice that was just stored is not found elsewhere");
    one.register(&clip("anne", 2)).expect("it is replaced");
    one.register(&clip("bob", 3)).expect("it is stored");
    other.refresh().expect("a look");
    assert_eq!((mark_of(&other, "anne"), names(&other).len()), (Some(2), 2));
    assert!(other.remove("anne").expect("it is deleted"));
    assert!(!one.remove("anne").expect("nothing is left to delete"));
    one.refresh().expect("a look");
    assert_eq!(names(&one), ["bob".to_owned()].into());
}

/// Ends the readers, also when a writer panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Two hosts store, replace and delete the same few voices at once, while both read: no voice is ever torn, and both end with the same.
pub fn many_at_once(open: Open<'_>, changes: usize) {
    const NAMES: [&str; 4] = ["anne", "bob", "cleo", "dora"];
    let hosts = [host(open, Rules::default()), host(open, Rules::default())];
    let is_over = AtomicBool::new(false);
    let change = |number: usize| {
        let (host, name) = (&hosts[number % 2], NAMES[number / 2 % 4]);
        if number % 5 == 4 {
            host.remove(name).expect("it is deleted, or not there");
        } else {
            host.register(&clip(name, number)).expect("it is stored");
        }
    };
    thread::scope(|scope| {
        for host in &hosts {
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    host.refresh().expect("a look");
                    for name in NAMES {
                        mark_of_changing(host, name);
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let (_over, next) = (Over(&is_over), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    while let number = next.fetch_add(1, Ordering::SeqCst)
                        && number < changes
                    {
                        change(number);
                    }
                });
            }
        });
    });
    hosts.iter().for_each(|host| host.refresh().expect("a look"));
    assert_eq!(names(&hosts[0]), names(&hosts[1]), "the hosts do not agree");
    let fresh = host(open, Rules::default());
    assert_eq!(names(&fresh), names(&hosts[0]), "a fresh host sees something else");
    for name in NAMES {
        assert_eq!(mark_of(&hosts[0], name), mark_of(&fresh, name), "{name}");
        assert_eq!(mark_of(&hosts[1], name), mark_of(&fresh, name), "{name}");
    }
}
