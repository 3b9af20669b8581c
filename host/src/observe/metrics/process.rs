//! What the operating system says of this process.

use std::time::{SystemTime, UNIX_EPOCH};

use super::catalogue::{PROCESS_FILES, PROCESS_MEMORY, PROCESS_START};

/// Notes that the process begins.
pub fn begin() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    PROCESS_START.of([]).set(since.map_or(0.0, |since| since.as_secs_f64()));
}

/// Reads it all anew. What a system does not tell is left out.
pub fn measure() {
    if let Some(bytes) = resident_bytes() {
        PROCESS_MEMORY.of([]).set(bytes as f64);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        PROCESS_FILES.of([]).set(files.count() as f64);
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_process_has_memory() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
