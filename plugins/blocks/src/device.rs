//! Devices that are no processor, and how they are used.

use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use burn::tensor::Device;

/// The CUDA device of this index.
///
/// Compiled kernels are kept in the user's cache folder beside the tuned ones: without that every start of a process compiles hundreds of them
/// anew. An operator's `cubecl.toml` or `burn.toml` in the working directory can add to it, and the library's own environment variables act
/// as ever.
pub fn cuda(index: usize) -> Device {
    let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
    config.compilation.cache = true;
    // Whoever configured the library before, in this process, knows better.
    let _was_first = CubeClRuntimeConfig::try_set(config);
    Device::cuda(index)
}
