//! Congestion control of a kernel from its object file: the simulator runs the bytes that the kernel loads.
//!
//! An object file made by `clang -target bpf -g` declares algorithms in its section `.struct_ops`. [`Program::load`] reads it (ELF, BTF),
//! fits it to the records of [`target`] (CO-RE), and refuses by name anything that the simulator lacks. A [`Machine`] runs its
//! operations on the memory of one connection: no address of the host is in it, and each call has a budget of instructions.
//!
//! [`Objects`] adds such files to a simulator's catalogue, [`Modules`] Linux's own modules that were compiled for it.
#![forbid(unsafe_code)]

mod base64;
mod btf;
mod code;
mod control;
mod elf;
mod error;
mod host;
mod load;
mod memory;
#[rustfmt::skip]
mod names;
mod reach;
mod relocate;
mod reno;
mod run;
pub mod shelf;
mod source;
pub mod target;

pub use control::{Control, begin};
pub use error::{Error, Fault};
pub use load::{MEMBERS, Parameter, Program};
pub use run::Machine;
pub use source::{Modules, Objects};
