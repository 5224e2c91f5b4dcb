// SPDX-License-Identifier: GPL-2.0-only
//! What the program changes on its host, written down before it is done, so that it can be undone:
//! on exit by the gateway itself, by `sender off`, after a crash by `--clean` or the next start.
use std::path::{Path, PathBuf};

use nix::mount::umount;
use serde::{Deserialize, Serialize};

use crate::base::errors::{bail, Context, Result};
use crate::base::system;
use crate::setup::clsact;
use crate::setup::ifb;
use crate::setup::iptables;
use crate::setup::nftables;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Change {
    /// An ifb behind which the kernel holds packets.
    Ifb { name: String },
    /// A netfilter rule; `command` is iptables or ip6tables, `rule` what follows -A or -D.
    Rule { command: String, rule: Vec<String> },
    /// A table of nftables, of the family inet.
    Table { table: String },
    /// A file of a BPF file system.
    Pin { path: PathBuf },
    /// A BPF file system was mounted.
    BpfFs { path: PathBuf },
    /// Filters under clsact (kernels without tcx). `qdisc`: clsact is ours as well.
    Filters { interface: String, qdisc: bool },
    /// The most segments that an interface takes at once.
    GsoSegs { interface: String, was: u32 },
    /// A file under /proc/sys.
    Sysctl { path: String, was: String },
}

/// The interface that a change is about, borrowed as the change is: to be read, or to be another.
macro_rules! interface_of {
    ($change:expr) => {
        match $change {
            Self::GsoSegs { interface, .. } | Self::Filters { interface, .. } => Some(interface),
            Self::Ifb { .. }
            | Self::Rule { .. }
            | Self::Table { .. }
            | Self::Pin { .. }
            | Self::BpfFs { .. }
            | Self::Sysctl { .. } => None,
        }
    };
}

impl Change {
    fn undo(&self) -> Result<()> {
        match self {
            Self::Ifb { name } => ifb::remove(name),
            Self::Rule { command, rule } => iptables::remove(command, rule),
            Self::Table { table } => nftables::delete(table),
            Self::Pin { path } => remove_pin(path),
            Self::BpfFs { path } => unmount_empty(path),
            Self::Filters { interface, qdisc } => clsact::remove_filters(interface, *qdisc),
            Self::GsoSegs { interface, was } => system::set_gso_max_segs(interface, *was),
            Self::Sysctl { path, was } => std::fs::write(path, was).with_context(|| path.clone()),
        }
    }

    /// The interface that it is about; when that is gone, so is the change.
    fn interface(&self) -> Option<&str> {
        interface_of!(self).map(String::as_str)
    }

    fn interface_mut(&mut self) -> Option<&mut String> {
        interface_of!(self)
    }
}

fn remove_pin(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| path.display().to_string())
        }
        _ => Ok(()),
    }
}

/// What others have pinned there meanwhile would be lost: then it stays.
fn unmount_empty(path: &Path) -> Result<()> {
    let empty = std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    if !empty || !system::is_bpffs(path) {
        return Ok(());
    }
    umount(path).context("umount")
}

/// The ending of the notes' name, after the mesh interface's.
const NOTES: &str = ".changes";
fn notes(mesh: &str) -> PathBuf {
    system::run_folder().join(format!("{mesh}{NOTES}"))
}

/// No interface has a name as long: the sender's notes are no gateway's.
const LONGEST_NAME: usize = libc::IF_NAMESIZE - 1;

/// Mesh interfaces of which a gateway has noted changes, and not undone them.
pub fn noted() -> Vec<String> {
    let entries = std::fs::read_dir(system::run_folder());
    let names = entries.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut noted: Vec<_> = names
        .filter_map(|name| name.strip_suffix(NOTES).map(String::from))
        .filter(|name| name.len() <= LONGEST_NAME)
        .collect();
    noted.sort();
    noted
}

/// A change as it is noted, a line each. An earlier version wrote no namespace.
#[derive(Serialize, Deserialize)]
struct Noted {
    namespace: Option<u64>,
    #[serde(flatten)]
    change: Change,
}

/// The changes of one gateway, in the order in which they were made, kept in a file.
#[derive(Default)]
pub struct Changes {
    file: PathBuf,
    made: Vec<Change>,
    /// what was noted in other network namespaces, which share the run folder: lines that stay as they are
    elsewhere: Vec<String>,
    namespace: Option<u64>,
    /// what cannot be noted is made all the same
    lenient: bool,
    /// the notes tell of less than there is
    unwritten: bool,
}

impl Changes {
    /// Those of the gateway on `mesh`; also those that a dead one left.
    pub fn open(mesh: &str) -> Result<Self> {
        Ok(Self::noted_in(notes(mesh)))
    }

    /// Whether something is noted of that name.
    pub fn are_noted(mesh: &str) -> bool {
        notes(mesh).exists()
    }

    fn noted_in(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut changes = Self {
            file,
            namespace: system::network_namespace(),
            ..Self::default()
        };
        for line in text.lines() {
            // What another version wrote and this one cannot read, it cannot undo either.
            let Ok(Noted { namespace, change }) = serde_json::from_str(line) else {
                continue;
            };
            match namespace {
                Some(_) if namespace != changes.namespace => changes.elsewhere.push(line.into()),
                _ => changes.made.push(change),
            }
        }
        changes
    }

    /// An error where changes are noted that only another network namespace can undo.
    pub fn refuse_elsewhere(&self) -> Result<()> {
        match self.elsewhere.len() {
            0 => Ok(()),
            count => bail!(
                "{}: {count} changes were made in another network namespace, and stay; do the same there (ip netns exec), \
                 or remove the file if that is gone",
                self.file.display()
            ),
        }
    }

    /// For a process that undoes its changes itself: a full disk does not hinder it. Only after a kill
    /// nobody would know of what is not noted.
    pub fn whatever_can_be_noted(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Once more what could not be noted, or what somebody removed.
    pub fn note_again(&mut self) {
        if self.unwritten || (!self.made.is_empty() && !self.file.exists()) {
            let _ = self.write();
        }
    }

    /// Notes a change that is about to be made.
    pub fn note(&mut self, change: Change) -> Result<()> {
        if !self.made.contains(&change) {
            self.made.push(change);
        }
        self.write()
    }

    /// The latest change was not made after all.
    pub fn forget_latest(&mut self) -> Result<()> {
        self.made.pop();
        self.write()
    }

    /// The interface has gone, and what was changed on it with it; or it is called otherwise now, and
    /// what was changed on it is undone there.
    pub fn leave(&mut self, interface: &str, called_now: Option<&str>) -> Result<()> {
        let about = |change: &Change| change.interface() == Some(interface);
        let (left, kept) = std::mem::take(&mut self.made).into_iter().partition(about);
        self.made = kept;
        let left: Vec<Change> = left;
        for mut change in left.into_iter().rev() {
            let (Some(name), Some(at)) = (called_now, change.interface_mut()) else {
                continue;
            };
            name.clone_into(at);
            if let Err(error) = change.undo() {
                log::warn!("not put back: {change:?}: {error:#}");
            }
        }
        self.write()
    }

    /// Whether the qdisc clsact of an interface is ours.
    pub fn has_made_clsact(&self, name: &str) -> bool {
        let ours = |change: &Change| matches!(change, Change::Filters { interface, qdisc: true } if interface == name);
        self.made.iter().any(ours)
    }

    /// Notes a change that is about to be made once more, since something else undid it.
    pub fn note_anew(&mut self, change: Change) -> Result<()> {
        let same = |one: &Change| {
            std::mem::discriminant(one) == std::mem::discriminant(&change)
                && one.interface() == change.interface()
        };
        self.made.retain(|one| !same(one));
        self.note(change)
    }

    fn write(&mut self) -> Result<()> {
        let written = self.write_all();
        let (failed, failed_before) = (written.is_err(), self.unwritten);
        self.unwritten = failed;
        match written {
            Err(error) if self.lenient => {
                if !failed_before {
                    log::warn!(
                        "{error:#}: what is changed is not noted; after kill -9 --clean will not know of it"
                    );
                }
                Ok(())
            }
            Ok(()) if failed_before => {
                log::info!("{}: all changes are noted again", self.file.display());
                Ok(())
            }
            written => written,
        }
    }

    fn write_all(&self) -> Result<()> {
        let new = self.file.with_extension("changes.new");
        if self.made.is_empty() && self.elsewhere.is_empty() {
            let _ = std::fs::remove_file(&self.file);
            let _ = std::fs::remove_file(&new);
            return Ok(());
        }
        let mut lines = self.elsewhere.clone();
        for change in &self.made {
            lines.push(serde_json::to_string(&Noted {
                namespace: self.namespace,
                change: change.clone(),
            })?);
        }
        let text = lines.join("\n") + "\n";
        // In one step: a kill between truncating and writing would forget what was changed.
        std::fs::write(&new, text).with_context(|| new.display().to_string())?;
        std::fs::rename(&new, &self.file).with_context(|| self.file.display().to_string())
    }

    /// Undoes all of them, the latest first, whatever fails; returns how many were undone: none of what has gone with
    /// its interface. What could not be undone stays in the notes, for `--clean`.
    pub fn undo_all(&mut self) -> Result<usize> {
        let mut count = 0;
        let (mut failed, mut refusal) = (Vec::new(), None);
        while let Some(change) = self.made.pop() {
            let gone = change
                .interface()
                .is_some_and(|name| system::interface_index(name).is_err());
            if !gone {
                match change.undo() {
                    Ok(()) => count += 1,
                    Err(error) => {
                        refusal = Some(error.context(format!("{change:?}")));
                        failed.push(change);
                    }
                }
            }
            // With a full disk the notes tell of more than there is, which does no harm.
            let _ = self.write();
        }
        failed.reverse();
        self.made = failed;
        self.write()?;
        refusal.map_or(Ok(count), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else the next start, or the end, would undo on the new interface what was changed on the old one.
    #[test]
    fn what_was_changed_on_an_interface_is_forgotten_with_it() {
        let filters = |interface: &str, qdisc| Change::Filters {
            interface: interface.into(),
            qdisc,
        };
        let mut changes = Changes {
            file: std::env::temp_dir().join("meshpace-none").join("m.changes"),
            made: vec![filters("mesh0", true), filters("mesh1", false)],
            lenient: true,
            ..Changes::default()
        };
        assert!(changes.has_made_clsact("mesh0") && !changes.has_made_clsact("mesh1"));
        changes.note_anew(filters("mesh1", true)).unwrap();
        assert_eq!(
            changes.made,
            [filters("mesh0", true), filters("mesh1", true)]
        );
        changes.leave("mesh0", None).unwrap();
        assert_eq!(changes.made, [filters("mesh1", true)]);
    }

    #[test]
    fn notes_that_cannot_be_written_hinder_only_who_needs_them() {
        let folder = std::env::temp_dir().join(format!("meshpace-unnoted-{}", std::process::id()));
        let mut changes = Changes {
            file: folder.join("m.changes"), // in a folder that is not there
            ..Changes::default()
        };
        let sysctl = || Change::Sysctl {
            path: "/proc/none".into(),
            was: "1".into(),
        };
        assert!(changes.note(sysctl()).is_err());
        changes.lenient = true;
        changes.note(sysctl()).unwrap();
        std::fs::create_dir(&folder).unwrap();
        changes.note_again();
        assert!(changes.file.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_kill_while_writing_forgets_nothing() {
        let folder = std::env::temp_dir().join(format!("meshpace-changes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, before) = (folder.join("m.changes"), folder.join("before"));
        let sysctl = |was: &str| Change::Sysctl {
            path: "/proc/none".into(),
            was: was.into(),
        };
        let mut changes = Changes {
            file: file.clone(),
            ..Changes::default()
        };
        changes.note(sysctl("1")).unwrap();
        // A second name of the notes shows whether they are written over or replaced.
        std::fs::hard_link(&file, &before).unwrap();
        let noted = std::fs::read(&before).unwrap();
        changes.note(sysctl("2")).unwrap();
        assert_eq!(std::fs::read(&before).unwrap(), noted);
        assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Else one thing that cannot be put back would leave all that was changed before it.
    #[test]
    fn what_cannot_be_undone_does_not_keep_the_rest_from_it() {
        let folder = std::env::temp_dir().join(format!("meshpace-undo-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| Change::Sysctl {
            path: folder.join(name).display().to_string(),
            was: "was".into(),
        };
        let made = vec![at("first"), at("none/there"), at("last")];
        let file = folder.join("m.changes");
        let mut changes = Changes {
            file,
            made,
            ..Changes::default()
        };
        assert!(changes.undo_all().is_err());
        for name in ["first", "last"] {
            assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), "was");
        }
        assert_eq!(changes.made, [at("none/there")], "kept for --clean");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Else `--clean` in another namespace of the same run folder says that it has put back what it has not, and nobody
    /// knows of that any more.
    #[test]
    fn what_was_changed_in_another_network_namespace_stays_noted() {
        let folder = std::env::temp_dir().join(format!("meshpace-ns-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| Change::Sysctl {
            path: folder.join(name).display().to_string(),
            was: "was".into(),
        };
        let noted = |namespace, name| {
            let change = at(name);
            serde_json::to_string(&Noted { namespace, change }).unwrap()
        };
        let before = serde_json::to_string(&at("before")).unwrap();
        let (own, other) = (
            noted(system::network_namespace(), "own"),
            noted(Some(1), "other"),
        );
        let file = folder.join("m.changes");
        std::fs::write(&file, format!("{before}\n{other}\n{own}\n")).unwrap();
        let mut changes = Changes::noted_in(file.clone());
        assert_eq!(changes.made, [at("before"), at("own")]);
        assert_eq!(changes.undo_all().unwrap(), 2);
        assert!(!folder.join("other").exists());
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            format!("{other}\n")
        );
        let said = changes.refuse_elsewhere().unwrap_err().to_string();
        assert!(said.contains("another network namespace"), "{said}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_has_gone_with_its_interface_is_not_put_back() {
        let gone = Change::GsoSegs {
            interface: "meshpace-none".into(),
            was: 7,
        };
        let mut changes = Changes {
            file: std::env::temp_dir().join("meshpace-none").join("m.changes"),
            made: vec![gone],
            lenient: true,
            ..Changes::default()
        };
        assert_eq!(changes.undo_all().unwrap(), 0);
    }
}
