//! Roman numerals after the words that carry them: `World War II`, `Henry VIII`, `Chapter IV`.

use super::engine::{Found, Rule, any_of};
use crate::number::{cardinal, ordinal};

const NUMBERED: &[&str] = &[
    "World War",
    "Chapter",
    "Part",
    "Act",
    "Scene",
    "Section",
    "Volume",
    "Book",
    "Phase",
    "Article",
    "Mark",
    "Type",
    "Level",
    "Stage",
    "Class",
    "Grade",
    "Super Bowl",
    "Apollo",
    "Gemini",
    "Final Fantasy",
    "Episode",
    "Round",
    "Rocky",
    "Title",
    "Appendix",
    "Figure",
    "Table",
    "Lesson",
    "Unit",
    "Division",
    "Tier",
    "Category",
    "Schedule",
    "Vatican",
    "Saturn",
    "Stalag",
    "Windows",
    "chapter",
    "part",
    "act",
    "scene",
    "section",
    "volume",
    "book",
    "phase",
    "article",
    "type",
    "level",
    "stage",
    "class",
    "grade",
    "round",
    "episode",
    "tier",
];
const RULERS: &[&str] = &[
    "Pope",
    "King",
    "Queen",
    "Emperor",
    "Tsar",
    "Czar",
    "Prince",
    "Henry",
    "Louis",
    "Edward",
    "George",
    "William",
    "Charles",
    "James",
    "Richard",
    "Elizabeth",
    "Napoleon",
    "Pius",
    "Benedict",
    "Leo",
    "Paul",
    "Ramses",
    "Frederick",
    "Philip",
    "Alexander",
    "Nicholas",
    "Peter",
    "Catherine",
    "Ivan",
    "Umberto",
    "Emmanuel",
    "Gustav",
    "Christian",
    "Ferdinand",
    "Mary",
    "Margaret",
    "John",
    "Francis",
    "Joseph",
    "Gregory",
    "Innocent",
    "Clement",
    "Urban",
    "Darius",
    "Xerxes",
    "Ptolemy",
    "Cleopatra",
    "Thutmose",
    "Otto",
    "Haakon",
    "Olav",
    "Harald",
    "Wilhelm",
    "Friedrich",
    "Selim",
    "Murad",
    "Mehmed",
    "Robert",
    "Malcolm",
    "Sixtus",
    "Boniface",
    "Victor",
];
const PREFIXES: &[&str] = &["Pope", "King", "Queen", "Emperor", "Tsar", "Czar", "Prince"];
/// Capitals that look like numerals and are read as letters.
const LETTERS: &[&str] = &[
    "DC", "CD", "MD", "CC", "DM", "MC", "CV", "DI", "MI", "LCD", "MIX", "CIVIC", "DIM", "LI", "MM", "XL", "XXL", "CM", "ID", "IL", "IM",
    "DVI", "LIV", "MV", "CI", "CL", "LC", "LL", "XXX",
];

pub(super) fn rules() -> Vec<Rule> {
    let numbered = any_of(NUMBERED.iter().copied());
    let rulers = any_of(RULERS.iter().copied());
    vec![
        Rule::new(&format!(r"({numbered})(s?) ([IVXLCDM]+|[ivx]{{2,}})(?:( and |, | to | ?[-–] ?)([IVXLCDM]+))?\b"), counted),
        Rule::new(&format!(r"({rulers})( )([IVXLCDM]+)\b"), ruler),
        Rule::new(r"\b([A-Z][a-z]+)( )([IVXLCDM]+)\b", named),
    ]
}

fn counted(found: &Found<'_>) -> Option<String> {
    let (name, many, numeral) = (found.get(1), found.get(2), found.get(3));
    let number = value(&numeral.to_uppercase())?;
    let certain = numeral.len() > 1 || name.starts_with(char::is_uppercase);
    let joint = if found.get(4).contains(['-', '–']) { " to " } else { found.get(4) };
    let second = match value(found.get(5)) {
        Some(second) => format!("{joint}{}", cardinal(second)),
        None if found.get(5).is_empty() => String::new(),
        None => return None,
    };
    (certain && is_own_word(found)).then(|| format!("{name}{many} {}{second}", cardinal(number)))
}

fn ruler(found: &Found<'_>) -> Option<String> {
    let (name, number) = (found.get(1), value(found.get(3))?);
    is_own_word(found).then(|| format!("{name} the {}", ordinal(number)))
}

/// Any other name before an unmistakable numeral; a royal title in front makes it an ordinal.
fn named(found: &Found<'_>) -> Option<String> {
    let (name, numeral) = (found.get(1), found.get(3));
    let number = value(numeral).filter(|_| numeral.len() > 1 && !LETTERS.contains(&numeral))?;
    let words = if PREFIXES.contains(&found.previous_word()) { format!("the {}", ordinal(number)) } else { cardinal(number) };
    is_own_word(found).then(|| format!("{name} {words}"))
}

fn is_own_word(found: &Found<'_>) -> bool {
    let possessive = found.after().starts_with("'s") || found.after().starts_with("'d") || found.after().starts_with("'m");
    // "Part I'd" and "Henry I've" are the pronoun.
    let pronoun = found.get(3) == "I" && (possessive || found.after().starts_with("'"));
    found.starts_free() && !found.next().is_some_and(|c| c.is_alphanumeric() || c == '&' || c == '-') && !pronoun
}

/// The value of a well-formed numeral below 4000.
fn value(numeral: &str) -> Option<u64> {
    let digits = numeral.chars().map(|c| match c {
        'I' => 1,
        'V' => 5,
        'X' => 10,
        'L' => 50,
        'C' => 100,
        'D' => 500,
        _ => 1000_u64,
    });
    let digits: Vec<_> = digits.take(16).collect();
    let total = digits.iter().enumerate().fold(0_i64, |total, (i, digit)| {
        let digit = *digit as i64;
        if digits.get(i + 1).is_some_and(|next| *next as i64 > digit) { total - digit } else { total + digit }
    });
    let number = u64::try_from(total).ok()?;
    (number > 0 && written(number) == numeral).then_some(number)
}

/// The canonical spelling, which rules out `IIII` and `IC`.
fn written(mut number: u64) -> String {
    const STEPS: [(u64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut out = String::new();
    for (worth, letters) in STEPS {
        while number >= worth {
            out.push_str(letters);
            number -= worth;
        }
    }
    out
}
