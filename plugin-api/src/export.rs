//! `export_family!`: what turns a crate into a plugin library.

/// The symbol a plugin library exports, as a literal.
#[doc(hidden)]
#[macro_export]
macro_rules! export_symbol {
    () => {
        "_1as_0lib_1header_0root_bmodule_bloader"
    };
}

/// Exports a family from a `cdylib`: `export_family!(MyFamily)` where `MyFamily` implements [`Family`](crate::Family) and
/// [`Default`]. Once a crate. It writes the ABI face, contains panics, and embeds the interface version.
///
/// ```ignore
/// #[derive(Default)]
/// pub struct Tone;
/// impl omni_plugin_api::Family for Tone { /* … */ }
/// omni_plugin_api::export_family!(Tone);
/// ```
#[macro_export]
macro_rules! export_family {
    ($family:ty) => {
        #[doc(hidden)]
        mod __omni_plugin_export {
            use super::*;

            extern "C" fn family() -> $crate::abi::export::FamilyResult {
                $crate::abi::export::family_object(|| ::std::boxed::Box::new(<$family as ::std::default::Default>::default()))
            }

            extern "C" fn module() -> $crate::abi::export::RootModuleResult {
                $crate::abi::export::call_root(|| $crate::abi::export::root(family))
            }

            #[unsafe(export_name = $crate::export_symbol!())]
            static HEADER: $crate::abi::LibHeader =
                // SAFETY: the module that `module` gives is a `PluginRootRef`, the type whose constants the header carries.
                unsafe {
                    $crate::abi::LibHeader::from_constructor::<$crate::abi::PluginRootRef>(
                        module,
                        $crate::abi::export::CheckTypeLayout::Yes,
                    )
                };
        }
    };
}
