//! Keys and values: of sequences that grow, and of the steps inside one frame.
