//! Writing to the terminal, or to a pipe whose reader may be gone.

use std::io::{self, Write};

use super::{Failure, Outcome};

/// Writes lines to standard output. A reader that has read enough is no failure.
pub fn print(text: &str) -> Outcome {
    write(format!("{text}\n").as_bytes())
}

/// Writes bytes to standard output.
pub fn write(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure(format!("standard output: {error}"))),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. Where even that is gone there is nobody left to tell.
pub fn complain(text: &str) {
    drop(writeln!(io::stderr().lock(), "{text}"));
}
