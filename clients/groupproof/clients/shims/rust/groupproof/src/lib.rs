//! What a Rust client's shim stands on: the lines of the shim contract, version 1, and what an application keeps beside its client.
//!
//! An author writes a [`Client`] and calls [`run`]. Reading order: `Client` and `run` (client.rs), [`Member`] (member.rs), [`Subscribe`],
//! [`Gate`], the names of errors (problem.rs), the release that was built in (release.rs).

mod client;
mod gate;
mod host;
mod lines;
mod member;
mod problem;
mod release;
mod subscribe;

pub use client::{run, Client, Done, Hello};
pub use gate::Gate;
pub use member::{Batch, Generation, Member, Offsets, Partition};
pub use problem::{code_name, Problem};
pub use release::release_in;
pub use serde_json::{json, Value};
pub use subscribe::{Field, Subscribe, LIBRDKAFKA};
