// SPDX-License-Identifier: GPL-2.0-only
//! Who is in the mesh: flows, which addresses are one host, its path and its radio.
pub mod flows;
pub mod identity;
pub mod paths;
pub mod radio;
pub mod registry;
pub mod routes;
pub mod sums;
pub mod uses;
