//! One TCP connection, byte by byte: for requests no client would send, several requests on one connection, and streams whose
//! pieces matter.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;

use crate::http::{Answer, PATIENCE};

/// A connection with its reading side buffered.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    reader: BufReader<TcpStream>,
}

/// The head of an answer whose body is still to be read.
#[derive(Debug)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Whether the body comes in chunks.
    pub fn is_chunked(&self) -> bool {
        self.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }
}

/// A `POST` of bytes that claim to be JSON, ready to be sent.
pub fn post(path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

impl Connection {
    /// Connects.
    ///
    /// # Panics
    /// When the server does not accept.
    pub fn open(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).expect("the server accepts connections");
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit on reads");
        socket.set_write_timeout(Some(PATIENCE)).expect("a limit on writes");
        let reader = BufReader::new(socket.try_clone().expect("a second handle of the socket"));
        Self { socket, reader }
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// When the server no longer reads.
    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the server reads the request");
    }

    /// Sends from a thread of its own, so that an answer before the end of the request is seen. A server that has answered may stop
    /// reading: that is no fault.
    pub fn send_while_reading(&self, bytes: Vec<u8>) {
        let mut socket = self.socket.try_clone().expect("a second handle of the socket");
        thread::spawn(move || match socket.write_all(&bytes) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => panic!("cannot send: {error}"),
            _ => (),
        });
    }

    /// Says that nothing more will be sent.
    ///
    /// # Panics
    /// When the connection is gone.
    pub fn finish_sending(&self) {
        self.socket.shutdown(std::net::Shutdown::Write).expect("the connection is open");
    }

    /// Reads the status line and the headers.
    ///
    /// # Panics
    /// When what comes is not HTTP.
    pub fn read_head(&mut self) -> Head {
        let status_line = self.read_line();
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not a status line: {status_line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.read_line();
            match line.split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None if line.is_empty() => return Head { status, headers },
                None => panic!("not a header: {line:?}"),
            }
        }
    }

    /// Reads one chunk of a chunked body; none after the last.
    ///
    /// # Panics
    /// When the body breaks off.
    pub fn read_chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.read_line();
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default(), 16);
        let size = size.unwrap_or_else(|error| panic!("not a chunk size: {line:?} ({error})"));
        let chunk = self.read_bytes(size);
        assert_eq!(self.read_line(), "", "a chunk ends with a line break");
        (size > 0).then_some(chunk)
    }

    /// Every chunk that is still to come.
    pub fn read_chunks(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.read_chunk()).collect()
    }

    /// Reads one whole answer and leaves the connection ready for another.
    pub fn read_answer(&mut self) -> Answer {
        let head = self.read_head();
        let length = head.header("content-length").map(|length| length.parse().expect("a length is a number"));
        let body = match length {
            Some(length) => self.read_bytes(length),
            None if head.is_chunked() => self.read_chunks().concat(),
            None => panic!("an answer has a length or chunks: {head:?}"),
        };
        Answer { status: head.status, headers: head.headers, body }
    }

    /// Everything that comes until the server ends the connection, in order or not.
    ///
    /// # Panics
    /// When it does not end it.
    pub fn read_rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.reader.read_to_end(&mut rest) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("the connection stays open: {error}"),
            _ => rest,
        }
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("a line from the server");
        assert!(line.ends_with("\r\n"), "the connection ended inside the line {line:?}");
        line.trim_end().to_owned()
    }

    fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes).expect("the announced bytes from the server");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Serves one connection with fixed bytes.
    fn serve(bytes: &'static [u8]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        thread::spawn(move || listener.accept().expect("a client").0.write_all(bytes).expect("the client reads"));
        Connection::open(address)
    }

    #[test]
    fn answers_of_both_framings_are_read_one_after_the_other() {
        let mut connection = serve(
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
        );
        let first = connection.read_answer();
        assert_eq!((first.status, first.body), (400, b"{}".to_vec()));
        assert!(connection.read_head().is_chunked());
        assert_eq!(connection.read_chunks(), [b"abc".to_vec(), b"d".to_vec()]);
    }

    #[test]
    #[should_panic(expected = "ended inside the line")]
    fn a_stream_that_breaks_off_fails() {
        serve(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n").read_answer();
    }
}
