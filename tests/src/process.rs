//! What the operating system says of a running process.

use std::fs;

/// Memory in use that is the process's own or mapped by it, in bytes.
pub fn rss_bytes(pid: u32) -> u64 {
    status_number(pid, "VmRSS:") * 1024
}

/// Threads alive.
pub fn threads(pid: u32) -> u64 {
    status_number(pid, "Threads:")
}

/// Open files, sockets included.
pub fn open_files(pid: u32) -> usize {
    let path = format!("/proc/{pid}/fd");
    fs::read_dir(&path).unwrap_or_else(|error| panic!("cannot list {path}: {error}")).count()
}

/// The child of a process that has exactly one.
pub fn only_child(pid: u32) -> Option<u32> {
    // A process that has ended has no list.
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let mut pids = children.split_whitespace().map(str::parse);
    let first = pids.next()?.ok();
    first.filter(|_| pids.next().is_none())
}

/// Processor time spent so far by all threads, in the kernel's ticks. It measures work done, whatever else the machine does.
pub fn cpu_ticks(pid: u32) -> u64 {
    let text = read(pid, "stat");
    parse_cpu_ticks(&text).unwrap_or_else(|| panic!("no processor time in {text:?}"))
}

fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    let after_name = stat.rsplit_once(')')?.1;
    let mut times = after_name.split_whitespace().skip(11);
    let user: u64 = times.next()?.parse().ok()?;
    let system: u64 = times.next()?.parse().ok()?;
    Some(user + system)
}

fn status_number(pid: u32, key: &str) -> u64 {
    let text = read(pid, "status");
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no {key} of process {pid}"))
}

fn read(pid: u32, name: &str) -> String {
    let path = format!("/proc/{pid}/{name}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    #[test]
    fn the_running_test_has_memory_threads_and_files() {
        let pid = process::id();
        assert!(rss_bytes(pid) > 100_000);
        assert!(threads(pid) >= 1);
        assert!(open_files(pid) >= 3);
    }

    #[test]
    fn processor_time_is_user_plus_system_even_when_the_name_has_spaces() {
        let stat = "42 (a ) name) S 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20";
        assert_eq!(parse_cpu_ticks(stat), Some(42));
        assert_eq!(parse_cpu_ticks("42 (name) S 1"), None);
    }
}
