//! Checkpoints: mapped files, shard indices, names and shapes checked, tensors put on a device.
