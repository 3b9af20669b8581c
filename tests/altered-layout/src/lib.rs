//! A plugin library that states the host's interface version and has another memory layout. A host must refuse it by its layout.
//!
//! It is the real interface, compiled from its own files with one argument of one method altered by `build.rs`: what happens when
//! somebody changes the interface and forgets to raise its version. It names `abi_stable`, which otherwise only the interface's own
//! folder does, because it stands for an interface of another day and cannot use today's export.

#![allow(missing_docs, dead_code, non_local_definitions, non_camel_case_types, clippy::all)]

#[path = "../../../plugin-api/src/abi/values.rs"]
mod values;

/// The interface's objects, altered.
mod objects {
    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

use abi_stable::library::{__call_root_module_loader as call_root, CheckTypeLayout, LibHeader, RootModuleResult};
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::std_types::{RErr, RResult};
// What the two files expect at the root of their crate.
use omni_plugin_api::{
    Data, ErrorKind, Extent, FinishReason, INTERFACE_VERSION, NamedTensor, PluginError, Prompt, SeqWork, StageEvent, TensorValues, Usage,
};

extern "C" fn family() -> RResult<objects::FamilyBox, values::ErrorAbi> {
    RErr(PluginError::internal("a library of another layout was called").into())
}

extern "C" fn module() -> RootModuleResult {
    call_root(|| objects::PluginRoot { family }.leak_into_prefix())
}

#[unsafe(export_name = omni_plugin_api::export_symbol!())]
static HEADER: LibHeader =
    // SAFETY: the module that `module` gives is a `PluginRootRef`, the type whose constants the header carries.
    unsafe { LibHeader::from_constructor::<objects::PluginRootRef>(module, CheckTypeLayout::Yes) };
