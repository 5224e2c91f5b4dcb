// SPDX-License-Identifier: GPL-2.0-only
//! What an operator does by a command of its own beside a running gateway: a try of pacing.
pub mod release_line;
pub mod tries;
