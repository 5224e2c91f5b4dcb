// SPDX-License-Identifier: GPL-2.0-only
//! The socket by which `status` and `top` ask a running gateway, and the lock that there is one.
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::base::errors::{anyhow, bail, usage, Context, Result};
pub use crate::base::lock::Lock;
use crate::base::lock::Owner;
use crate::base::system;
use crate::show::questions;
use crate::show::requests;
use crate::show::serve::{self, Answer};
use crate::show::socket::{self, Socket};
use crate::show::status::Status;

/// The latest status; a reader takes a reference and leaves, so that nobody waits for it.
pub type Shared = Arc<Mutex<Arc<Status>>>;

/// The ending of the socket's name.
pub const NAME: &str = "sock";

pub fn latest(shared: &Shared) -> Arc<Status> {
    shared.lock().expect("its holder ended the program").clone()
}

fn socket_path(mesh: &str) -> PathBuf {
    socket::path(mesh, NAME)
}

/// Answers each connection with one JSON document.
pub fn serve(socket: &Socket, status: Shared) -> Result<()> {
    let mut document = Rendered::default();
    serve::start("status", socket.listener()?, move |_, _| {
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

/// Nobody is answered any more.
pub fn remove_sockets(mesh: &str) {
    for name in [NAME, questions::NAME, requests::NAME] {
        let _ = std::fs::remove_file(socket::path(mesh, name));
    }
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

/// `mesh`, or that of the only gateway that there is.
pub fn chosen(mesh: Option<&str>) -> Result<String> {
    let running = match mesh {
        Some(_) => Vec::new(),
        None => running()?,
    };
    match (mesh, running.as_slice()) {
        (Some(mesh), _) => Ok(mesh.to_string()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => bail!("no gateway is running; start one with: meshpace setup"),
        (None, several) => Err(usage(format!(
            "several gateways are running; choose: --mesh {}",
            several.join("|")
        ))),
    }
}

/// Asks the gateway on `mesh`, or the only one that there is.
pub fn ask(mesh: Option<&str>) -> Result<Status> {
    let mesh = chosen(mesh)?;
    let mut stream =
        UnixStream::connect(socket_path(&mesh)).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                anyhow!("the gateway on {mesh} may be asked by root only")
            }
            _ => anyhow!(
                "no gateway is running on {mesh}; start one with: meshpace gateway --mesh {mesh} --observe"
            ),
        })?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .with_context(|| format!("the gateway on {mesh} does not answer"))?;
    serde_json::from_str(&text).with_context(|| format!("answer of the gateway on {mesh}"))
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
