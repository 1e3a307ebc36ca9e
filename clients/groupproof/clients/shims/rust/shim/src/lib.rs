//! What a Rust client's shim stands on: the lines of the shim contract, version 1, and what an application keeps beside its client.
//!
//! An author writes a [`Client`] and calls [`run`]. Reading order: `Client` and `run` (host.rs), [`Member`] (member.rs), [`Subscribe`],
//! [`Gate`], [`Lines`], the names of errors (problem.rs), the release that was built in (release.rs).

mod gate;
mod host;
mod lines;
mod member;
mod problem;
mod release;
mod subscribe;

pub use gate::Gate;
pub use host::{run, Client, Done, Hello};
pub use lines::Lines;
pub use member::{listed, offset_lists, Generation, Member, Offsets, Partition, Range};
pub use problem::{code_name, Problem};
pub use release::release_in;
pub use serde_json::{json, Value};
pub use subscribe::Subscribe;
