use std::error::Error;
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::host::{read, serve, Event, Host};
use crate::lines::Lines;
use crate::{Member, Offsets, Partition, Problem, Subscribe};

/// What is called once, when a commit that nobody waits for has ended.
pub type Done = Box<dyn FnOnce(Result<(), Problem>) + Send>;

/// One member of a third party's client. What it has no feature for it leaves as it is here: `unimplemented`.
///
/// `?` makes a [`Problem`] of any error of the client's; `Hello::name_error` names it.
pub trait Client: Send + Sync + Sized + 'static {
    /// Make the client out of the fields, and subscribe. It returns when the client has its settings, and never waits for the join.
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem>;

    /// Poll once, waiting so long for records, and report them. It is called over and over, through the member's gate. None for a client
    /// that pushes, whose handler calls [`Member::handle`].
    fn poll(&self, _wait: Duration) -> Option<Result<(), Problem>> {
        None
    }

    /// Commit these offsets and wait for the end of it (capability `commit`).
    fn commit(&self, _offsets: &Offsets) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client commits by itself only"))
    }

    /// Commit without waiting (capability `commit-async`).
    fn commit_async(&self, _offsets: &Offsets, _done: Done) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client's commits wait for their end"))
    }

    /// What the group has committed of these partitions, -1 or nothing where it has not.
    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem>;

    /// Change the topics (capability `resubscribe`).
    fn resubscribe(&self, _topics: &[String]) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client keeps its topics"))
    }

    /// Leave the group without being closed. [`Member::check_leave`] refuses what a client that has no choice would not do.
    fn unsubscribe(&self, _leave: Option<bool>) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client leaves its group when it is closed"))
    }

    /// Whether the client can be closed either way (KIP-1092). One that can't leaves as a dynamic member and stays as a static one.
    const CHOOSES_TO_LEAVE: bool = false;

    /// End the client, which is dropped then. No poll runs beside it. `leave` is None unless it chooses and is asked to.
    fn close(&self, _leave: Option<bool>) -> Result<(), Problem> {
        Ok(())
    }
}

/// What a shim says first, and how its client's errors are called.
pub struct Hello<'a> {
    pub client: &'a str,
    /// The client's release, as [`release_in`](crate::release_in) finds it.
    pub release: String,
    pub capabilities: &'a [&'a str],
    /// Returns what an error of the client's stands for, by Kafka's name or the client's own; None leaves it without a name.
    pub name_error: fn(&(dyn Error + 'static)) -> Option<Problem>,
}

/// The main function of a shim: it answers commands until `close`, `exit`, SIGTERM or the end of stdin.
pub fn run<C: Client>(hello: Hello) {
    let (events, came) = channel();
    let member = Arc::new(Member::new(Lines::new(std::io::stdout()), hello.name_error));
    let stops = events.clone();
    ctrlc::set_handler(move || drop(stops.send(Event::Stopped))).expect("SIGTERM can be handled");
    let says = json!({"name": "hello", "contract": 1, "client": hello.client, "version": hello.release, "language": "rust", "capabilities": hello.capabilities});
    member.write(says);
    let host = Arc::new(Host::<C>::new(member));
    std::thread::spawn({
        let events = events.clone();
        move || read(std::io::stdin().lock(), &events)
    });
    serve(&host, &events, &came);
    std::process::exit(0); // threads of the client must not hold the process back
}
