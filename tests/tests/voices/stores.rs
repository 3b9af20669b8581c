//! The suite over every store: a folder, memory, and a bucket of an S3 server of somebody else's making.

use std::path::Path;
use std::time::{Duration, SystemTime};

use omni_host::voices::{DAMAGED, LocalStore, MemoryStore, ObjectVoices, Rules, VoiceStore, file_of};
use omni_tests::s3::{BUCKET, S3};

use super::suite::{self, Open, clip, host, mark_of};

/// Tries one part of the suite on a fresh place of each store.
fn everywhere(part: &str, test: impl Fn(Open<'_>)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&|| -> Box<dyn VoiceStore> { Box::new(LocalStore::new(folder.path().join("voices"))) });
    let memory = MemoryStore::default();
    test(&|| -> Box<dyn VoiceStore> { Box::new(memory.clone()) });
    let address = format!("s3://{BUCKET}/{part}");
    test(&|| -> Box<dyn VoiceStore> { Box::new(open_bucket(&address)) });
}

fn open_bucket(address: &str) -> ObjectVoices {
    ObjectVoices::open_with(address, &S3::shared().variables()).expect("a bucket")
}

#[test]
fn files_are_put_whole_and_kept_when_damaged() {
    everywhere("files", suite::files);
}

#[test]
fn of_many_that_put_a_file_where_there_is_none_one_succeeds() {
    everywhere("race", suite::one_wins);
}

#[test]
fn voices_are_stored_replaced_deleted_and_there_after_a_restart() {
    everywhere("voices", suite::voices);
}

#[test]
fn a_voice_that_may_not_be_replaced_is_stored_by_one_of_many_hosts() {
    everywhere("immutable", suite::immutable);
}

#[test]
fn what_one_host_does_another_sees() {
    everywhere("hosts", suite::two_hosts);
}

#[test]
fn two_hosts_that_change_the_same_voices_at_once_tear_none_and_agree() {
    everywhere("many", |open| suite::many_at_once(open, 200));
}

#[test]
fn a_bucket_that_cannot_be_reached_says_so() {
    let gone = [
        ("aws_endpoint_url", "http://127.0.0.1:9"),
        ("aws_allow_http", "true"),
        ("aws_access_key_id", "k"),
        ("aws_secret_access_key", "s"),
    ];
    let store = ObjectVoices::open_with("s3://voices/x", &gone).expect("it is opened without a look");
    let error = store.list().expect_err("nobody listens there");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

fn local(folder: &Path) -> Box<dyn VoiceStore> {
    Box::new(LocalStore::new(folder))
}

fn grown_old(path: &Path) {
    let file = std::fs::File::options().write(true).open(path).expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("its time is set");
}

#[test]
fn a_damaged_file_is_set_aside_and_everything_else_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let open = || local(folder.path());
    host(&open, Rules::default()).register(&clip("good", 1)).expect("it is stored");
    let good = std::fs::read(at(&file_of("good"))).expect("its file");
    std::fs::write(at("half.safetensors"), &good[..good.len() / 2]).expect("a file");
    std::fs::write(at("fresh.safetensors"), &good[..10]).expect("a file");
    std::fs::write(at("text.safetensors"), "this is no voice").expect("a file");
    std::fs::write(at("notes.txt"), "mine").expect("a file");
    std::fs::create_dir(at("folder.safetensors")).expect("a folder");
    grown_old(&at("half.safetensors"));
    grown_old(&at("text.safetensors"));
    let voices = host(&open, Rules::default());
    assert_eq!((mark_of(&voices, "good"), voices.list().len()), (Some(1), 1));
    let mut left: Vec<String> =
        std::fs::read_dir(folder.path()).expect("a listing").flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    left.sort();
    let mut wanted = vec![
        "folder.safetensors".to_owned(),
        // Somebody may still be copying it.
        "fresh.safetensors".to_owned(),
        file_of("good"),
        format!("half.safetensors{DAMAGED}"),
        "notes.txt".to_owned(),
        format!("text.safetensors{DAMAGED}"),
    ];
    wanted.sort();
    assert_eq!(left, wanted);
    assert_eq!(std::fs::read(at(&format!("half.safetensors{DAMAGED}"))).expect("it is kept"), &good[..good.len() / 2]);
}

#[test]
fn files_named_as_the_reference_names_them_are_served_and_the_newest_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (made, open) = (tempfile::tempdir().expect("a folder"), || local(folder.path()));
    let maker = || local(made.path());
    for mark in [1, 2] {
        let record = host(&maker, Rules::default()).register(&clip("Anne", mark)).expect("it is stored");
        let theirs = format!("Anne_consent_{}.safetensors", record.created_at);
        std::fs::copy(made.path().join(file_of("anne")), folder.path().join(theirs)).expect("a copy");
    }
    let voices = host(&open, Rules::default());
    assert_eq!((mark_of(&voices, "anne"), voices.list().len()), (Some(2), 1));
    voices.register(&clip("anne", 3)).expect("it is replaced");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a listing").count(), 1, "older files of the voice stay");
    assert_eq!(mark_of(&host(&open, Rules::default()), "anne"), Some(3));
    std::fs::copy(made.path().join(file_of("anne")), folder.path().join("Anne_c_1.safetensors")).expect("a copy");
    let voices = host(&open, Rules::default());
    assert!(voices.remove("anne").expect("it is deleted"));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a listing").count(), 0, "a file of a deleted voice stays");
}
