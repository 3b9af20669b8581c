//! Whether plans fit, with the numbers.

use super::super::size::{GIB, human, parse};
use super::super::{Checkpoint, DeviceMemory, FitRow, Load, Machine, Plan, StageNeeds, fit};
use super::plan;

fn machine(sizes: &[u64]) -> Machine {
    let device = |(index, size): (usize, &u64)| DeviceMemory { index: index as u32, total_bytes: size * GIB, free_bytes: size * GIB };
    Machine { accelerators: Some(sizes.iter().enumerate().map(device).collect()) }
}

fn needs(weights: u64, token: u64) -> StageNeeds {
    StageNeeds { weight_bytes: weights * GIB, kv_bytes_per_token: token, ..StageNeeds::default() }
}

fn try_fit(plan: &Plan, needs: &[StageNeeds], machine: &Machine) -> Result<Vec<FitRow>, String> {
    fit(&[Load { plan, needs }], machine).map_err(|error| error.to_string())
}

fn one(keys: &str) -> Plan {
    plan(&format!("stages: [{{stage_id: 0, {keys}}}]")).expect("a good file")
}

#[test]
fn the_cache_is_what_the_sequences_need_or_what_the_limit_leaves() {
    let plan = one("max_num_seqs: 16, max_model_len: 4096");
    let rows = try_fit(&plan, &[needs(4, 1 << 16)], &machine(&[24])).expect("it fits");
    assert_eq!((rows[0].kv_tokens, rows[0].kv_bytes, rows[0].limit_bytes), (65536, 4 * GIB, None));
    let limited = one("max_num_seqs: 16, max_model_len: 4096, gpu_memory_utilization: 0.25");
    let rows = try_fit(&limited, &[needs(4, 1 << 16)], &machine(&[24])).expect("it fits with a smaller cache");
    assert_eq!((rows[0].kv_tokens, rows[0].kv_bytes, rows[0].limit_bytes), (32768, 2 * GIB, Some(6 * GIB)));
    let fixed = one("max_num_seqs: 16, max_model_len: 4096, gpu_memory_utilization: 0.1, kv_cache_memory_bytes: 1073741824");
    let rows = try_fit(&fixed, &[needs(4, 1 << 16)], &machine(&[24])).expect("bytes win over the share");
    assert_eq!((rows[0].kv_tokens, rows[0].kv_bytes), (16384, GIB));
}

#[test]
fn what_cannot_fit_is_refused_with_the_numbers() {
    let plan = one("max_num_seqs: 16, max_model_len: 4096");
    let error = try_fit(&plan, &[needs(4, 1 << 18)], &machine(&[16])).expect_err("it is too much");
    let wanted = "expected a plan within the 16.0 GiB that cuda:0 has free of 16.0 GiB, found one of 21.0 GiB:\n  \
                  pipeline/stage_0 replica 0: 4.0 GiB of weights, 16.0 GiB of cache (65536 tokens), 0 B of sequences\n  reserve: 1.0 GiB";
    assert_eq!(error, wanted);
    let limited = one("max_num_seqs: 16, max_model_len: 4096, gpu_memory_utilization: 0.1");
    let error = try_fit(&limited, &[needs(4, 1 << 16)], &machine(&[24])).expect_err("the limit is too low");
    let wanted = "test.yaml:1:63: stages.0.gpu_memory_utilization: expected at least 4.2 GiB (4.0 GiB of weights, 0 B of sequences, \
                  256.0 MiB of cache for one sequence of 4096 tokens), found a limit of 2.4 GiB";
    assert_eq!(error, wanted);
    let fixed = one("max_num_seqs: 16, max_model_len: 4096, kv_cache_memory_bytes: 1000");
    let error = try_fit(&fixed, &[needs(4, 1 << 16)], &machine(&[24])).expect_err("not one sequence fits");
    assert!(
        error.contains("expected a cache for one sequence of 4096 tokens, which is 268435456 bytes (256.0 MiB), found 1000 bytes"),
        "{error}"
    );
}

#[test]
fn a_device_that_is_not_there_and_shares_above_one_are_refused() {
    let error = try_fit(&one("devices: '1'"), &[], &machine(&[24])).expect_err("there is one device");
    assert_eq!(error, "test.yaml:1:24: stages.0.devices: expected a device of this machine, which has 0, found 1");
    let text = "stages: [{stage_id: 0, gpu_memory_utilization: 0.7}, {stage_id: 1, gpu_memory_utilization: 0.4}]";
    let plan = plan(text).expect("a good file");
    let error = try_fit(&plan, &[], &Machine::default()).expect_err("it is more than the device");
    assert!(error.contains("shares of cuda:0 that come to at most 1, found 1.10:\n  pipeline/stage_0: 0.7 (test.yaml:1:24)"), "{error}");
}

#[test]
fn plans_of_several_families_share_the_devices() {
    let (one, two) = (one("max_num_seqs: 1"), one("max_num_seqs: 1"));
    let needs = [needs(9, 0)];
    let loads = [Load { plan: &one, needs: &needs }, Load { plan: &two, needs: &needs }];
    assert!(fit(&loads[..1], &machine(&[16])).is_ok());
    assert!(fit(&loads, &machine(&[16])).is_err());
}

#[test]
fn replicas_spread_over_devices() {
    let spread = one("num_replicas: 2, devices: '0,1'");
    let rows = try_fit(&spread, &[needs(9, 0)], &machine(&[16, 16])).expect("one a device");
    assert_eq!(rows.iter().map(|row| row.device.as_str()).collect::<Vec<_>>(), ["cuda:0", "cuda:1"]);
    let counted = one("num_replicas: 3, devices: '2'");
    let rows = try_fit(&counted, &[], &Machine::default()).expect("devices count up");
    assert_eq!(rows.iter().map(|row| row.device.as_str()).collect::<Vec<_>>(), ["cuda:2", "cuda:3", "cuda:4"]);
    let plan = one("num_replicas: 2, devices: cpu");
    assert_eq!(plan.stages[0].devices.value, [omni_plugin_api::Device::Cpu; 2]);
}

#[test]
fn numbers_near_the_end_do_not_overflow() {
    let plan = one("max_num_seqs: 65536, max_model_len: 4294967296");
    let needs = [StageNeeds { weight_bytes: u64::MAX, kv_bytes_per_token: u64::MAX, bytes_per_sequence: u64::MAX, max_model_len: 0 }];
    assert!(try_fit(&plan, &needs, &machine(&[16])).is_err());
}

#[test]
fn a_checkpoint_tells_what_it_needs() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = r#"{"talker_config": {"num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 128, "hidden_size": 2048, "max_position_embeddings": 32768}}"#;
    std::fs::write(folder.path().join("config.json"), config).expect("a file");
    std::fs::write(folder.path().join("model.safetensors"), [0; 1000]).expect("a file");
    let needs = Checkpoint::read(folder.path()).expect("a checkpoint").needs();
    assert_eq!((needs.weight_bytes, needs.kv_bytes_per_token, needs.max_model_len), (1000, 28 * 8 * 128 * 2 * 2, 32768));
    std::fs::write(folder.path().join("config.json"), "{}").expect("a file");
    assert_eq!(Checkpoint::read(folder.path()).expect("a checkpoint").needs().kv_bytes_per_token, 0);
}

#[test]
fn sizes_are_read_and_written() {
    for (text, bytes) in [("80GiB", 80 * GIB), ("1.5 g", GIB * 3 / 2), ("24GB", 24_000_000_000), ("512M", 512 << 20), ("7", 7)] {
        assert_eq!(parse(text), Some(bytes), "{text}");
    }
    for text in ["", "GiB", "1x", "-1", "1e9", "99999999999TiB", "1.2.3"] {
        assert_eq!(parse(text), None, "{text}");
    }
    assert_eq!([human(0), human(2048), human(6442450944)], ["0 B", "2.0 KiB", "6.0 GiB"]);
}
