// SPDX-License-Identifier: GPL-2.0-only
//! Packets that are held until they depart, and copies of those that have.
pub mod cache;
pub mod classes;
pub mod held;
pub mod holding;
pub mod hostpace;
pub mod htb_thread;
mod keeper;
pub mod liveness;
pub mod nfnetlink;
pub mod nfqueue_thread;
pub mod paced;
pub mod pacer;

#[cfg(test)]
mod hold_tests;
