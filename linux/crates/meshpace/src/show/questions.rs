// SPDX-License-Identifier: GPL-2.0-only
//! The socket by which a running gateway is asked for more than its status: a question is a line, its answer one JSON
//! document. It is another one than that of `status`, where who asks nothing is answered at once, and so cannot be
//! waited for.
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::base::errors::{anyhow, Context, Result};
use crate::show::history::{History, Totals};
use crate::show::serve::{self, Answer};
use crate::show::socket::{self, Socket};

/// The ending of the socket's name.
pub const NAME: &str = "ask";
/// The longest question.
const QUESTION_BYTES: usize = 64;
const HISTORY: &[u8] = b"history";

/// Answers from now on.
pub fn serve(socket: &Socket, history: Arc<Mutex<History>>) -> Result<()> {
    serve::start("questions", socket.listener()?, move |question, full| {
        let totals = || {
            history
                .lock()
                .expect("its holder ended the program")
                .totals()
        };
        let body = match question_of(question, full)? {
            HISTORY => serde_json::to_vec(&totals()).unwrap_or_default(),
            _ => b"{\"error\": \"no question; ask for history\"}\n".to_vec(),
        };
        Some(Answer {
            head: String::new(),
            body: Arc::new(body),
        })
    })
}

/// The line that was asked; None: it is not whole yet. What is too long is none.
fn question_of(question: &[u8], full: bool) -> Option<&[u8]> {
    match question.split(|byte| *byte == b'\n').next() {
        Some(line) if line.len() < question.len() && line.len() <= QUESTION_BYTES => Some(line),
        _ if full || question.len() > QUESTION_BYTES => Some(b""),
        _ => None,
    }
}

/// What the gateway on `mesh` has kept of hosts.
pub fn history(mesh: &str) -> Result<Totals> {
    let mut stream = UnixStream::connect(socket::path(mesh, NAME)).map_err(|error| {
        anyhow!("the gateway on {mesh} tells no history: {error}; restart it if it is an older one")
    })?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream
        .write_all(&[HISTORY, b"\n"].concat())
        .and_then(|()| stream.read_to_string(&mut text))
        .with_context(|| format!("the gateway on {mesh} does not answer"))?;
    serde_json::from_str(&text).with_context(|| format!("history of the gateway on {mesh}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else who sends without end, or half a line, gets an answer to what nobody asked.
    #[test]
    fn a_question_is_a_line() {
        assert_eq!(question_of(b"", false), None);
        assert_eq!(question_of(b"histo", false), None);
        assert_eq!(question_of(b"history\n", false), Some(HISTORY));
        assert_eq!(question_of(b"history\nmore", false), Some(HISTORY));
        assert_eq!(question_of(&[b'h'; 65], false), Some(&b""[..]));
        assert_eq!(question_of(b"histo", true), Some(&b""[..]));
    }
}
