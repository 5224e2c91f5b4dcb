// SPDX-License-Identifier: GPL-2.0-only
//! Which interface leads into the mesh, and which to the Internet: found, named, or asked for.
use meshpace_paths::{Candidate, DefaultRoute, Evidence};

use crate::base::errors::{bail, usage, Result};
use crate::base::system;
use crate::operate::terminal::{self, Answers};
use crate::setup::watch;

/// An interface, and what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub name: String,
    pub why: String,
}

/// What is to be found where nobody can be asked.
fn not_certain(what: &str, seen: &[String]) -> anyhow::Error {
    let seen = match seen {
        [] => "nothing was found".into(),
        seen => seen.join("; "),
    };
    usage(format!("which interface leads to the {what} is not certain ({seen}); name them: meshpace setup --mesh IF --wired IF"))
}

type Show<'a> = &'a mut dyn FnMut(&str) -> Result<()>;

pub fn mesh(found: &[Candidate], answers: &mut dyn Answers, show: Show) -> Result<Chosen> {
    let likely: Vec<_> = found
        .iter()
        .filter(|c| c.evidence <= Evidence::AdHoc)
        .collect();
    let candidates = match likely.as_slice() {
        [one] => {
            return Ok(Chosen {
                name: one.name.clone(),
                why: one.why.clone(),
            })
        }
        [] => found.iter().collect(),
        several => several.to_vec(),
    };
    if candidates.is_empty() {
        bail!("this box has no interface by which packets could leave for a mesh; see `ip link`");
    }
    let choices: Vec<_> = candidates
        .iter()
        .map(|c| format!("{}: {}", c.name, c.why))
        .collect();
    let question = match likely.is_empty() {
        true => "No interface tells that it leads into a mesh. Which one does?",
        false => "Several interfaces may lead into the mesh. Which one do IP packets leave by?",
    };
    match terminal::choose(answers, show, question, &choices)? {
        Some(n) => Ok(Chosen {
            name: candidates[n].name.clone(),
            why: "as you say".into(),
        }),
        None => Err(not_certain("mesh", &choices)),
    }
}

/// All interfaces of default routes but the mesh's lead to the Internet.
pub fn by_default_route(mesh: &str, routes: &[DefaultRoute]) -> Vec<Chosen> {
    let mut list: Vec<Chosen> = Vec::new();
    for route in routes.iter().filter(|route| route.interface != mesh) {
        if list.iter().any(|one| one.name == route.interface) {
            continue;
        }
        let via = route.gateway.map(|via| format!(" via {via}"));
        list.push(Chosen {
            name: route.interface.clone(),
            why: format!("the default route{}", via.unwrap_or_default()),
        });
    }
    list
}

/// Where there is no default route but into the mesh, the interface to the Internet is asked for.
pub fn wired(
    mesh: &str,
    found: &[Candidate],
    answers: &mut dyn Answers,
    show: Show,
) -> Result<Chosen> {
    const QUESTION: &str =
        "No default route leads elsewhere than into the mesh. Which interface leads to the Internet?";
    let others = found.iter().filter(|c| c.name != mesh);
    let others: Vec<_> = others.map(|c| c.name.clone()).collect();
    if others.is_empty() {
        return Err(not_certain("Internet", &others));
    }
    match terminal::choose(answers, show, QUESTION, &others)? {
        Some(n) => Ok(Chosen {
            name: others[n].clone(),
            why: "as you say".into(),
        }),
        None => Err(not_certain("Internet", &others)),
    }
}

/// What is wrong with two interfaces, whoever named them.
pub fn check(mesh: &str, wired: &[String]) -> Result<()> {
    const LOOPBACK: &str = "lo";
    for (option, name) in
        std::iter::once(("--mesh", mesh)).chain(wired.iter().map(|name| ("--wired", &**name)))
    {
        if name == LOOPBACK {
            return Err(usage(format!("{option} {LOOPBACK}: this box's loopback leads nowhere; `ip link` lists the others")));
        }
        if system::interface_index(name).is_err() {
            return Err(usage(format!(
                "{option} {name}: there is no such interface; `ip link` lists them"
            )));
        }
        system::refuse_other_name(name)?;
    }
    if wired.iter().any(|name| name == mesh) {
        return Err(usage(format!("{mesh} cannot lead both into the mesh and to the Internet; name two with --mesh and --wired")));
    }
    watch::refuse_port(mesh, false)?;
    system::link_header_bytes(mesh).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operate::terminal::tests::Script;

    fn candidate(name: &str, evidence: Evidence) -> Candidate {
        Candidate {
            name: name.into(),
            evidence,
            why: format!("because of {name}"),
        }
    }

    fn mesh_of(found: &[Candidate], script: Vec<&'static str>) -> Result<String> {
        mesh(found, &mut Script(script), &mut |_| Ok(())).map(|chosen| chosen.name)
    }

    fn route(interface: &str) -> DefaultRoute {
        DefaultRoute {
            interface: interface.into(),
            gateway: "192.0.2.1".parse().ok(),
        }
    }

    #[test]
    fn the_only_mesh_is_taken_and_nobody_is_asked() {
        let found = [
            candidate("bat0", Evidence::Mesh),
            candidate("wg0", Evidence::Tunnel),
            candidate("eth0", Evidence::Nothing),
        ];
        assert_eq!(mesh_of(&found, vec![]).unwrap(), "bat0");
    }

    #[test]
    fn what_is_ambiguous_or_not_found_is_asked_for() {
        let two = [
            candidate("bat0", Evidence::Mesh),
            candidate("mesh0", Evidence::Mesh),
            candidate("eth0", Evidence::Nothing),
        ];
        assert_eq!(mesh_of(&two, vec!["3", "2"]).unwrap(), "mesh0");
        let none = [
            candidate("wg0", Evidence::Tunnel),
            candidate("eth0", Evidence::Nothing),
        ];
        assert_eq!(mesh_of(&none, vec!["1"]).unwrap(), "wg0");
        for found in [&two[..], &none] {
            let said = mesh_of(found, vec![]).unwrap_err().to_string();
            assert!(
                said.contains("--mesh IF --wired IF") && !said.contains('\n'),
                "{said}"
            );
        }
        assert!(mesh_of(&[], vec!["1"]).is_err());
    }

    #[test]
    fn the_internet_is_where_the_default_routes_lead() {
        let found = ["bat0", "eth0", "eth1"].map(|name| candidate(name, Evidence::Nothing));
        let of = |routes: &[DefaultRoute]| {
            let list = by_default_route("bat0", routes).into_iter();
            list.map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(of(&[route("eth1"), route("bat0"), route("eth1")]), ["eth1"]);
        assert_eq!(of(&[route("eth1"), route("eth0")]), ["eth1", "eth0"]);
        assert!(of(&[route("bat0")]).is_empty());
        let ask = |script| wired("bat0", &found, &mut Script(script), &mut |_| Ok(()));
        assert_eq!(ask(vec!["2"]).unwrap().name, "eth1");
        let said = ask(vec![]).unwrap_err().to_string();
        assert!(said.contains("--wired IF"), "{said}");
    }
}
