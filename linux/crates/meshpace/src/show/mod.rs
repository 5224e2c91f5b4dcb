// SPDX-License-Identifier: GPL-2.0-only
//! What is told of a running gateway, and of the machine.
pub mod control;
pub mod doctor;
pub mod files;
pub mod history;
mod http;
pub mod metrics;
mod page;
pub mod report;
pub mod serve;
pub mod status;
pub mod tables;
pub mod top;
pub mod web;
pub mod why;
