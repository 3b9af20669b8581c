//! Times and sizes of a session that nobody sets.

use std::time::Duration;

/// Time between two pings.
pub const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Pings without a sign of life after which the client is gone.
pub const MAX_UNANSWERED_PINGS: u32 = 2;
/// Time for a frame to be taken by a client that reads slowly, besides what its length allows.
pub const SEND_DEADLINE: Duration = Duration::from_secs(60);
/// What even the slowest client takes in a second.
pub const SLOWEST_BYTES_A_SECOND: usize = 16 << 10;
/// Time for the client's answer to a close frame.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(2);

/// Most bytes of a message; a longer one ends the session.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// Most characters of any message.
pub const MAX_MESSAGE_CHARS: usize = 4 << 20;
/// Most characters of a message that is no `session.config`.
pub const MAX_TEXT_CHARS: usize = 128 << 10;
/// Most characters that wait to be spoken.
pub const MAX_WAITING_CHARS: usize = 256 << 10;
/// Answers that wait behind the unit being spoken, after which the session reads no further.
pub const MAX_WAITING_ANSWERS: usize = 1024;
/// Bytes of a session's read buffer, which it holds even when idle.
pub const READ_BUFFER_BYTES: usize = 4 << 10;
/// Bytes that are gathered before they are written.
pub const WRITE_BUFFER_BYTES: usize = 16 << 10;
