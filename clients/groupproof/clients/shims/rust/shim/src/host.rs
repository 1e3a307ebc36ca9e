use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{json, Value};

use crate::member::name_of;
use crate::{listed, offset_lists, Lines, Member, Offsets, Partition, Problem, Subscribe};

/// What is called once, when a commit that nobody waits for has ended.
pub type Done = Box<dyn FnOnce(Result<(), Problem>) + Send>;

/// One member of a third party's client. What it has no feature for it leaves as it is here: `unimplemented`.
pub trait Client: Send + Sync {
    /// Make the client and subscribe. It returns when the client was told, not when it has joined.
    fn subscribe(&self, fields: &mut Subscribe) -> Result<(), Problem>;

    /// Poll once, and tell what came; None for a client that pushes, whose handler goes through the member's gate itself.
    fn poll(&self) -> Option<Result<(), Problem>> {
        None
    }

    /// Commit these offsets and wait for the end of it.
    fn commit(&self, offsets: &Offsets) -> Result<(), Problem>;

    /// Commit without waiting (capability `commit-async`).
    fn commit_async(&self, _offsets: &Offsets, _done: Done) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client's commits wait for their end"))
    }

    /// What the group has committed of these partitions, -1 where nothing.
    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem>;

    /// Change the topics (capability `resubscribe`).
    fn resubscribe(&self, _topics: &[String]) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client keeps its topics"))
    }

    /// Leave the group without being closed.
    fn unsubscribe(&self, _leave: Option<bool>) -> Result<(), Problem> {
        Err(Problem::unimplemented("this client leaves its group when it is closed"))
    }

    /// Whether it can close so; `leave` is None unless the member is to leave, or to stay, whatever the client would do.
    fn check_leave(&self, leave: Option<bool>) -> Result<(), Problem> {
        leave.map_or(Ok(()), |_| Err(Problem::unimplemented("this client decides itself whether it leaves")))
    }

    /// End the client. It polls no more by then.
    fn close(&self, leave: Option<bool>) -> Result<(), Problem>;
}

/// What a shim says first; `release` is the client's, as [`release_in`](crate::release_in) finds it.
pub struct Hello<'a> {
    pub client: &'a str,
    pub release: String,
    pub capabilities: &'a [&'a str],
}

/// The main function of a shim: it answers commands until `close`, `exit`, SIGTERM or the end of stdin.
pub fn run<C: Client + 'static>(hello: Hello, make: impl FnOnce(Arc<Member>) -> C) {
    let (events, came) = channel();
    let member = Arc::new(Member::new(Arc::new(Lines::new(std::io::stdout()))));
    let stops = events.clone();
    ctrlc::set_handler(move || drop(stops.send(Event::Stopped))).expect("SIGTERM can be handled");
    let says = json!({"name": "hello", "contract": 1, "client": hello.client, "version": hello.release, "language": "rust", "capabilities": hello.capabilities});
    member.write(says);
    let host = Arc::new(Host::new(member.clone(), Box::new(make(member))));
    std::thread::spawn({
        let events = events.clone();
        move || read(std::io::stdin().lock(), &events)
    });
    serve(&host, &events, &came);
    std::process::exit(0); // threads of the client must not hold the process back
}

enum Event {
    Command(Value),
    Ended,
    Stopped,
    Done { is_last: bool },
}

fn read(lines: impl BufRead, events: &Sender<Event>) {
    for line in lines.lines().map_while(Result::ok) {
        match serde_json::from_str::<Value>(&line) {
            Ok(command) if command["command"].is_string() => drop(events.send(Event::Command(command))),
            _ => eprintln!("not a command: {line}"), // it has no id, so nobody waits for an answer
        }
    }
    let _ = events.send(Event::Ended);
}

/// Carry commands out, one after the other, beside whatever the client does meanwhile. What asks the coordinator may hang for long: the
/// end does not wait for it.
fn serve(host: &Arc<Host>, events: &Sender<Event>, came: &Receiver<Event>) {
    let mut waiting = VecDeque::new();
    let mut in_hand: Option<String> = None;
    for event in came {
        match event {
            Event::Done { is_last: true } => return,
            Event::Done { is_last: false } => in_hand = None,
            Event::Stopped => waiting.push_front(Event::Ended),
            other => waiting.push_back(other),
        }
        let may_hang = matches!(in_hand.as_deref(), None | Some("commit" | "committed" | "position"));
        if may_hang && matches!(waiting.front(), Some(Event::Ended)) {
            return drop(host.close(None));
        }
        if in_hand.is_some() {
            continue;
        }
        if let Some(Event::Command(command)) = waiting.pop_front() {
            in_hand = command["command"].as_str().map(str::to_owned);
            let (host, events) = (host.clone(), events.clone());
            std::thread::spawn(move || events.send(Event::Done { is_last: host.handle(&command) }));
        }
    }
}

struct Host {
    member: Arc<Member>,
    client: Arc<dyn Client>,
    state: Mutex<State>,
    is_closed: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    is_subscribed: bool,
    has_ended: bool,
    polling: Option<JoinHandle<()>>,
}

const OF_MEMBERS: [&str; 9] = ["resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close"];

impl Host {
    fn new(member: Arc<Member>, client: Box<dyn Client>) -> Self {
        Host { member, client: client.into(), state: Mutex::default(), is_closed: Arc::default() }
    }

    /// Carry a command out, answer it, and tell whether it was the last one.
    fn handle(&self, command: &Value) -> bool {
        let name = command["command"].as_str().unwrap_or_default();
        let (mut answer, is_done) = match self.carry_out(name, command) {
            Ok(mut fields) => {
                fields["ok"] = true.into();
                (fields, true)
            }
            Err(Problem::Unimplemented(why)) => (json!({"unimplemented": why}), false),
            Err(problem) => (json!({"error": name_of(&problem), "message": problem.to_string(), "fatal": problem.is_fatal()}), false),
        };
        answer["id"] = command["id"].clone();
        self.member.write(answer);
        is_done && matches!(name, "exit" | "close")
    }

    fn carry_out(&self, name: &str, command: &Value) -> Result<Value, Problem> {
        let is_subscribed = self.state.lock().unwrap().is_subscribed;
        match name {
            "subscribe" if is_subscribed => Err(Problem::named("ILLEGAL_STATE", "subscribed already; use resubscribe")),
            "subscribe" => self.subscribe(command),
            "exit" => self.close(None),
            _ if !OF_MEMBERS.contains(&name) => Err(Problem::unimplemented(format!("this shim knows no command {name:?}"))),
            _ if !is_subscribed => Err(Problem::named("ILLEGAL_STATE", "not subscribed")),
            _ => self.of_member(name, command),
        }
    }

    fn subscribe(&self, command: &Value) -> Result<Value, Problem> {
        let mut fields = Subscribe::new(command);
        let older = fields.text("protocol");
        let protocol = if fields.has("group_protocol") { fields.text("group_protocol") } else { older };
        if protocol == "consumer" {
            fields.ignore("protocol");
        }
        fields.take("broker_release"); // a client that asks its brokers need not be told
        let pause = fields.millis("poll_timeout_ms").unwrap_or(Duration::from_millis(100));
        self.member.plan(fields.millis("handler_delay_ms").unwrap_or_default(), fields.take("on_revoked"));
        self.client.subscribe(&mut fields)?;
        self.member.write(json!({"name": "startup_complete"}));
        let mut state = self.state.lock().unwrap();
        state.is_subscribed = true;
        state.polling = Some(self.polling(pause));
        Ok(json!({"ignored": fields.ignored()}))
    }

    /// Poll in a thread, over and over, through the gate. An error is told, and the next poll comes a little later; after a fatal one
    /// the member polls no more, as an application would end, until `resume`.
    fn polling(&self, pause: Duration) -> JoinHandle<()> {
        let (member, client, is_closed) = (self.member.clone(), self.client.clone(), self.is_closed.clone());
        std::thread::spawn(move || {
            let mut polled = Some(Ok(()));
            while polled.is_some() && !is_closed.load(Ordering::SeqCst) {
                let is_through = member.gate.pass(|| {
                    polled = client.poll();
                    if let Some(Err(problem)) = &polled {
                        member.problem(problem);
                        if problem.is_fatal() {
                            member.gate.shut_behind();
                        }
                    }
                });
                if !is_through {
                    return;
                }
                if matches!(polled, Some(Err(_))) {
                    std::thread::sleep(pause);
                }
            }
        })
    }

    fn of_member(&self, name: &str, command: &Value) -> Result<Value, Problem> {
        let leave = command["leave"].as_bool();
        match name {
            "pause" => self.member.gate.shut(),
            "resume" => self.member.gate.open(),
            "assignment" => return Ok(json!({"partitions": listed(&self.member.owned())})),
            "commit" => return self.commit(command),
            "position" | "committed" => return self.tell(name, command),
            "close" => return self.close(leave),
            "resubscribe" => {
                self.client.resubscribe(&texts(&command["topics"]))?;
                self.member.gate.open();
            }
            _ => {
                self.client.unsubscribe(leave)?;
                self.member.gate.open();
            }
        }
        Ok(json!({}))
    }

    fn commit(&self, command: &Value) -> Result<Value, Problem> {
        let named = command["offsets"].as_array().map(|_| offsets_of(&command["offsets"]));
        let offsets = named.unwrap_or_else(|| self.member.positions());
        let member = self.member.clone();
        if command["mode"] == "async" {
            let told = offsets.clone();
            self.client.commit_async(&offsets, Box::new(move |done| member.committed(&told, &done)))?;
            return Ok(json!({"offsets": offset_lists(&offsets)}));
        }
        // Nothing was read: a commit of nothing is a success.
        let done = if offsets.is_empty() { Ok(()) } else { self.client.commit(&offsets) };
        if let Err(problem @ Problem::Unimplemented(_)) = done {
            return Err(problem);
        }
        member.committed(&offsets, &done);
        match done {
            Ok(()) => Ok(json!({"offsets": offset_lists(&offsets)})),
            Err(Problem::OutcomeUnknown) => Ok(json!({"offsets": offset_lists(&offsets), "outcome": "unknown"})),
            Err(problem) => Err(problem),
        }
    }

    /// Answer what is committed, or how far the application is: where it has read nothing it begins at what is committed.
    fn tell(&self, name: &str, command: &Value) -> Result<Value, Problem> {
        let asked = match command["partitions"].as_array() {
            Some(_) => offsets_of(&command["partitions"]).into_keys().collect(),
            None => self.member.owned(),
        };
        let mut offsets = if name == "position" { self.member.positions_of(&asked) } else { Offsets::new() };
        let unread: Vec<Partition> = asked.into_iter().filter(|each| !offsets.contains_key(each)).collect();
        if !unread.is_empty() {
            let found = self.client.committed(&unread)?;
            offsets.extend(unread.into_iter().map(|each| (each.clone(), found.get(&each).copied().unwrap_or(-1))));
        }
        Ok(json!({"offsets": offset_lists(&offsets)}))
    }

    /// End the member once; who asks again has it closed.
    fn close(&self, leave: Option<bool>) -> Result<Value, Problem> {
        self.client.check_leave(leave)?;
        let mut state = self.state.lock().unwrap();
        if std::mem::replace(&mut state.has_ended, true) {
            return Ok(json!({}));
        }
        self.is_closed.store(true, Ordering::SeqCst);
        self.member.gate.remove();
        if let Some(polling) = state.polling.take() {
            let _ = polling.join();
        }
        if state.is_subscribed {
            if let Err(problem) = self.client.close(leave) {
                eprintln!("close: {problem}");
            }
        }
        self.member.write(json!({"name": "shutdown_complete"}));
        Ok(json!({}))
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Read `[[topic, partition, offset]]` or `[[topic, partition]]`.
fn offsets_of(lists: &Value) -> Offsets {
    let rows = lists.as_array().into_iter().flatten();
    let read = |row: &Value| Some(((row[0].as_str()?.to_owned(), row[1].as_i64()? as i32), row[2].as_i64().unwrap_or(-1)));
    rows.filter_map(read).collect()
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
