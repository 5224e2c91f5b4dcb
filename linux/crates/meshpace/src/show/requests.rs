// SPDX-License-Identifier: GPL-2.0-only
//! The socket by which a running gateway is told to pace for a while, to stay so, or to observe again. As that of
//! `status` it stands in a folder of root's alone (rundir.rs), and is answered by one thread in bounded memory.
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::errors::{anyhow, usage, Context, Result};
use crate::show::serve::{self, Answer};
use crate::show::socket::{self, Socket};

/// The thread that answers waits no longer for the main loop than a client for the thread.
pub const PATIENCE: Duration = Duration::from_secs(4);
/// What an answer has at most: a sentence and the name of a file.
const ANSWER_BYTES: u64 = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Pace for so many seconds.
    Try { seconds: u64 },
    /// Observe again, at once.
    Stop,
    /// The file whose `release` says what the next start does.
    File,
    /// Pace from now on: the file says so.
    Stay,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// what it does now, and the number of the try that begins, or ends
    Done {
        text: String,
        number: u64,
    },
    File {
        path: PathBuf,
    },
    /// why not, and what to do
    Refused {
        text: String,
    },
}

pub const NAME: &str = "requests";

/// Answers from now on; `carry_out` is called for one request at a time.
pub fn serve(
    socket: &Socket,
    mut carry_out: impl FnMut(Request) -> Reply + Send + 'static,
) -> Result<()> {
    serve::start(NAME, socket.listener()?, move |question, _| {
        let end = question.iter().position(|byte| *byte == b'\n')?;
        let reply = match serde_json::from_slice(&question[..end]) {
            Ok(request) => carry_out(request),
            Err(error) => Reply::Refused {
                text: format!("no request: {error}"),
            },
        };
        Some(Answer {
            head: String::new(),
            body: Arc::new(serde_json::to_vec(&reply).unwrap_or_default()),
        })
    })
}

/// Asks the gateway on `mesh`; what it refuses is an error of the user's.
pub fn ask(mesh: &str, request: &Request) -> Result<Reply> {
    let mut stream = UnixStream::connect(socket::path(mesh, NAME)).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            anyhow!("the gateway on {mesh} may be told what to do by root only")
        }
        _ => anyhow!("no gateway is running on {mesh}; start one with: meshpace gateway --mesh {mesh} --observe"),
    })?;
    stream.set_read_timeout(Some(PATIENCE + Duration::from_secs(1)))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    let silent = || format!("the gateway on {mesh} does not answer; see: meshpace status");
    stream.write_all(&line).with_context(silent)?;
    stream.shutdown(Shutdown::Write).with_context(silent)?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_BYTES).read_to_end(&mut answer);
    read.with_context(silent)?;
    match serde_json::from_slice(&answer).with_context(silent)? {
        Reply::Refused { text } => Err(usage(text)),
        reply => Ok(reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line() {
        for request in [
            Request::Try { seconds: 600 },
            Request::Stop,
            Request::File,
            Request::Stay,
        ] {
            let line = serde_json::to_string(&request).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), request);
        }
    }
}
