// SPDX-License-Identifier: GPL-2.0-only
//! Where the Internet is, and a mesh host's gateway to it.
use meshpace_paths::DefaultRoute;

/// Default routes, IPv4 before IPv6, the preferred first; none where the kernel does not tell.
pub fn default_routes() -> Vec<DefaultRoute> {
    meshpace_paths::default_routes().unwrap_or_else(|error| {
        log::warn!("the routes cannot be read: {error}");
        Vec::new()
    })
}

/// Interfaces of the default routes but `except`: those towards the Internet.
pub fn default_interfaces(except: &str) -> Vec<String> {
    let mut names: Vec<_> = default_routes()
        .into_iter()
        .map(|route| route.interface)
        .collect();
    names.retain(|name| name != except);
    names.sort();
    names.dedup();
    names
}
