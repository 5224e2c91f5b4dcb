// SPDX-License-Identifier: GPL-2.0-only
//! What all the rest stands on: errors, the log, small questions to the system, files under /run.
pub mod errors;
pub mod lock;
pub mod logger;
#[cfg(test)]
pub mod namespace;
pub mod output;
pub mod rundir;
pub mod system;
