//! Which device each replica of a stage runs on.

use omni_plugin_api::Device;

use super::deploy::DeviceText;
use super::{ConfigError, Setting};

/// Most replicas of a stage.
const MAX_REPLICAS: u32 = 64;
/// Most devices of a machine.
const MAX_DEVICES: u32 = 1024;

/// The device of each replica: a list with one device a replica, or one device from which the replicas count up.
pub(crate) fn assign(devices: &Setting<DeviceText>, replicas: &Setting<u32>, path: &str) -> Result<Setting<Vec<Device>>, ConfigError> {
    if !(1..=MAX_REPLICAS).contains(&replicas.value) {
        let message = format!("expected 1 to {MAX_REPLICAS} replicas, found {}", replicas.value);
        return Err(ConfigError::value(&replicas.origin, format!("{path}.num_replicas"), message));
    }
    let count = replicas.value as usize;
    let refused = |message: String| ConfigError::value(&devices.origin, format!("{path}.devices"), message);
    let listed = parse(&devices.value.0).map_err(&refused)?;
    let assigned = match listed.as_slice() {
        list if list.len() == count => list.to_vec(),
        [one] => (0..replicas.value).map(|replica| offset(*one, replica)).collect(),
        list => {
            return Err(refused(format!("expected one device, or one for each of {count} replicas, found {} devices", list.len())));
        }
    };
    Ok(Setting::new(assigned, devices.origin.clone()))
}

fn offset(device: Device, replica: u32) -> Device {
    match device {
        Device::Cpu => Device::Cpu,
        Device::Cuda(index) => Device::Cuda(index + replica),
    }
}

fn parse(text: &str) -> Result<Vec<Device>, String> {
    text.split(',').map(|part| parse_one(part.trim())).collect()
}

fn parse_one(text: &str) -> Result<Device, String> {
    if text.eq_ignore_ascii_case("cpu") {
        return Ok(Device::Cpu);
    }
    let number = text.strip_prefix("cuda:").unwrap_or(text);
    let index = number.parse::<u32>().ok().filter(|index| *index < MAX_DEVICES);
    index.map(Device::Cuda).ok_or_else(|| format!("expected device numbers such as \"0\" or \"0,1\", or cpu, found '{text}'"))
}

/// A device as reports and messages name it.
pub fn device_name(device: Device) -> String {
    match device {
        Device::Cpu => "cpu".to_owned(),
        Device::Cuda(index) => format!("cuda:{index}"),
    }
}
