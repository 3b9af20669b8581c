//! A plugin library that was built for interface 99.0.0. A host must refuse it by its version.
//!
//! It is the real interface, compiled from its own files with another version. It names `abi_stable`, which otherwise only the
//! interface's own folder does, because it stands for an interface of another day and cannot use today's export.

#![allow(missing_docs, dead_code, non_local_definitions, non_camel_case_types, clippy::all)]

#[path = "../../../plugin-api/src/abi/objects.rs"]
mod objects;
#[path = "../../../plugin-api/src/abi/values.rs"]
mod values;

use abi_stable::library::{__call_root_module_loader as call_root, CheckTypeLayout, LibHeader, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::std_types::{RErr, RResult};
// What the two files expect at the root of their crate.
use omni_plugin_api::{Data, ErrorKind, Extent, FinishReason, NamedTensor, PluginError, Prompt, SeqWork, StageEvent, TensorValues, Usage};

const INTERFACE_VERSION: &str = "99.0.0";

extern "C" fn family() -> RResult<objects::FamilyBox, values::ErrorAbi> {
    RErr(PluginError::internal("a library of another interface version was called").into())
}

extern "C" fn module() -> RootModuleResult {
    call_root(|| objects::PluginRoot { family }.leak_into_prefix())
}

#[unsafe(export_name = omni_plugin_api::export_symbol!())]
static HEADER: LibHeader =
    // SAFETY: the module that `module` gives is a `PluginRootRef`, the type whose constants the header carries.
    unsafe { LibHeader::from_constructor::<objects::PluginRootRef>(module, CheckTypeLayout::Yes) };
