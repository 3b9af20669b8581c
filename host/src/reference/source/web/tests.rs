//! Downloads over real sockets of the loopback, and decisions about names that resolve to anything.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;

/// A resolver that answers each question with the next of its lists.
#[derive(Debug)]
struct Scripted(Vec<Vec<IpAddr>>, AtomicUsize);

impl Resolver for Scripted {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let turn = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        let mut addresses = self.empty();
        for address in &self.0[turn] {
            addresses.push(SocketAddr::new(*address, uri.port_u16().unwrap_or(80)));
        }
        Ok(addresses)
    }
}

fn resolves(addresses: &[&str]) -> Scripted {
    Scripted(vec![addresses.iter().map(|address| address.parse().expect("an address")).collect()], AtomicUsize::new(0))
}

/// What the guard makes of a name with these addresses.
fn guarded(addresses: &[&str], allow_private: bool) -> Result<usize, String> {
    let guarded = Guarded { inner: Arc::new(resolves(addresses)), allow_private };
    let (uri, config) = (Uri::from_static("http://name/"), config());
    guarded.resolve(&uri, &config, NextTimeout::default()).map(|found| found.len()).map_err(|error| error.to_string())
}

/// A server that answers each connection with the next of these, and tells its port.
fn server(answers: Vec<Vec<u8>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            read_head(&mut stream);
            // A client that has seen enough closes.
            let _ = stream.write_all(&answer);
        }
    });
    port
}

fn read_head(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n", body.len());
    [head.into_bytes(), body.to_vec()].concat()
}

fn redirect(target: &str) -> Vec<u8> {
    answer("302 Found", &format!("location: {target}\r\n"), b"")
}

/// Settings under which the loopback may be reached.
fn open_settings() -> SourceSettings {
    SourceSettings { allow_private: true, attempts: 1, bytes: 1000, attempt: Duration::from_millis(1500), ..SourceSettings::default() }
}

fn fetch(settings: &SourceSettings, url: &str) -> Result<Bytes, String> {
    let (download, _line) = Download::new(settings);
    download.fetch(&url.parse().expect("a URL")).map_err(|error| error.to_string())
}

#[test]
fn a_name_with_any_private_address_is_refused() {
    for addresses in
        [&["127.0.0.1"][..], &["10.0.0.1"], &["::ffff:169.254.169.254"], &["93.184.216.34", "127.0.0.1"], &["fd00::1", "8.8.8.8"]]
    {
        let error = guarded(addresses, false).expect_err("it is refused");
        assert!(error.contains("not public"), "{addresses:?}: {error}");
        assert_eq!(guarded(addresses, true), Ok(addresses.len()));
    }
    assert_eq!(guarded(&["93.184.216.34", "2606:2800:220:1::1"], false), Ok(2));
}

#[test]
fn every_spelling_of_the_loopback_is_refused() {
    for host in
        ["127.0.0.1", "localhost", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0"]
    {
        let error = fetch(&SourceSettings { attempts: 1, ..SourceSettings::default() }, &format!("http://{host}:9/a.wav"));
        assert!(error.as_ref().is_err_and(|error| error.contains("not public")), "{host}: {error:?}");
    }
}

#[test]
fn a_name_that_changes_its_address_between_two_questions_gains_nothing() {
    // Public at first, private when asked again: each question is guarded, and between question and connection there is no other.
    let turns = [["93.184.216.34"], ["127.0.0.1"]].map(|turn| turn.iter().map(|address| address.parse().expect("an address")).collect());
    let guarded = Guarded { inner: Arc::new(Scripted(turns.to_vec(), AtomicUsize::new(0))), allow_private: false };
    let (uri, config) = (Uri::from_static("http://name/"), config());
    let first = guarded.resolve(&uri, &config, NextTimeout::default()).expect("a public address");
    assert_eq!(first.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>(), ["93.184.216.34"]);
    assert!(guarded.resolve(&uri, &config, NextTimeout::default()).is_err());
}

#[test]
fn what_was_resolved_is_what_is_connected_to_and_nothing_is_looked_up_in_between() {
    // Two servers on one port of two addresses of the loopback: a second question would lead to the other one.
    let (first, second) = (TcpListener::bind("127.0.0.1:0").expect("a port"), "127.0.0.2");
    let port = first.local_addr().expect("an address").port();
    let second = TcpListener::bind((second, port)).expect("the same port");
    for (listener, body) in [(first, b"first "), (second, b"second")] {
        thread::spawn(move || {
            let Ok((mut stream, _)) = listener.accept() else { return };
            read_head(&mut stream);
            let _ = stream.write_all(&answer("200 OK", "", body));
        });
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let turns = ["127.0.0.1", "127.0.0.2"].map(|turn| vec![turn.parse().expect("an address")]);
    let counting = Counting(Scripted(turns.to_vec(), AtomicUsize::new(0)), Arc::clone(&asked));
    let (download, _line) = Download::resolving(&open_settings(), counting);
    let body = download.fetch(&format!("http://rebound.example:{port}/").parse().expect("a URL"));
    assert_eq!(body.as_deref(), Ok(&b"first "[..]));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// A resolver that counts what it is asked.
#[derive(Debug)]
struct Counting(Scripted, Arc<AtomicUsize>);

impl Resolver for Counting {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.resolve(uri, config, timeout)
    }
}

#[test]
fn redirects_are_followed_and_each_is_checked() {
    let port = server(vec![redirect("/next"), answer("200 OK", "", b"sound")]);
    assert_eq!(fetch(&open_settings(), &format!("http://127.0.0.1:{port}/")).as_deref(), Ok(&b"sound"[..]));
    for (target, part) in [("file:///etc/passwd", "no web address"), ("http://other.example/", "allowed domains")] {
        let port = server(vec![redirect(target)]);
        let settings = SourceSettings { domains: vec!["127.0.0.1".to_owned()], ..open_settings() };
        let error = fetch(&settings, &format!("http://127.0.0.1:{port}/")).expect_err("it is refused");
        assert!(error.contains(part), "{target}: {error}");
    }
    let port = server(vec![redirect("/a"), redirect("/b"), redirect("/c"), redirect("/d")]);
    let error = fetch(&open_settings(), &format!("http://127.0.0.1:{port}/")).expect_err("too many");
    assert!(error.contains("more than 3 redirects"), "{error}");
}

#[test]
fn a_redirect_from_a_name_that_is_let_through_to_one_that_is_not_is_refused() {
    // The first question finds the server, the second, asked for the redirect, what the guard refuses.
    struct FirstIsFree(Guarded, AtomicUsize);
    impl std::fmt::Debug for FirstIsFree {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("FirstIsFree")
        }
    }
    impl Resolver for FirstIsFree {
        fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
            match self.1.fetch_add(1, Ordering::SeqCst) {
                0 => self.0.inner.resolve(uri, config, timeout),
                _ => self.0.resolve(uri, config, timeout),
            }
        }
    }
    let port = server(vec![redirect("/next"), answer("200 OK", "", b"secret")]);
    let guarded = Guarded { inner: Arc::new(resolves(&["127.0.0.1"])), allow_private: false };
    let (download, _line) = Download::resolving(&open_settings(), FirstIsFree(guarded, AtomicUsize::new(0)));
    let error = download.fetch(&format!("http://public.example:{port}/").parse().expect("a URL")).expect_err("it is refused");
    assert!(error.to_string().contains("not public"), "{error}");
}

#[test]
fn faults_of_the_other_server_are_the_clients() {
    for (response, part) in [
        (answer("404 Not Found", "", b""), "HTTP 404 error"),
        (answer("500 Oops", "", b""), "HTTP 500 error"),
        (answer("200 OK", "", &[0; 1001]), "Maximum file size"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".to_vec(), "Maximum file size"),
        ([b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![0; 5000]].concat(), "Maximum file size"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_vec(), "Failed to fetch"),
        (b"not http at all".to_vec(), "Failed to fetch"),
        (Vec::new(), "Failed to fetch"),
    ] {
        let port = server(vec![response]);
        let error = fetch(&open_settings(), &format!("http://127.0.0.1:{port}/")).expect_err("it is refused");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_passing_fault_is_tried_again() {
    let port = server(vec![answer("503 Later", "", b""), answer("200 OK", "", b"sound")]);
    let settings = SourceSettings { attempts: 3, ..open_settings() };
    assert_eq!(fetch(&settings, &format!("http://127.0.0.1:{port}/")).as_deref(), Ok(&b"sound"[..]));
}

/// A server that sends a byte now and then and never ends.
fn slow_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        read_head(&mut stream);
        let head = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n");
        let mut sent = head;
        while sent.is_ok() {
            thread::sleep(Duration::from_millis(50));
            sent = stream.write_all(b"x");
        }
    });
    port
}

#[test]
fn a_server_that_dawdles_is_left() {
    // All of its 900 bytes would come in 45 s, and be taken.
    let settings = SourceSettings { attempt: Duration::from_millis(300), ..open_settings() };
    let error = fetch(&settings, &format!("http://127.0.0.1:{}/", slow_server())).expect_err("it is left");
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn hanging_up_ends_a_download_that_waits_for_bytes() {
    let settings = SourceSettings { attempt: Duration::from_secs(60), attempts: 3, patience: Duration::from_secs(300), ..open_settings() };
    let (download, line) = Download::new(&settings);
    let uri: Uri = format!("http://127.0.0.1:{}/", slow_server()).parse().expect("a URL");
    let work = thread::spawn(move || download.fetch(&uri));
    thread::sleep(Duration::from_millis(200));
    drop(line);
    // The attempt has a minute, in which all bytes would come: only the hanging up makes it fail.
    assert!(work.join().expect("no panic").is_err());
}
