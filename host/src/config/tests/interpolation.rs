//! What interpolations give.

use std::sync::Arc;

use super::super::interpolate::interpolate;
use super::super::yaml;

/// The file in which every case stands as `x`.
const AROUND: &str = "number: 7\ntext: seven\nflag: true\ninner: {deep: 1.5, list: [1, 2]}\n";

fn resolved(value: &str) -> Result<String, String> {
    let file: Arc<str> = "test.yaml".into();
    let root = yaml::parse(&format!("{AROUND}x: {value}\n"), &file).map_err(|error| error.to_string())?;
    let variables = |name: &str| match name {
        "SET" => Some("12".to_owned()),
        "WORD" => Some("loud".to_owned()),
        "WHICH" => Some("number".to_owned()),
        _ => None,
    };
    let resolved = interpolate(&root, &variables).map_err(|error| error.to_string())?;
    Ok(resolved.to_json()["x"].to_string())
}

#[test]
fn every_form_gives_what_it_should() {
    let cases = [
        ("${number}", "7"),
        ("${text}", "\"seven\""),
        ("${flag}", "true"),
        ("${inner.deep}", "1.5"),
        ("${inner}", "{\"deep\":1.5,\"list\":[1,2]}"),
        ("${inner.list.1}", "2"),
        ("${inner.list[0]}", "1"),
        ("{a: 3, b: '${.a}'}", "{\"a\":3,\"b\":3}"),
        ("{a: 3, b: {c: '${..a}'}}", "{\"a\":3,\"b\":{\"c\":3}}"),
        ("up to ${number} and ${text}", "\"up to 7 and seven\""),
        ("${oc.env:SET}", "12"),
        ("${oc.env:WORD}", "\"loud\""),
        ("${oc.env:UNSET,5}", "5"),
        ("${oc.env:UNSET,null}", "null"),
        ("'${oc.env:UNSET,${number}}'", "7"),
        ("/data/${oc.env:WORD}/x", "\"/data/loud/x\""),
        ("'${${oc.env:WHICH}}'", "7"),
        ("'${oc.select:missing,3}'", "3"),
        ("'${oc.select:number,3}'", "7"),
        ("'${oc.select:missing}'", "null"),
        ("'${oc.decode:\"[1, 2]\"}'", "\"[1, 2]\""),
        ("'${oc.decode:[1, 2]}'", "[1,2]"),
        (r"'\${number}'", "\"${number}\""),
        ("no braces $number", "\"no braces $number\""),
    ];
    for (value, wanted) in cases {
        assert_eq!(resolved(value).as_deref(), Ok(wanted), "{value}");
    }
}

#[test]
fn every_fault_is_named_with_its_place() {
    let cases = [
        ("${missing}", "which it does not have"),
        ("${inner.missing}", "which it does not have"),
        ("${x}", "found a circle"),
        ("{a: '${.b}', b: '${.a}'}", "found a circle"),
        ("{a: '${x}'}", "found a circle"),
        ("${oc.env:UNSET}", "the environment variable UNSET"),
        ("${oc.create:1}", "found 'oc.create'"),
        ("'${number'", "expected a '}'"),
        ("many ${inner}", "found a mapping of 2 keys"),
        ("${}", "which it does not have"),
        ("${....number}", "which it does not have"),
    ];
    for (value, part) in cases {
        let error = resolved(value).expect_err(value);
        assert!(error.starts_with("test.yaml:5:") && error.contains(part), "{value}: {error}");
    }
}

#[test]
fn interpolations_that_multiply_are_stopped() {
    let mut text = "a0: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        text.push_str(&format!("a{level}: ${{a{below}}}${{a{below}}}\n"));
    }
    let root = yaml::parse(&text, &"test.yaml".into()).expect("YAML");
    let error = interpolate(&root, &|_| None).expect_err("it would be a terabyte").to_string();
    assert!(error.contains("stays small"), "{error}");
    let mut text = "m0: {a: 1, b: 2}\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        text.push_str(&format!("m{level}: {{a: '${{m{below}}}', b: '${{m{below}}}'}}\n"));
    }
    let root = yaml::parse(&text, &"test.yaml".into()).expect("YAML");
    assert!(interpolate(&root, &|_| None).is_err());
}

#[test]
fn an_interpolated_value_stands_where_it_is_used() {
    let plan = super::plan_of(
        &super::super::Source::of_test("test.yaml", "seqs: ${oc.env:SEQS,4}\nstages:\n- stage_id: 0\n  max_num_seqs: ${seqs}\n"),
        &[],
        &[("SEQS", "6")],
    );
    let seqs = plan.expect("a good file").stages[0].max_num_seqs.clone().expect("a number");
    assert_eq!((seqs.value, seqs.origin.to_string().as_str()), (6, "test.yaml:4:3"));
}
