//! What each kind of written thing is read as, word for word.

mod common;

fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<_> = rows
        .iter()
        .map(|(text, expected)| (*text, *expected, common::english().normalize(text).join(" | ")))
        .filter(|(_, expected, worded)| worded.trim_end_matches('.') != *expected)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.iter().map(|(t, e, w)| format!("\n{t}\n  {w}\nnot\n  {e}")).collect::<String>());
}

#[test]
fn reads_numbers_as_amounts() {
    check(&[
        ("4,628 crates", "four thousand six hundred twenty eight crates"),
        ("4628 crates", "four thousand six hundred twenty eight crates"),
        ("1,234,567", "one million two hundred thirty four thousand five hundred sixty seven"),
        ("7,000,000,000,000 stars", "seven trillion stars"),
        ("1000000", "one million"),
        ("73 million more", "seventy three million more"),
        ("0.5 and .5 and 3.14", "zero point five and point five and three point one four"),
        ("it was -7", "it was minus seven"),
        ("(-3.5)", "(minus three point five.)"),
        ("+5 points", "plus five points"),
        ("5+ years", "five plus years"),
        ("007", "zero zero seven"),
        ("1st, 2nd, 3rd, 21st, 100th", "first, second, third, twenty first, one hundredth"),
        ("10k runs", "ten thousand runs"),
        ("٣ apples", "three apples"),
        ("１２ and ①", "twelve and one"),
        ("8...", "eight…"),
    ]);
}

#[test]
fn reads_years_and_decades() {
    check(&[
        ("in 1906", "in nineteen oh six"),
        ("in 2023", "in twenty twenty three"),
        ("in 2009", "in two thousand nine"),
        ("the 1990s", "the nineteen nineties"),
        ("the '90s and the 80s", "the nineties and the eighties"),
        ("the 1900s", "the nineteen hundreds"),
        ("class of '07", "class of oh seven"),
        ("1990–2000", "nineteen ninety to two thousand"),
        ("2023-24", "twenty twenty three to twenty four"),
    ]);
}

#[test]
fn reads_fractions_ranges_and_sums() {
    check(&[
        ("1/2, 3/4, 2/3, 5/8", "one half, three quarters, two thirds, five eighths"),
        ("½ cup, 2½ cups, 2 1/2 cups", "one half cup, two and a half cups, two and a half cups"),
        ("5-10 and 5–10", "five to ten and five to ten"),
        ("5% to 12.5%", "five percent to twelve point five percent"),
        ("5-10% and 5%–10%", "five to ten percent and five to ten percent"),
        ("open 24/7", "open twenty four seven"),
        ("9.5/10", "nine point five out of ten"),
        ("2 + 2 = 4", "two plus two equals four"),
        ("5 - 3 = 2", "five minus three equals two"),
        ("3 × 4 and 3x4", "three times four and three by four"),
        ("2^10 and x^2", "two to the power of ten and x squared"),
        ("10⁻⁵ and 5 m²", "ten to the power of minus five and five square meters"),
        ("they won 3-2", "they won three to two"),
    ]);
}

#[test]
fn reads_money_without_leaking_the_currency() {
    check(&[
        ("worth $87,040.01; 73 million more", "worth eighty seven thousand forty dollars and one cent; seventy three million more"),
        ("$5 and 6", "five dollars and six"),
        ("$1, $1.01, $0.99, $3.00", "one dollar, one dollar and one cent, ninety nine cents, three dollars"),
        ("$2.5 million, $73k, $1bn", "two point five million dollars, seventy three thousand dollars, one billion dollars"),
        ("€20, 20€, 20 EUR", "twenty euros, twenty euros, twenty euros"),
        ("£3.50 or ¥500", "three pounds and fifty pence or five hundred yen"),
        ("-$5 and $-5", "minus five dollars and minus five dollars"),
        ("$5-10 or $5-$10", "five to ten dollars or five dollars to ten dollars"),
        ("50¢", "fifty cents"),
        ("$9.99/month", "nine dollars and ninety nine cents per month"),
    ]);
}

#[test]
fn reads_times_of_day() {
    let cases = [
        ("at 4:00;", "at four o'clock;"),
        ("at 7:30 pm", "at seven thirty P M"),
        ("at 9:00\u{202F}AM", "at nine A M"),
        ("at 16:45 and 16:00", "at sixteen forty five and sixteen hundred"),
        ("at 12:05", "at twelve oh five"),
        ("7pm or 7 a.m. sharp", "seven P M or seven A M sharp"),
        ("9am-5pm", "nine A M to five P M"),
        ("It ends at 5 p.m. The bar opens.", "It ends at five P M. | The bar opens"),
        ("10:30:15", "ten thirty and fifteen seconds"),
        ("16:9 screen", "sixteen to nine screen"),
    ];
    check(&cases);
}

#[test]
fn reads_dates() {
    check(&[
        ("on 2023/11/02", "on November second, twenty twenty three"),
        ("on 11/02/2023", "on November second, twenty twenty three"),
        ("on 2023-11-02", "on November second, twenty twenty three"),
        ("on 31/12/1999", "on December thirty first, nineteen ninety nine"),
        ("on the 3rd of March 2024", "on the third of March, twenty twenty four"),
        ("on March 3, 2024", "on March third, twenty twenty four"),
        ("on 3 March", "on the third of March"),
        ("on Jan. 5 and Sept 9th", "on January fifth and September ninth"),
    ]);
}

#[test]
fn reads_phone_numbers_digit_by_digit() {
    check(&[
        ("Ring 202-555-0143 now", "Ring two zero two, five five five, zero one four three now"),
        ("(202) 555-0143", "two zero two, five five five, zero one four three"),
        ("+1 202 555 0143", "plus one, two zero two, five five five, zero one four three"),
        ("1-800-555-0199", "one, eight zero zero, five five five, zero one nine nine"),
        ("555-0143", "five five five, zero one four three"),
        ("123-45-6789", "one two three, four five, six seven eight nine"),
        ("192.168.0.1", "one ninety two dot one sixty eight dot zero dot one"),
        ("version 1.2.3 or v2.0", "version one point two point three or version two point zero"),
    ]);
}

#[test]
fn reads_units() {
    check(&[
        ("60 km/h, 10 kg, 1 km", "sixty kilometers per hour, ten kilograms, one kilometer"),
        (
            "20°C, 68 °F, -5°C, 45°",
            "twenty degrees Celsius, sixty eight degrees Fahrenheit, minus five degrees Celsius, forty five degrees",
        ),
        ("20-25°C", "twenty to twenty five degrees Celsius"),
        ("5'10\" tall", "five foot ten tall"),
        ("5–10 kg", "five to ten kilograms"),
        ("3.5 GHz and 16GB", "three point five gigahertz and sixteen gigabytes"),
        ("5 minutes, 5 min", "five minutes, five minutes"),
        ("a 5-km run", "a five kilometer run"),
    ]);
}

#[test]
fn reads_roman_numerals_where_they_are_numbers() {
    check(&[
        ("World War II", "World War two"),
        ("Henry VIII and Louis XIV", "Henry the eighth and Louis the fourteenth"),
        ("Pope John Paul II", "Pope John Paul the second"),
        ("King George VI", "King George the sixth"),
        ("Chapter IV, Part I", "Chapter four, Part one"),
        ("the part I played", "the part I played"),
        ("Rocky II", "Rocky two"),
        ("World Wars I and II", "World Wars one and two"),
        ("Scene ii", "Scene two"),
        ("Henry I'd like", "Henry I'd like"),
        ("Washington DC", "Washington DC"),
        ("Ⅳ", "four"),
    ]);
}

#[test]
fn expands_titles_and_abbreviations() {
    check(&[
        ("Mr. Hale, Mrs. Hale and Dr. Lin", "Mister Hale, Missus Hale and Doctor Lin"),
        ("Mr Hale met Dr Lin", "Mister Hale met Doctor Lin"),
        ("in St. Paul on Main St. today", "in Saint Paul on Main Street today"),
        ("221B Baker St., Mulholland Dr.", "two hundred twenty one B Baker Street, Mulholland Drive"),
        ("Acme Inc. agrees", "Acme Incorporated agrees"),
        ("e.g. this, i.e. that, x vs. y", "for example this, that is that, x versus y"),
        ("rope, tape, etc. Whether so", "rope, tape, et cetera. | Whether so"),
        ("No. 5 and No. I said no.", "Number five and No. | I said no"),
        ("the U.S. Army", "the U S Army"),
        ("U.S.-based, the U.S.'s role", "U S based, the U S's role"),
        ("a Ph.D. in D.C.", "a P H D in D C"),
        ("J. K. Rowling", "J K Rowling"),
        ("approx. 5", "approximately five"),
        ("Gen Z", "Gen Z"),
        ("p. 5, pp. 5-10, Fig. 3, vol. 2", "page five, pages five to ten, Figure three, volume two"),
    ]);
}

#[test]
fn reads_addresses() {
    check(&[
        ("see example.com.", "see example dot com"),
        ("jane.doe@example.com", "jane dot doe at example dot com"),
        ("https://www.example.com/a/b?x=1#y", "example dot com slash a slash b"),
        ("www.example.org", "example dot org"),
        ("example.co.uk", "example dot co dot U K"),
        ("@jane_doe", "at jane underscore doe"),
        ("#ReleaseDay and #42", "hashtag ReleaseDay and number forty two"),
        ("see [the map](https://www.example.com/a/b).", "see the map"),
        ("main.rs and node.js", "main dot rs and node dot js"),
    ]);
}

#[test]
fn reads_names_with_digits() {
    check(&[
        ("GPT4 and GPT-4", "G P T four and GPT four"),
        ("x86 and mp3", "X eighty six and M P three"),
        ("COVID-19", "COVID nineteen"),
        ("A380 and 1080p", "A three eighty and ten eighty P"),
        ("B2B, H2O", "B two B, H two O"),
        ("snake_case", "snake case"),
        ("RTX 4090 costs", "RTX four thousand ninety costs"),
    ]);
}

#[test]
fn reads_symbols_between_words() {
    check(&[
        ("R&D, salt & pepper", "R and D, salt and pepper"),
        ("a < b and 5 > 3", "a less than b and five greater than three"),
        ("C++ and C#", "C plus plus and C sharp"),
        ("~5 km", "about five kilometers"),
        ("and/or, client/server", "and or or, client slash server"),
        ("π is a number", "pi is a number"),
        ("A → B", "A to B"),
        ("*Warm* **gloves** `code` ~~gone~~ _so_", "Warm gloves code gone so"),
        ("♪ music ♪", "music"),
    ]);
}

#[test]
fn structure_ends_sentences() {
    check(&[
        (
            "# Packing list\n\n- **Rope**, two lengths\n- *Warm* gloves\n\nRun it",
            "Packing list. | Rope, two lengths. | Warm gloves. | Run it",
        ),
        ("10. 9. 8. Lift off.", "ten. | nine. | eight. | Lift off"),
        ("Well... maybe. Wait—what?", "Well… maybe. | Wait — what?"),
        ("nearly... Ruth", "nearly… | Ruth"),
        ("<p>One</p><p>Two</p>", "One. | Two"),
        ("how are you? fine", "how are you? | fine"),
    ]);
}
