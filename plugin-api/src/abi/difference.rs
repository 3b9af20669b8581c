//! The one line that tells how a library's layout differs: abi_stable's own report runs to thousands of characters.

use std::fmt::Display;

use abi_stable::abi_stability::abi_checking::{AbiInstability, AbiInstabilityError, check_layout_compatibility};
use abi_stable::type_layout::{TLFieldOrFunction, TypeLayout};

/// The innermost difference between the layout a host has and the one a library has, such as
/// `family > open > open_stage > feed > argument 3: this host has bool, the library u32`.
pub fn innermost_difference(host: &'static TypeLayout, library: &'static TypeLayout) -> String {
    let Err(report) = check_layout_compatibility(host, library) else { return "no difference was found on a second look".into() };
    let with_cause = report.errors.iter().filter(|error| !error.errs.is_empty());
    let Some(innermost) = with_cause.max_by_key(|error| error.stack_trace.len()) else { return "the report names no difference".into() };
    format!("{}: {}", place(innermost), innermost.errs.first().map(cause).unwrap_or_default())
}

/// The way to the difference: the methods gone through, then what is inside the last one.
fn place(error: &AbiInstabilityError) -> String {
    let mut steps = Vec::new();
    let mut inside = Vec::new();
    for step in &error.stack_trace {
        match &step.found {
            TLFieldOrFunction::Function(function) => {
                steps.push(function.name.to_string());
                inside.clear();
            }
            TLFieldOrFunction::Field(field) => inside.push(field_name(field.name())),
        }
    }
    steps.extend(inside);
    if steps.is_empty() { "the library as a whole".into() } else { steps.join(" > ") }
}

/// A field as a person would call it. Arguments are counted from 1; 0 is the object itself.
fn field_name(name: &str) -> String {
    match name.strip_prefix("param_") {
        Some(number) => format!("argument {number}"),
        None if name == "__returns" => "result".into(),
        None => name.into(),
    }
}

fn cause(difference: &AbiInstability) -> String {
    let sides = |what: &str, host: &dyn Display, library: &dyn Display| format!("this host has {what}{host}, the library {library}");
    match difference {
        AbiInstability::Name(sided) => sides("", &sided.expected, &sided.found),
        AbiInstability::Package(sided) => sides("a type of package ", &sided.expected, &sided.found),
        AbiInstability::Size(sided) => sides("a size of ", &sided.expected, &sided.found),
        AbiInstability::Alignment(sided) => sides("an alignment of ", &sided.expected, &sided.found),
        AbiInstability::FieldCountMismatch(sided) => sides("a field count of ", &sided.expected, &sided.found),
        AbiInstability::MismatchedPrefixSize(sided) => sides("a first method count of ", &sided.expected, &sided.found),
        AbiInstability::GenericParamCount(sided) => sides("", &sided.expected, &sided.found),
        AbiInstability::UnexpectedField(sided) => sides("the field ", &sided.expected.name(), &sided.found.name()),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use abi_stable::StableAbi;

    use super::innermost_difference;

    /// An interface of one object with one method and one record, whose types differ from version to version.
    macro_rules! interface {
        ($name:ident, $last:ty, { $($field:ident: $field_type:ty),* }) => {
            // Nothing is called: a test looks at the layout only.
            #[allow(dead_code)]
            mod $name {
                use abi_stable::std_types::{RBox, RVec};
                use abi_stable::{StableAbi, sabi_trait};

                #[repr(C)]
                #[derive(StableAbi)]
                pub struct Item {
                    $($field: $field_type),*
                }

                #[sabi_trait]
                pub trait Inner: Send {
                    #[sabi(last_prefix_field)]
                    fn feed(&mut self, items: RVec<Item>, last: $last);
                }

                #[repr(C)]
                #[derive(StableAbi)]
                #[sabi(kind(Prefix(prefix_ref = RootRef)))]
                pub struct Root {
                    #[sabi(last_prefix_field)]
                    pub make: extern "C" fn() -> Inner_TO<'static, RBox<()>>,
                }
            }
        };
    }

    interface!(host, bool, { seq: u64, units: u64 });
    interface!(other_argument, u32, { seq: u64, units: u64 });
    interface!(other_field, bool, { seq: u64, units: u32 });
    interface!(missing_field, bool, { seq: u64 });

    #[test]
    fn another_argument_is_named_with_its_method_and_both_types() {
        let line = innermost_difference(host::RootRef::LAYOUT, other_argument::RootRef::LAYOUT);
        assert_eq!(line, "make > feed > argument 2: this host has bool, the library u32");
    }

    #[test]
    fn another_field_of_a_record_is_named_however_deep_it_is() {
        let line = innermost_difference(host::RootRef::LAYOUT, other_field::RootRef::LAYOUT);
        assert!(line.starts_with("make > feed > argument 1 > "), "{line}");
        assert!(line.ends_with(" > units: this host has u64, the library u32"), "{line}");
    }

    #[test]
    fn a_record_without_a_field_is_found() {
        let line = innermost_difference(host::RootRef::LAYOUT, missing_field::RootRef::LAYOUT);
        assert!(line.starts_with("make > feed > argument 1") && line.len() < 200, "{line}");
    }

    #[test]
    fn the_same_layout_has_no_difference() {
        assert_eq!(innermost_difference(host::RootRef::LAYOUT, host::RootRef::LAYOUT), "no difference was found on a second look");
    }
}
