// SPDX-License-Identifier: GPL-2.0-only
//! Where the Internet is, and a mesh host's gateway to it.
use meshpace_paths::DefaultRoute;

/// Default routes, IPv4 before IPv6, the preferred first; None where the kernel does not tell.
pub fn read_default_routes() -> Option<Vec<DefaultRoute>> {
    let read = meshpace_paths::default_routes();
    read.inspect_err(|error| log::warn!("the routes cannot be read: {error}"))
        .ok()
}

/// Likewise; none where the kernel does not tell.
pub fn default_routes() -> Vec<DefaultRoute> {
    read_default_routes().unwrap_or_default()
}

/// Interfaces of the default routes but `except`: those towards the Internet.
pub fn default_interfaces(except: &str) -> Option<Vec<String>> {
    let mut names: Vec<_> = read_default_routes()?
        .into_iter()
        .map(|route| route.interface)
        .collect();
    names.retain(|name| name != except);
    names.sort();
    names.dedup();
    Some(names)
}
