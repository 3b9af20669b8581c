//! The known name that a misspelt one probably means.

/// The nearest of the known names, if one is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 4).clamp(1, 4);
    let near = known.into_iter().map(|candidate| (distance(name, candidate, limit), candidate));
    near.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate)
}

/// Edits between two names; anything above `limit` when they are clearly apart.
fn distance(one: &str, two: &str, limit: usize) -> usize {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    if one.len().abs_diff(two.len()) > limit || one.len() > 80 {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in two.iter().enumerate() {
            let replaced = corner + usize::from(letter != other);
            corner = row[column + 1];
            row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
