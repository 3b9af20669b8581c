//! The server under test: the real binary on a free port of this machine, ready when a test gets it, gone when the test lets it go.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::Method;

use crate::raw::Connection;
use crate::{artifacts, http, process};

/// How long a server may take to come up or to go. Not a measure of speed: a guard against a hang.
const PATIENCE: Duration = Duration::from_secs(180);
const ADDRESS_LINE: &str = "listening on http://";

/// A running server.
#[derive(Debug)]
pub struct Server {
    process: Child,
    address: SocketAddr,
    log: Log,
    _watchdog: Watchdog,
}

impl Server {
    /// The one server with its defaults that the tests of a binary share.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts `omni-host serve` with its defaults.
    pub fn start() -> Self {
        Self::start_with::<&str>(&[])
    }

    /// Starts `omni-host serve` with more arguments and waits until it is ready.
    ///
    /// # Panics
    /// When it does not get ready; the message holds what it logged.
    pub fn start_with<A: AsRef<OsStr>>(arguments: &[A]) -> Self {
        Self::start_within(arguments, &[])
    }

    /// The same with more environment variables.
    ///
    /// # Panics
    /// When it does not get ready; the message holds what it logged.
    pub fn start_within<A: AsRef<OsStr>>(arguments: &[A], variables: &[(&str, &str)]) -> Self {
        let mut server = Self::launch_within(arguments, variables);
        server.wait_until_ready();
        server
    }

    /// Starts the server and waits for its address only: it may still be loading.
    ///
    /// # Panics
    /// When it does not start to listen; the message holds what it logged.
    pub fn launch<A: AsRef<OsStr>>(arguments: &[A]) -> Self {
        Self::launch_within(arguments, &[])
    }

    fn launch_within<A: AsRef<OsStr>>(arguments: &[A], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(artifacts::omni_host());
        // The voices of whoever runs the tests are not theirs to touch.
        command.env("SPEAKER_SAMPLES_DIR", "memory:").envs(variables.iter().copied());
        Self::launch_by(command, arguments)
    }

    /// Starts the server by a command that ends in its binary, or in a program that runs it and does nothing else.
    ///
    /// # Panics
    /// When it does not start to listen; the message holds what it logged.
    pub fn launch_by<A: AsRef<OsStr>>(mut command: Command, arguments: &[A]) -> Self {
        command.args(["serve", "--host", "127.0.0.1", "--port", "0"]).args(arguments);
        Self::launch_as(command)
    }

    /// Starts the server by a whole command, which says itself where to listen.
    ///
    /// # Panics
    /// When it does not start to listen; the message holds what it logged.
    pub fn launch_as(mut command: Command) -> Self {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("omni-host starts");
        let watchdog = Watchdog::over(process.id());
        let log = Log::default();
        log.follow(process.stdout.take().expect("its output is a pipe"));
        log.follow(process.stderr.take().expect("its errors are a pipe"));
        let address = log.wait_for_address(&mut process);
        Self { process, address, log, _watchdog: watchdog }
    }

    /// Waits until it can speak.
    ///
    /// # Panics
    /// When it does not get ready; the message holds what it logged.
    pub fn wait_until_ready(&mut self) {
        let url = self.url("/ready");
        let mut ready = false;
        wait_until(PATIENCE, || {
            ready = http::try_send(Method::GET, &url, &[], b"").is_ok_and(|answer| answer.status == 200);
            ready || has_ended(&mut self.process)
        });
        assert!(ready, "the server did not get ready:\n{}", self.log.text());
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A connection to it.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Its process; where another program runs it, the child of that.
    pub fn pid(&self) -> u32 {
        process::only_child(self.process.id()).unwrap_or_else(|| self.process.id())
    }

    /// Everything it wrote so far on both outputs.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Memory in use.
    pub fn rss_bytes(&self) -> u64 {
        process::rss_bytes(self.pid())
    }

    /// Threads alive.
    pub fn threads(&self) -> u64 {
        process::threads(self.pid())
    }

    /// Open files and sockets.
    pub fn open_files(&self) -> usize {
        process::open_files(self.pid())
    }

    /// Processor time spent so far.
    pub fn cpu_ticks(&self) -> u64 {
        process::cpu_ticks(self.pid())
    }

    /// Asks it to end (SIGTERM) and does not wait.
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn ask_to_end(&self) {
        let status = Command::new("sh").args(["-c", "kill -TERM \"$0\""]).arg(self.pid().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "the signal could not be sent");
    }

    /// Ends it on the spot (SIGKILL).
    ///
    /// # Panics
    /// When the signal cannot be sent.
    pub fn kill(&mut self) {
        self.process.kill().expect("the server can be killed");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let mut ended = None;
        wait_until(PATIENCE, || {
            ended = self.process.try_wait().expect("the state of a child can be asked");
            ended.is_some()
        });
        ended.unwrap_or_else(|| panic!("the server did not end:\n{}", self.log.text()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- what the server wrote ---\n{}\n---", self.log.text());
        }
        // It may have ended by itself; then there is nothing to kill and only its exit to collect.
        let killed = self.process.kill().and_then(|()| self.process.wait());
        if let Err(error) = killed {
            eprintln!("the server could not be ended: {error}");
        }
    }
}

fn has_ended(process: &mut Child) -> bool {
    process.try_wait().is_ok_and(|ended| ended.is_some())
}

/// Looks again and again until `done` or the time is over; says whether it was done.
pub fn wait_until(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !done() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Both outputs of the server, line by line.
#[derive(Clone, Debug, Default)]
struct Log {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn follow(&self, output: impl Read + Send + 'static) {
        let lines = Arc::clone(&self.lines);
        thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
    }

    fn text(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    fn address(&self) -> Option<SocketAddr> {
        let text = self.text();
        let line = text.lines().find_map(|line| line.split_once(ADDRESS_LINE))?;
        line.1.trim().parse().ok()
    }

    fn wait_for_address(&self, process: &mut Child) -> SocketAddr {
        let mut address = None;
        wait_until(PATIENCE, || {
            address = self.address();
            address.is_some() || has_ended(process)
        });
        address.unwrap_or_else(|| panic!("the server printed no address:\n{}", self.text()))
    }
}

/// Ends the server when the test process ends in a way that drops nothing: its input closes then.
#[derive(Debug)]
struct Watchdog {
    process: Child,
}

impl Watchdog {
    fn over(pid: u32) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "cat >/dev/null; kill -KILL \"$0\""]).arg(pid.to_string()).stdin(Stdio::piped()).stderr(Stdio::null());
        Self { process: command.spawn().expect("a shell starts") }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let ended = self.process.kill().and_then(|()| self.process.wait());
        if let Err(error) = ended {
            eprintln!("the watchdog could not be ended: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn the_address_is_found_among_other_lines() {
        let log = Log::default();
        log.follow(Cursor::new("loading\nINFO listening on http://127.0.0.1:4321\nready\n"));
        let found = wait_until(Duration::from_secs(5), || log.address() == "127.0.0.1:4321".parse().ok());
        assert!(found, "{}", log.text());
    }

    #[test]
    fn waiting_gives_up() {
        assert!(!wait_until(Duration::from_millis(1), || false));
    }

    #[test]
    fn a_watchdog_ends_what_it_watches_when_its_owner_goes() {
        let mut watched = Command::new("sleep").arg("600").spawn().expect("sleep starts");
        let mut watchdog = Watchdog::over(watched.id());
        drop(watchdog.process.stdin.take());
        let ended = wait_until(Duration::from_secs(20), || watched.try_wait().is_ok_and(|status| status.is_some()));
        watched.kill().expect("an ended child can be killed again");
        assert!(ended);
    }
}
