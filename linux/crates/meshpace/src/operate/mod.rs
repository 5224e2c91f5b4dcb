// SPDX-License-Identifier: GPL-2.0-only
//! What an operator does first: set a gateway up, and try pacing.
mod choice;
mod configuration;
mod release_line;
pub mod setup;
mod terminal;
pub mod tries;
mod uci;
mod unit;
