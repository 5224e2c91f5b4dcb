// SPDX-License-Identifier: GPL-2.0-only
//! What is told of a running gateway, and of the machine.
pub mod control;
pub mod doctor;
pub mod files;
mod hidden;
pub mod history;
mod http;
pub mod metrics;
mod page;
pub mod questions;
pub mod report;
pub mod requests;
pub mod serve;
pub mod socket;
pub mod status;
pub mod tables;
pub mod top;
pub mod tries;
pub mod web;
pub mod why;
