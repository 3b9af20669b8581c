//! Which family a checkpoint belongs to, and which file a family gets.

use std::path::Path;

use omni_plugin_api::{Checkpoint as Known, Device, FamilyInfo};

use super::super::select::{self, Match};
use super::super::{Checkpoint, ConfigArgs, DeviceMemory, Given, Machine, Scoped};
use super::family;

fn known(model_type: &str, architectures: &[&str], files: &[&str]) -> Known {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Known { model_type: model_type.to_owned(), architectures: owned(architectures), files: owned(files) }
}

fn families() -> Vec<FamilyInfo> {
    vec![
        family("qwen3_tts", known("qwen3_tts", &["Qwen3TTSForConditionalGeneration"], &[])),
        family("moss_tts", known("moss", &["MossTTS"], &[])),
        family("moss_tts_nano", known("moss", &["MossTTSNano"], &[])),
        family("gepard", known("", &[], &["gepard_config.json"])),
        family("omnivoice", known("", &["OmniVoicePipeline"], &[])),
    ]
}

/// A folder's name, its files, and the family that is found by what.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, Match);

/// A checkpoint's folder with these files.
fn checkpoint(folder: &Path, name: &str, files: &[(&str, &str)]) -> Checkpoint {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    Checkpoint::read(&folder).expect("a checkpoint")
}

#[test]
fn a_checkpoint_is_recognised_by_what_it_says_then_by_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let families = families();
    let cases: [Case; 8] = [
        ("a", &[("config.json", r#"{"model_type": "qwen3_tts"}"#)], "qwen3_tts", Match::ModelType),
        ("b", &[("config.json", r#"{"architecture": "qwen3-tts"}"#)], "qwen3_tts", Match::ModelType),
        ("c", &[("config.json", r#"{"model_type": "moss", "architectures": ["MossTTSNano"]}"#)], "moss_tts_nano", Match::ModelType),
        ("d", &[("model_index.json", r#"{"_class_name": "OmniVoicePipeline"}"#)], "omnivoice", Match::ClassName),
        ("Qwen3-TTS-12Hz", &[("config.json", "{}")], "qwen3_tts", Match::Name),
        ("MOSS-TTS-Nano-1", &[], "moss_tts_nano", Match::Name),
        ("e", &[("config.json", r#"{"model_type": "x", "architectures": ["MossTTS"]}"#)], "moss_tts", Match::Architecture),
        ("f", &[("config.json", r#"{"model_type": "qwen3_5_text"}"#), ("gepard_config.json", "{}")], "gepard", Match::Layout),
    ];
    for (name, files, wanted, how) in cases {
        let checkpoint = checkpoint(folder.path(), name, files);
        let (found, by) = select::family(&families, &checkpoint, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((found.name.as_str(), by), (wanted, how), "{name}");
    }
}

#[test]
fn the_files_pipeline_decides_before_the_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let families = families();
    let checkpoint = checkpoint(folder.path(), "a", &[("config.json", r#"{"model_type": "qwen3_tts"}"#)]);
    let (found, by) = select::family(&families, &checkpoint, Some("gepard")).expect("a family");
    assert_eq!((found.name.as_str(), by), ("gepard", Match::Pipeline));
    let error = select::family(&families, &checkpoint, Some("other")).expect_err("nobody is called that").to_string();
    assert!(error.contains("found 'other'"), "{error}");
}

#[test]
fn a_checkpoint_of_nobody_is_named_with_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let families = families();
    let stranger = checkpoint(folder.path(), "a", &[("config.json", r#"{"model_type": "llama", "architectures": ["Llama"]}"#)]);
    for error in [
        select::family(&families, &stranger, None).expect_err("it belongs to nobody").to_string(),
        select::verify(&families[0], &stranger).expect_err("it is another's").to_string(),
    ] {
        assert!(error.contains("with model_type 'llama', architectures Llama"), "{error}");
    }
    let silent = checkpoint(folder.path(), "b", &[]);
    assert_eq!(select::verify(&families[0], &silent), Ok(()));
    std::fs::write(folder.path().join("b/config.json"), "{").expect("a file");
    assert!(Checkpoint::read(&folder.path().join("b")).is_err());
}

fn scoped(texts: &[&str]) -> Vec<Scoped> {
    texts.iter().map(|text| text.parse().expect("any text is good")).collect()
}

#[test]
fn a_family_gets_its_own_file() {
    let families = families();
    let name = |given: &[&str], index: usize, count: usize| {
        select::deploy_file(&families[index], &scoped(given), count).map(|source| source.map(|source| source.name.to_string()))
    };
    assert_eq!(name(&[], 0, 1), Ok(Some("deploy/qwen3_tts.yaml".to_owned())));
    assert_eq!(name(&[], 1, 1), Ok(None), "no file of that name is packaged");
    assert_eq!(name(&["glm_tts"], 0, 1), Ok(Some("deploy/glm_tts.yaml".to_owned())));
    let both = ["qwen3_tts=qwen3_tts_mrv2", "moss_tts=moss_tts_nano"];
    assert_eq!(name(&both, 0, 2), Ok(Some("deploy/qwen3_tts_mrv2.yaml".to_owned())));
    assert_eq!(name(&both, 1, 2), Ok(Some("deploy/moss_tts_nano.yaml".to_owned())));
    assert!(name(&["glm_tts"], 0, 2).is_err(), "whose file is it");
    assert!(name(&["glm_tts", "qwen3_tts"], 0, 1).is_err(), "which one");
    let mut carrying = families[0].clone();
    carrying.deploy = "stages: [{stage_id: 0}]".to_owned();
    let carried = select::deploy_file(&carrying, &[], 1).expect("a file").expect("a file");
    assert_eq!(&*carried.name, "the deploy file of qwen3_tts");
    assert!(select::check_scopes(&["qwen3_tts"], &scoped(&["other=x"]), "--deploy-config").is_err());
}

#[test]
fn several_families_have_a_plan_each() {
    let families = families();
    let args = ConfigArgs { stage_overrides: scoped(&[r#"qwen3_tts={"0": {"max_num_seqs": 3}}"#]), ..ConfigArgs::default() };
    let machine = Machine { accelerators: Some(vec![DeviceMemory { index: 0, total_bytes: 1, free_bytes: 1 }]) };
    let given = Given { args: &args, stage_flags: &[], variables: &[], machine: &machine };
    let plans = given.plans(&families[..2]).expect("two plans");
    let seqs = |index: usize| plans[index].stages[0].max_num_seqs.as_ref().map(|seqs| seqs.value);
    assert_eq!((seqs(0), seqs(1)), (Some(3), None));
    assert_eq!(plans[0].stages[1].name, "codec");
    assert_eq!(plans[0].placement().devices, [Device::Cuda(0), Device::Cuda(0)]);
    let unscoped = ConfigArgs { stage_overrides: scoped(&["{\"0\": {\"max_num_seqs\": 3}}"]), ..ConfigArgs::default() };
    let given = Given { args: &unscoped, ..given };
    assert!(given.plans(&families[..2]).is_err(), "whose stage is it");
    assert!(given.plans(&families[..1]).is_ok());
}

#[test]
fn a_file_for_another_family_is_refused() {
    let families = families();
    let args = ConfigArgs { deploy_config: scoped(&["cosyvoice3"]), ..ConfigArgs::default() };
    let machine = Machine::default();
    let given = Given { args: &args, stage_flags: &[], variables: &[], machine: &machine };
    let error = given.plans(&families[..1]).expect_err("it is for cosyvoice3").to_string();
    assert_eq!(error, "deploy/cosyvoice3.yaml:2:1: pipeline: expected a file for the family qwen3_tts, found one for 'cosyvoice3'");
}

#[test]
fn a_file_may_not_have_more_stages_than_the_family() {
    let source = super::super::Source::of_test("test.yaml", "stages:\n- stage_id: 0\n- stage_id: 2\n  max_num_seqs: 1\n");
    let error = super::plan_for(&source, Some(&families()[0]), &[], &[]).expect_err("two stages").to_string();
    assert_eq!(error, "test.yaml:4:3: stages.2: expected a stage from 0 to 1, which is what the family has, found 2");
    let source = super::super::Source::of_test("test.yaml", "async_chunk: true\n");
    let plan = super::plan_for(&source, Some(&families()[0]), &[], &[]).expect("stages that are left out have their defaults");
    assert_eq!(plan.stages.len(), 2);
    let mut whole = families()[0].clone();
    whole.abilities.streams = false;
    let error = super::plan_for(&source, Some(&whole), &[], &[]).expect_err("it cannot").to_string();
    assert_eq!(error, "test.yaml:1:1: async_chunk: expected false, since the family qwen3_tts does not stream, found true");
}

#[test]
fn a_machine_without_accelerators_runs_on_its_processor() {
    let (args, machine) = (ConfigArgs::default(), Machine { accelerators: Some(Vec::new()) });
    let given = Given { args: &args, stage_flags: &[], variables: &[], machine: &machine };
    let plans = given.plans(&families()[..1]).expect("a plan");
    assert_eq!(plans[0].platform, "cpu");
    assert_eq!(plans[0].placement().devices, [Device::Cpu, Device::Cpu]);
    assert!(plans[0].findings.iter().any(|finding| finding.to_string().contains("no accelerator")));
}
