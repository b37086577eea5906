//! Who sends: TCP connections, web-like traffic over them, and constant-rate sources.

pub mod connection;
pub mod datagrams;
pub mod frames;
pub mod source;
pub mod web;
