//! An S3 server of somebody else's making (moto) on this machine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::OnceLock;

use crate::python::Python;

const PROGRAM: &str = include_str!("../python/s3.py");
/// Its bucket.
pub const BUCKET: &str = "voices";

/// The server; it ends with the process.
#[derive(Debug)]
pub struct S3 {
    address: String,
    _process: Child,
}

impl S3 {
    /// The one server that the tests of a binary share.
    ///
    /// # Panics
    /// When it does not start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<S3> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start() -> Self {
        let mut command = Python::ready().command();
        command.args(["-c", PROGRAM, BUCKET]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("Python starts");
        let mut address = String::new();
        let output = process.stdout.take().expect("its output is a pipe");
        BufReader::new(output).read_line(&mut address).expect("a line of its output");
        let address = address.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "the S3 server did not start: {address:?}");
        Self { address, _process: process }
    }

    /// The settings by which a client finds it, as variables of the environment.
    pub fn variables(&self) -> [(&'static str, &str); 5] {
        [
            ("AWS_ENDPOINT_URL", &self.address),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ]
    }
}
