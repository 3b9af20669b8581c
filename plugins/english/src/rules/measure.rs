//! Numbers with a unit: `5 km/h`, `20°C`, `5'10"`, `12%`.

use super::engine::{Found, NUMERAL, Rule, any_of, find, spell};
use crate::number::numeral;

/// Symbol, one, many. Case matters: `mW` and `MW` are not the same thing.
const UNITS: &[(&str, [&str; 2])] = &[
    ("km", ["kilometer", "kilometers"]),
    ("m", ["meter", "meters"]),
    ("cm", ["centimeter", "centimeters"]),
    ("mm", ["millimeter", "millimeters"]),
    ("µm", ["micrometer", "micrometers"]),
    ("μm", ["micrometer", "micrometers"]),
    ("nm", ["nanometer", "nanometers"]),
    ("mi", ["mile", "miles"]),
    ("yd", ["yard", "yards"]),
    ("ft", ["foot", "feet"]),
    ("sq ft", ["square foot", "square feet"]),
    ("sq mi", ["square mile", "square miles"]),
    ("sq m", ["square meter", "square meters"]),
    ("m²", ["square meter", "square meters"]),
    ("m2", ["square meter", "square meters"]),
    ("km²", ["square kilometer", "square kilometers"]),
    ("km2", ["square kilometer", "square kilometers"]),
    ("cm²", ["square centimeter", "square centimeters"]),
    ("ft²", ["square foot", "square feet"]),
    ("m³", ["cubic meter", "cubic meters"]),
    ("m3", ["cubic meter", "cubic meters"]),
    ("cm³", ["cubic centimeter", "cubic centimeters"]),
    ("cc", ["cubic centimeter", "cubic centimeters"]),
    ("ha", ["hectare", "hectares"]),
    ("kg", ["kilogram", "kilograms"]),
    ("g", ["gram", "grams"]),
    ("mg", ["milligram", "milligrams"]),
    ("µg", ["microgram", "micrograms"]),
    ("μg", ["microgram", "micrograms"]),
    ("mcg", ["microgram", "micrograms"]),
    ("lb", ["pound", "pounds"]),
    ("lbs", ["pound", "pounds"]),
    ("oz", ["ounce", "ounces"]),
    ("fl oz", ["fluid ounce", "fluid ounces"]),
    ("L", ["liter", "liters"]),
    ("l", ["liter", "liters"]),
    ("ml", ["milliliter", "milliliters"]),
    ("mL", ["milliliter", "milliliters"]),
    ("tbsp", ["tablespoon", "tablespoons"]),
    ("tsp", ["teaspoon", "teaspoons"]),
    ("cl", ["centiliter", "centiliters"]),
    ("gal", ["gallon", "gallons"]),
    ("s", ["second", "seconds"]),
    ("sec", ["second", "seconds"]),
    ("secs", ["second", "seconds"]),
    ("ms", ["millisecond", "milliseconds"]),
    ("µs", ["microsecond", "microseconds"]),
    ("μs", ["microsecond", "microseconds"]),
    ("ns", ["nanosecond", "nanoseconds"]),
    ("min", ["minute", "minutes"]),
    ("mins", ["minute", "minutes"]),
    ("h", ["hour", "hours"]),
    ("hr", ["hour", "hours"]),
    ("hrs", ["hour", "hours"]),
    ("yr", ["year", "years"]),
    ("yrs", ["year", "years"]),
    ("km/h", ["kilometer per hour", "kilometers per hour"]),
    ("kmh", ["kilometer per hour", "kilometers per hour"]),
    ("kph", ["kilometer per hour", "kilometers per hour"]),
    ("mph", ["mile per hour", "miles per hour"]),
    ("km/s", ["kilometer per second", "kilometers per second"]),
    ("m/s", ["meter per second", "meters per second"]),
    ("m/s²", ["meter per second squared", "meters per second squared"]),
    ("rpm", ["revolution per minute", "revolutions per minute"]),
    ("bpm", ["beat per minute", "beats per minute"]),
    ("fps", ["frame per second", "frames per second"]),
    ("dpi", ["dot per inch", "dots per inch"]),
    ("Hz", ["hertz", "hertz"]),
    ("kHz", ["kilohertz", "kilohertz"]),
    ("MHz", ["megahertz", "megahertz"]),
    ("GHz", ["gigahertz", "gigahertz"]),
    ("dB", ["decibel", "decibels"]),
    ("B", ["byte", "bytes"]),
    ("kB", ["kilobyte", "kilobytes"]),
    ("KB", ["kilobyte", "kilobytes"]),
    ("MB", ["megabyte", "megabytes"]),
    ("GB", ["gigabyte", "gigabytes"]),
    ("TB", ["terabyte", "terabytes"]),
    ("KiB", ["kibibyte", "kibibytes"]),
    ("MiB", ["mebibyte", "mebibytes"]),
    ("GiB", ["gibibyte", "gibibytes"]),
    ("MB/s", ["megabyte per second", "megabytes per second"]),
    ("GB/s", ["gigabyte per second", "gigabytes per second"]),
    ("kbps", ["kilobit per second", "kilobits per second"]),
    ("Mbps", ["megabit per second", "megabits per second"]),
    ("Gbps", ["gigabit per second", "gigabits per second"]),
    ("Mbit/s", ["megabit per second", "megabits per second"]),
    ("V", ["volt", "volts"]),
    ("mV", ["millivolt", "millivolts"]),
    ("kV", ["kilovolt", "kilovolts"]),
    ("mA", ["milliamp", "milliamps"]),
    ("mAh", ["milliamp hour", "milliamp hours"]),
    ("W", ["watt", "watts"]),
    ("mW", ["milliwatt", "milliwatts"]),
    ("kW", ["kilowatt", "kilowatts"]),
    ("MW", ["megawatt", "megawatts"]),
    ("GW", ["gigawatt", "gigawatts"]),
    ("Wh", ["watt hour", "watt hours"]),
    ("kWh", ["kilowatt hour", "kilowatt hours"]),
    ("MWh", ["megawatt hour", "megawatt hours"]),
    ("J", ["joule", "joules"]),
    ("kJ", ["kilojoule", "kilojoules"]),
    ("cal", ["calorie", "calories"]),
    ("kcal", ["kilocalorie", "kilocalories"]),
    ("Pa", ["pascal", "pascals"]),
    ("kPa", ["kilopascal", "kilopascals"]),
    ("hPa", ["hectopascal", "hectopascals"]),
    ("psi", ["pound per square inch", "pounds per square inch"]),
    ("Ω", ["ohm", "ohms"]),
    ("kΩ", ["kilohm", "kilohms"]),
    ("px", ["pixel", "pixels"]),
    ("ppm", ["part per million", "parts per million"]),
    ("pct", ["percent", "percent"]),
];
/// One letter right behind a number is more often a name (`3V`, `5s`, `4K`) than a unit, so these want a space.
const NEED_SPACE: &[&str] = &["s", "B", "h"];

pub(super) fn rules() -> Vec<Rule> {
    let units = any_of(UNITS.iter().map(|(symbol, _)| *symbol));
    let scale = "(?: ?([CFK]))?";
    vec![
        Rule::new(r#"([0-9]{1,2})['′] ?([0-9]{1,2})(?:["″]|'')?"#, feet_and_inches),
        Rule::new(r"([0-9]{1,2}) ?ft\.? ([0-9]{1,2}) ?in\b\.?", feet_and_inches),
        Rule::new(&format!(r"({NUMERAL})( ?)°? ?[-–—] ?([-−]?)({NUMERAL}) ?°{scale}"), degree_range),
        Rule::new(&format!(r"()([-−]?)({NUMERAL}) ?°{scale}"), degrees),
        Rule::new(&format!(r"({NUMERAL})%? ?[-–—] ?({NUMERAL}) ?%"), percent_range),
        Rule::new(&format!(r"({NUMERAL}) ?[-–—] ?({NUMERAL})( ?)({units})"), unit_range),
        Rule::new(&format!(r"({NUMERAL})([- ]?)({units})"), unit),
    ]
}

fn feet_and_inches(found: &Found<'_>) -> Option<String> {
    let (feet, inches) = (found.get(1), found.value(2).filter(|inches| *inches < 12)?);
    found.is_free().then(|| format!("{} foot {}", numeral(feet), numeral(&inches.to_string())))
}

fn degree_range(found: &Found<'_>) -> Option<String> {
    let minus = if found.get(3).is_empty() { "" } else { "minus " };
    let to = format!("{} to {minus}{}", numeral(found.get(1)), numeral(found.get(4)));
    (found.starts_free()).then(|| format!("{to} degrees{}", scale_name(found, 5)))
}

fn degrees(found: &Found<'_>) -> Option<String> {
    let minus = if found.get(2).is_empty() { "" } else { "minus " };
    let number = found.get(3);
    let unit = if number == "1" { "degree" } else { "degrees" };
    Some(format!("{minus}{} {unit}{}", numeral(number), scale_name(found, 4)))
}

fn scale_name(found: &Found<'_>, group: usize) -> String {
    let letter = found.get(group);
    match letter {
        _ if found.next().is_some_and(char::is_alphanumeric) => format!(" {letter}"),
        "C" => " Celsius".to_owned(),
        "F" => " Fahrenheit".to_owned(),
        "" => String::new(),
        _ => format!(" {}", spell(letter)),
    }
}

fn percent_range(found: &Found<'_>) -> Option<String> {
    found.starts_free().then(|| format!("{} to {} percent", numeral(found.get(1)), numeral(found.get(2))))
}

fn unit_range(found: &Found<'_>) -> Option<String> {
    let names = unit_names(found, 4, !found.get(3).is_empty())?;
    let free = found.is_free();
    free.then(|| format!("{} to {} {}", numeral(found.get(1)), numeral(found.get(2)), names[1]))
}

fn unit(found: &Found<'_>) -> Option<String> {
    let (number, gap) = (found.get(1), found.get(2));
    let names = unit_names(found, 3, gap == " ")?;
    let attributive = gap == "-";
    let name = if number == "1" || attributive { names[0] } else { names[1] };
    let signed = found.previous() == Some('-') && !found.before().trim_end_matches('-').ends_with(char::is_alphanumeric);
    (found.is_free() || signed).then(|| format!("{} {name}", numeral(number)))
}

fn unit_names(found: &Found<'_>, group: usize, spaced: bool) -> Option<&'static [&'static str; 2]> {
    let symbol = found.get(group);
    let clear = spaced || !NEED_SPACE.contains(&symbol);
    find(UNITS, symbol).filter(|_| clear)
}
