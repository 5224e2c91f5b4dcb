// SPDX-License-Identifier: GPL-2.0-only
//! The socket by which `status` and `top` ask a running gateway, and the lock that there is one.
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::base::errors::{anyhow, bail, usage, Context, Result};
pub use crate::base::lock::Lock;
use crate::base::lock::Owner;
use crate::base::system;
use crate::show::history::{History, Totals};
use crate::show::serve::{self, Answer};
use crate::show::status::Status;

/// The latest status; a reader takes a reference and leaves, so that nobody waits for it.
pub type Shared = Arc<Mutex<Arc<Status>>>;

pub fn latest(shared: &Shared) -> Arc<Status> {
    shared.lock().expect("its holder ended the program").clone()
}

fn socket_path(mesh: &str) -> PathBuf {
    system::run_folder().join(format!("{mesh}.sock"))
}

/// Beside it, for who asks: who asks nothing is answered with status, at once, and so cannot be waited for.
fn questions_path(mesh: &str) -> PathBuf {
    system::run_folder().join(format!("{mesh}.ask"))
}

/// The folder is root's (rundir.rs), and so is it.
fn listen(path: &Path) -> Result<UnixListener> {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).with_context(|| path.display().to_string())?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// A question is one line, of which the longest is so long.
const QUESTION_BYTES: usize = 64;
const HISTORY: &[u8] = b"history";

/// Answers questions, each with one JSON document.
pub fn serve_questions(mesh: &str, history: Arc<Mutex<History>>) -> Result<()> {
    let listener = listen(&questions_path(mesh))?;
    serve::start("questions", listener, move |question, full| {
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

/// Answers each connection with one JSON document.
pub fn serve(mesh: &str, status: Shared) -> Result<()> {
    let listener = listen(&socket_path(mesh))?;
    let mut document = Rendered::default();
    serve::start("status", listener, move |_, _| {
        let render = |status: &Status| serde_json::to_vec(status).unwrap_or_default();
        let body = document.of(&latest(&status), render);
        Some(Answer {
            head: String::new(),
            body,
        })
    })
}

/// A document of the latest status, made once for all who ask for it; it does not keep the status itself.
#[derive(Default)]
pub struct Rendered(Option<(Weak<Status>, Arc<Vec<u8>>)>);

impl Rendered {
    pub fn of(
        &mut self,
        status: &Arc<Status>,
        render: impl FnOnce(&Status) -> Vec<u8>,
    ) -> Arc<Vec<u8>> {
        match &self.0 {
            Some((of, document)) if of.as_ptr() == Arc::as_ptr(status) => document.clone(),
            _ => {
                let document = Arc::new(render(status));
                self.0 = Some((Arc::downgrade(status), document.clone()));
                document
            }
        }
    }
}

/// Whether those who ask find the socket.
pub fn is_served(mesh: &str) -> bool {
    socket_path(mesh).exists() && questions_path(mesh).exists()
}

pub fn remove_socket(mesh: &str) {
    let _ = std::fs::remove_file(socket_path(mesh));
    let _ = std::fs::remove_file(questions_path(mesh));
}

/// Mesh interfaces of the running gateways.
pub fn running() -> Result<Vec<String>> {
    let folder = system::run_folder();
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            bail!(
                "{}: {error}; gateways may be asked by root only",
                folder.display()
            )
        }
        entries => entries,
    };
    let mut found: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".sock").map(String::from))
        .filter(|mesh| UnixStream::connect(socket_path(mesh)).is_ok())
        .collect();
    found.sort();
    Ok(found)
}

/// Asks the gateway on `mesh`, or the only one that there is.
pub fn ask(mesh: Option<&str>) -> Result<Status> {
    let running = match mesh {
        Some(_) => Vec::new(),
        None => running()?,
    };
    let mesh = match (mesh, running.as_slice()) {
        (Some(mesh), _) => mesh.to_string(),
        (None, [only]) => only.clone(),
        (None, []) => bail!("no gateway is running; start one with: meshpace gateway --mesh IF"),
        (None, several) => {
            return Err(usage(format!(
                "several gateways are running; choose: --mesh {}",
                several.join("|")
            )))
        }
    };
    let mut stream =
        UnixStream::connect(socket_path(&mesh)).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                anyhow!("the gateway on {mesh} may be asked by root only")
            }
            _ => anyhow!(
                "no gateway is running on {mesh}; start one with: meshpace gateway --mesh {mesh}"
            ),
        })?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .with_context(|| format!("the gateway on {mesh} does not answer"))?;
    serde_json::from_str(&text).with_context(|| format!("answer of the gateway on {mesh}"))
}

/// What the gateway on `mesh` has kept of hosts.
pub fn ask_history(mesh: &str) -> Result<Totals> {
    let mut stream = UnixStream::connect(questions_path(mesh)).map_err(|error| {
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

/// Whether the lock is where others look for it.
pub fn is_locked_in_place(mesh: &str) -> bool {
    system::run_folder().join(format!("{mesh}.lock")).exists()
}

/// Takes the lock of an interface; with `replace` from a gateway that runs already.
pub fn lock(mesh: &str, replace: bool) -> Result<Lock> {
    Owner {
        name: mesh,
        runs: format!("a gateway runs on {mesh}"),
        remedy: "stop it, or take over with --replace",
    }
    .lock(replace)
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
