//! The validation envelope: every fault of a body at once, in the words of the reference.

use serde_json::Value;

use super::error::{ApiError, shortened};
use super::python;
use crate::schema::Fault;

/// Lines of faults that are shown; the rest is counted.
const MAX_LINES: usize = 10;
/// Longest line in bytes.
const MAX_LINE_BYTES: usize = 1000;
/// Bytes of lines after which the rest is counted.
const MAX_TEXT_BYTES: usize = 2400;

/// The faults of a body.
#[derive(Debug, Default)]
pub struct Faults {
    lines: Vec<String>,
    first: Option<String>,
    /// The member of a list that is looked at now.
    within: Option<(&'static str, usize)>,
}

impl Faults {
    /// What is added from now on is at a member of a list, or at the body again.
    pub fn within(&mut self, member: Option<(&'static str, usize)>) {
        self.within = member;
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds a fault at a field; no field is the body itself.
    pub fn add(&mut self, field: Option<&str>, fault: &Fault, input: &Value) {
        self.add_shown(field, fault, &python::shown(input));
    }

    /// Adds a fault at a field or, without one, at the body, of an object that is known by its number of members.
    pub fn add_to_object(&mut self, field: Option<&str>, fault: &Fault, members: usize) {
        self.add_shown(field, fault, &python::object_of(members));
    }

    fn add_shown(&mut self, field: Option<&str>, fault: &Fault, input: &str) {
        let member = self.within.map(|(list, index)| (format!("{list}.{index}"), format!(" {}, {index}", python::quoted(list))));
        let field = field.map(|field| (field.to_owned(), format!(" {}", python::quoted(field))));
        let (places, locations): (Vec<String>, Vec<String>) = member.into_iter().chain(field).unzip();
        let place = (!places.is_empty()).then(|| places.join("."));
        self.push(place, &locations.join(","), fault, input);
    }

    /// Adds a fault at a character of the body.
    pub fn add_at(&mut self, offset: usize, fault: &Fault) {
        self.push(Some(offset.to_string()), &format!(" {offset}"), fault, &python::object_of(0));
    }

    fn push(&mut self, place: Option<String>, location: &str, fault: &Fault, input: &str) {
        let context = fault.context.as_ref().map_or(String::new(), |context| format!(", 'ctx': {{{context}}}"));
        let (kind, text) = (fault.kind, python::quoted(&fault.text));
        let line = format!("  {{'type': '{kind}', 'loc': ('body',{location}), 'msg': {text}, 'input': {input}{context}}}");
        self.lines.push(shortened(line, MAX_LINE_BYTES));
        self.first.get_or_insert_with(|| place.map_or("body".to_owned(), |place| format!("body.{place}")));
    }

    /// Nothing, or the error that tells all faults.
    pub fn into_result(self) -> Result<(), ApiError> {
        if self.lines.is_empty() { Ok(()) } else { Err(self.into_error()) }
    }

    /// The error that tells all faults.
    pub fn into_error(self) -> ApiError {
        let count = self.lines.len();
        let mut message = format!("{count} validation error{}:", if count == 1 { "" } else { "s" });
        let mut shown = 0;
        while shown < count.min(MAX_LINES) && (shown == 0 || message.len() + self.lines[shown].len() < MAX_TEXT_BYTES) {
            message.push('\n');
            message.push_str(&self.lines[shown]);
            shown += 1;
        }
        if shown < count {
            message.push_str(&format!("\n  ...and {} more errors", count - shown));
        }
        ApiError::malformed(self.first, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_place_is_the_param_and_every_fault_has_a_line() {
        let mut faults = Faults::default();
        faults.add(
            Some("speed"),
            &Fault::new("less_than_equal", "Input should be less than or equal to 4").with("'le': 4.0".into()),
            &json!(9),
        );
        faults.add(None, &Fault::rule("no"), &json!({"a": 1}));
        let body = faults.into_error().body();
        let wanted = "2 validation errors:\n  {'type': 'less_than_equal', 'loc': ('body', 'speed'), 'msg': 'Input should be less than or \
                      equal to 4', 'input': 9, 'ctx': {'le': 4.0}}\n  {'type': 'value_error', 'loc': ('body',), 'msg': 'Value error, no', \
                      'input': <dict of 1 items>}";
        assert_eq!(body["error"]["message"], wanted);
        assert_eq!((&body["error"]["param"], &body["error"]["type"]), (&json!("body.speed"), &json!("Bad Request")));
    }

    #[test]
    fn a_fault_within_a_list_names_the_member() {
        let mut faults = Faults::default();
        faults.within(Some(("items", 3)));
        faults.add(Some("input"), &Fault::rule("no"), &json!(1));
        faults.add(None, &Fault::rule("never"), &json!(2));
        faults.within(None);
        faults.add(Some("speed"), &Fault::rule("no"), &json!(3));
        let error = faults.into_error();
        assert_eq!(error.body()["error"]["param"], "body.items.3.input");
        for location in ["'loc': ('body', 'items', 3, 'input')", "'loc': ('body', 'items', 3)", "'loc': ('body', 'speed')"] {
            assert!(error.message().contains(location), "{error}");
        }
    }

    #[test]
    fn many_faults_are_counted_and_stay_small() {
        let mut faults = Faults::default();
        for _ in 0..40 {
            faults.add(Some("voice"), &Fault::new("string_type", "Input should be a valid string"), &json!("\u{1}".repeat(300)));
        }
        let error = faults.into_error();
        assert!(error.message().ends_with("more errors"), "{error}");
        assert!(error.body().to_string().len() < 4096);
    }
}
