//! What is known of a machine before anything is loaded.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::plugin::limited;

/// Asks NVIDIA's driver for the devices' number, all of their memory, and what of it is free, in MiB.
const ASK: [&str; 2] = ["--query-gpu=index,memory.total,memory.free", "--format=csv,noheader,nounits"];
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The memory of an accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeviceMemory {
    /// Its number.
    pub index: u32,
    /// All of its memory.
    pub total_bytes: u64,
    /// What of it is free.
    pub free_bytes: u64,
}

/// What is known of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// Its accelerators; none when they are not known, empty when there are none.
    pub accelerators: Option<Vec<DeviceMemory>>,
}

impl Machine {
    /// What this machine shows without a driver library being loaded: one without NVIDIA's kernel driver has no accelerator; one with it tells
    /// its memory by `nvidia-smi`, if that is there.
    pub fn here() -> Self {
        let has_driver = ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"].iter().any(|path| Path::new(path).exists());
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        Self { accelerators: if has_driver { nvidia().and_then(|found| seen(&found, visible.as_deref())) } else { Some(Vec::new()) } }
    }
}

/// The devices as the driver counts them; none where it does not tell.
fn nvidia() -> Option<Vec<DeviceMemory>> {
    let output = limited("nvidia-smi", PATIENCE, || Command::new("nvidia-smi").args(ASK).output()).ok()?.ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    text.lines().map(device).collect()
}

/// A line of `nvidia-smi`: `0, 143771, 143161`.
fn device(line: &str) -> Option<DeviceMemory> {
    let mut numbers = line.split(',').map(|number| number.trim().parse::<u64>());
    let mut next = || numbers.next()?.ok();
    let (index, total, free) = (next()?, next()?, next()?);
    let bytes = |mebibytes: u64| mebibytes.checked_mul(1 << 20);
    Some(DeviceMemory { index: u32::try_from(index).ok()?, total_bytes: bytes(total)?, free_bytes: bytes(free)? })
}

/// The devices as this process counts them. None where that is not certain: unlike devices are counted in an order of CUDA's own, and names in
/// `CUDA_VISIBLE_DEVICES` are not looked up.
fn seen(found: &[DeviceMemory], visible: Option<&str>) -> Option<Vec<DeviceMemory>> {
    let are_alike = found.windows(2).all(|pair| pair[0].total_bytes == pair[1].total_bytes);
    let numbers: Vec<u32> = match visible {
        Some(visible) => visible.split(',').map(|number| number.trim().parse().ok()).collect::<Option<_>>()?,
        None => found.iter().map(|device| device.index).collect(),
    };
    let devices = numbers.iter().map(|number| found.iter().find(|device| device.index == *number));
    let counted = (0..).zip(devices).map(|(index, device)| Some(DeviceMemory { index, ..*device? }));
    counted.collect::<Option<_>>().filter(|_| are_alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(text: &str) -> Option<Vec<DeviceMemory>> {
        text.lines().map(device).collect()
    }

    /// Number and free MiB of each device.
    fn counted(text: &str, visible: Option<&str>) -> Option<Vec<(u32, u64)>> {
        let seen = seen(&devices(text).expect("lines of devices"), visible)?;
        Some(seen.iter().map(|device| (device.index, device.free_bytes >> 20)).collect())
    }

    #[test]
    fn devices_are_counted_as_the_process_sees_them() {
        let two = "0, 143771, 143161\n1, 143771, 9000\n";
        assert_eq!(counted(two, None), Some(vec![(0, 143_161), (1, 9_000)]));
        assert_eq!(counted(two, Some("1")), Some(vec![(0, 9_000)]));
        assert_eq!(counted(two, Some(" 1 , 0 ")), Some(vec![(0, 9_000), (1, 143_161)]));
        assert_eq!(counted("", None), Some(Vec::new()));
    }

    #[test]
    fn what_is_not_certain_is_not_known() {
        let unlike = "0, 24564, 24000\n1, 81920, 81000\n";
        assert_eq!(counted(unlike, None), None);
        let one = "0, 143771, 143161\n";
        assert_eq!([counted(one, Some("GPU-8932f937")), counted(one, Some("3")), counted(one, Some(""))], [None, None, None]);
        for text in ["No devices were found", "0, [N/A], [N/A]", "0, 1", "-1, 5, 5", "0, 18446744073709551615, 1"] {
            assert_eq!(devices(text), None, "{text}");
        }
    }
}
