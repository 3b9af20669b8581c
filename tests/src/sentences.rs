//! Sentences whose recognition is measured.

/// A whole list of the Harvard sentences (IEEE, 1969), then ten of our own with numbers, names of days, clauses and a question.
pub const SENTENCES: [&str; 20] = [
    "The birch canoe slid on the smooth planks.",
    "Glue the sheet to the dark blue background.",
    "It's easy to tell the depth of a well.",
    "These days a chicken leg is a rare dish.",
    "Rice is often served in round bowls.",
    "The juice of lemons makes fine punch.",
    "The box was thrown beside the parked truck.",
    "The hogs were fed chopped corn and garbage.",
    "Four hours of steady work faced us.",
    "A large size in stockings is hard to sell.",
    "The server starts in a moment and answers the first request at once.",
    "Please leave the keys with the porter, then take the lift to the third floor.",
    "Seventy five people signed the letter before half past nine.",
    "If the weather holds, we shall sail across the bay on Sunday morning.",
    "Doctor Hale asked whether the old bridge would carry a heavier train.",
    "She bought apples, pears, a loaf of bread and two bottles of milk.",
    "Why did nobody tell me that the museum is closed on Mondays?",
    "The engineer wrote down every number, because the machine would not remember them.",
    "A quiet voice in the kitchen said that dinner was ready.",
    "Thank you for calling; your parcel will arrive on the second of March.",
];

/// Many sentences in one text: work that takes a server a while.
pub fn long_text(sentences: usize) -> String {
    SENTENCES.iter().cycle().take(sentences).copied().collect::<Vec<_>>().join(" ")
}
