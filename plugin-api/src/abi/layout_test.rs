//! The layout of the interface as a checked-in file: a change shows as a diff, and tells to raise the interface version.

use std::collections::BTreeSet;

use abi_stable::StableAbi;
use abi_stable::type_layout::TypeLayout;

use super::objects::{FamilyBox, HostBox, ModelBox, PluginRootRef, StageBox};

/// Walks every type that `layout` refers to and describes those of this crate.
fn describe(layout: &'static TypeLayout, seen: &mut BTreeSet<usize>, into: &mut BTreeSet<String>) {
    if !seen.insert(std::ptr::from_ref(layout) as usize) {
        return;
    }
    if layout.package() == "omni-plugin-api" {
        into.insert(one_type(layout));
    }
    for referred in layout.shared_vars().type_layouts() {
        describe(referred(), seen, into);
    }
}

/// A type's size and its fields; for a table of methods, their signatures.
fn one_type(layout: &'static TypeLayout) -> String {
    let mut text = format!("{}::{}: {} bytes\n", layout.mod_path(), layout.full_type(), layout.size());
    let fields = layout.get_fields().map(|fields| fields.to_vec()).unwrap_or_default();
    for field in &fields {
        let functions: Vec<String> = field.function_range().iter().map(|function| one_function(&function.to_string())).collect();
        let kind = if functions.is_empty() { field.full_type().to_string() } else { functions.join(" ") };
        text.push_str(&format!("    {}: {kind}\n", field.name()));
    }
    text
}

fn one_function(printed: &str) -> String {
    let signature = printed.split("lifetime indices").next().unwrap_or(printed);
    signature.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_layout_of_the_interface_is_the_checked_in_one() {
    let (mut seen, mut types) = (BTreeSet::new(), BTreeSet::new());
    for root in [PluginRootRef::LAYOUT, FamilyBox::LAYOUT, ModelBox::LAYOUT, StageBox::LAYOUT, HostBox::LAYOUT] {
        describe(root, &mut seen, &mut types);
    }
    let text: String = types.into_iter().collect();
    insta::assert_snapshot!("layout", format!("interface {}\n\n{text}", crate::INTERFACE_VERSION));
}

#[test]
fn the_exported_symbol_is_the_one_the_loader_looks_for() {
    assert_eq!(super::EXPORTED_SYMBOL, crate::export_symbol!());
}
