// SPDX-License-Identifier: GPL-2.0-only
//! The folders under src/ are layers: whoever reads one reads what it stands on, and nothing leads back.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Who uses whom, and in which file.
type Uses = BTreeMap<String, BTreeMap<String, PathBuf>>;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("src/ is readable") {
        let path = entry.expect("src/ is readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

fn word_at_the_start(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// What a file takes from other folders by `crate::`.
fn used_by(text: &str) -> BTreeSet<&str> {
    let after = text.split("crate::").skip(1);
    after.map(word_at_the_start).collect()
}

/// A way from a folder back to itself.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn walk(uses: &Uses, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        let at = way.last().expect("a way begins somewhere").clone();
        for next in uses.get(&at).into_iter().flat_map(BTreeMap::keys) {
            if let Some(start) = way.iter().position(|folder| folder == next) {
                way.drain(..start);
                way.push(next.clone());
                return true;
            }
            if done.contains(next) {
                continue;
            }
            way.push(next.clone());
            if walk(uses, way, done) {
                return true;
            }
            way.pop();
        }
        done.insert(at);
        false
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|folder| {
        let mut way = vec![folder.clone()];
        walk(uses, &mut way, &mut done).then_some(way)
    })
}

#[test]
fn no_folder_needs_one_that_needs_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut uses = Uses::new();
    for path in files {
        let inside = path.strip_prefix(&src).expect("it is under src/");
        let top = inside.iter().next().expect("a file has a name");
        let folder = word_at_the_start(top.to_str().expect("UTF-8")).to_string();
        let text = std::fs::read_to_string(&path).expect("src/ is readable");
        for used in used_by(&text) {
            assert!(
                !used.is_empty(),
                "{}: `use crate::{{` hides what it takes",
                path.display()
            );
            if used != folder {
                let files = uses.entry(folder.clone()).or_default();
                files.insert(used.into(), inside.into());
            }
        }
    }
    assert!(uses.len() > 8, "{uses:?}");
    if let Some(way) = circle(&uses) {
        let by = way.windows(2).map(|step| {
            let file = uses[&step[0]][&step[1]].display();
            format!("{} -> {} by {file}", step[0], step[1])
        });
        panic!("a circle: {}", by.collect::<Vec<_>>().join(", "));
    }
}

#[test]
fn a_circle_is_found() {
    let uses = |pairs: &[(&str, &str)]| {
        let mut uses = Uses::new();
        for (from, to) in pairs {
            let files = uses.entry((*from).into()).or_default();
            files.insert((*to).into(), PathBuf::new());
        }
        uses
    };
    let straight = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")];
    assert_eq!(circle(&uses(&straight)), None);
    let round = [&straight[..], &[("d", "b")]].concat();
    assert_eq!(circle(&uses(&round)).unwrap(), ["b", "c", "d", "b"]);
}

/// Calls of core's functions in a file, by line.
fn calls_of_core(text: &str) -> Vec<(usize, &str)> {
    let lines = text.lines().enumerate();
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(number, line)| {
        let mut words = line.match_indices("mp_").filter_map(|(at, _)| {
            let inside = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            (!inside).then_some(&line[at..])
        });
        let call = words.find_map(|rest| {
            let word = word_at_the_start(rest);
            rest[word.len()..].starts_with('(').then_some(word)
        });
        call.map(|word| (number + 1, word))
    })
    .collect()
}

/// So that the reasons why they are safe stand in one place, and nowhere else is `unsafe` for them.
#[test]
fn core_is_called_in_one_module() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let law = src.join("kernel/law.rs");
    let mut files = Vec::new();
    sources(&src, &mut files);
    for path in files {
        let text = std::fs::read_to_string(&path).expect("src/ is readable");
        let calls = calls_of_core(&text);
        if path == law {
            assert!(calls.len() > 30, "{calls:?}");
        } else {
            let path = path.display();
            assert!(
                calls.is_empty(),
                "{path}: {calls:?}: add a line to kernel/law.rs"
            );
        }
    }
    let text = "let a = unsafe { intf::mp_departed(&mut pacer, now) };\n// mp_turn_tag()\nmp_flow::default()\ntemp_dir()";
    assert_eq!(calls_of_core(text), [(1, "mp_departed")]);
}
