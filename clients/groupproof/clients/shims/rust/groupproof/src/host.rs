use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{json, Value};

use crate::member::{listed, offset_lists};
use crate::{Client, Member, Offsets, Partition, Problem, Subscribe};

pub(crate) enum Event {
    Command(Value),
    Ended,
    Stopped,
    Done { is_last: bool },
}

pub(crate) fn read(lines: impl BufRead, events: &Sender<Event>) {
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
pub(crate) fn serve<C: Client>(host: &Arc<Host<C>>, events: &Sender<Event>, came: &Receiver<Event>) {
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

pub(crate) struct Host<C> {
    member: Arc<Member>,
    state: Mutex<State<C>>,
    is_closed: Arc<AtomicBool>,
}

struct State<C> {
    client: Option<Arc<C>>, // there is one once it has subscribed
    has_ended: bool,
    polling: Option<JoinHandle<()>>,
}

const OF_MEMBERS: [&str; 8] = ["resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe"];

impl<C: Client> Host<C> {
    pub(crate) fn new(member: Arc<Member>) -> Self {
        Host { member, state: Mutex::new(State { client: None, has_ended: false, polling: None }), is_closed: Arc::default() }
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
            Err(problem) => {
                let (name, is_fatal) = self.member.named(&problem);
                (json!({"error": name, "message": problem.to_string(), "fatal": is_fatal}), false)
            }
        };
        answer["id"] = command["id"].clone();
        self.member.write(answer);
        is_done && matches!(name, "exit" | "close")
    }

    fn carry_out(&self, name: &str, command: &Value) -> Result<Value, Problem> {
        let client = self.state.lock().unwrap().client.clone();
        if matches!(name, "close" | "exit") {
            let is_subscribed = client.is_some();
            drop(client); // the last one that holds it ends it
            return match (name, is_subscribed) {
                ("close", false) => Err(Problem::named("ILLEGAL_STATE", "not subscribed")),
                ("close", true) => self.close(command["leave"].as_bool()),
                _ => self.close(None),
            };
        }
        match (name, client) {
            ("subscribe", Some(_)) => Err(Problem::named("ILLEGAL_STATE", "subscribed already; use resubscribe")),
            ("subscribe", None) => self.subscribe(command),
            (_, _) if !OF_MEMBERS.contains(&name) => Err(Problem::unimplemented(format!("this shim knows no command {name:?}"))),
            (_, None) => Err(Problem::named("ILLEGAL_STATE", "not subscribed")),
            (_, Some(client)) => self.of_member(&client, name, command),
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
        let wait = fields.millis("poll_timeout_ms").unwrap_or(Duration::from_millis(100));
        let delay = fields.millis("handler_delay_ms").unwrap_or_default();
        self.member.plan(fields.has("instance_id"), delay, fields.take("on_revoked"));
        let client = Arc::new(C::subscribe(self.member.clone(), &mut fields)?);
        self.member.write(json!({"name": "startup_complete"}));
        let mut state = self.state.lock().unwrap();
        state.polling = Some(self.polling(client.clone(), wait));
        state.client = Some(client);
        Ok(json!({"ignored": fields.ignored()}))
    }

    /// Poll in a thread, over and over, through the gate. An error is reported, and the next poll comes a little later; after a fatal one
    /// the member polls no more, as an application would end, until `resume`.
    fn polling(&self, client: Arc<C>, wait: Duration) -> JoinHandle<()> {
        let (member, is_closed) = (self.member.clone(), self.is_closed.clone());
        std::thread::spawn(move || {
            let mut polled = Some(Ok(()));
            while polled.is_some() && !is_closed.load(Ordering::SeqCst) {
                let is_through = member.gate.pass(|| {
                    polled = client.poll(wait);
                    if let Some(Err(problem)) = &polled {
                        member.problem(problem);
                        if member.named(problem).1 {
                            member.gate.shut_behind();
                        }
                    }
                });
                if !is_through {
                    return;
                }
                if matches!(polled, Some(Err(_))) {
                    std::thread::sleep(wait);
                }
            }
        })
    }

    fn of_member(&self, client: &C, name: &str, command: &Value) -> Result<Value, Problem> {
        match name {
            "pause" => self.member.gate.shut(),
            "resume" => self.member.gate.open(),
            "assignment" => return Ok(json!({"partitions": listed(&self.member.owned())})),
            "commit" => return self.commit(client, command),
            "position" | "committed" => return self.look_up(client, name, command),
            "resubscribe" => {
                client.resubscribe(&texts(&command["topics"]))?;
                self.member.gate.open();
            }
            _ => {
                client.unsubscribe(command["leave"].as_bool())?;
                self.member.gate.open();
            }
        }
        Ok(json!({}))
    }

    fn commit(&self, client: &C, command: &Value) -> Result<Value, Problem> {
        let named = command["offsets"].as_array().map(|_| offsets_of(&command["offsets"]));
        let offsets = named.unwrap_or_else(|| self.member.positions());
        let member = self.member.clone();
        if command["mode"] == "async" {
            let told = offsets.clone();
            client.commit_async(&offsets, Box::new(move |done| member.committed(&told, &done)))?;
            return Ok(json!({"offsets": offset_lists(&offsets)}));
        }
        // Nothing was read: a commit of nothing is a success.
        let done = if offsets.is_empty() { Ok(()) } else { client.commit(&offsets) };
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
    fn look_up(&self, client: &C, name: &str, command: &Value) -> Result<Value, Problem> {
        let asked = match command["partitions"].as_array() {
            Some(_) => offsets_of(&command["partitions"]).into_keys().collect(),
            None => self.member.owned(),
        };
        let mut offsets = if name == "position" { self.member.positions_of(&asked) } else { Offsets::new() };
        let unread: Vec<Partition> = asked.into_iter().filter(|each| !offsets.contains_key(each)).collect();
        if !unread.is_empty() {
            let found = client.committed(&unread)?;
            offsets.extend(unread.into_iter().map(|each| (each.clone(), found.get(&each).copied().unwrap_or(-1))));
        }
        Ok(json!({"offsets": offset_lists(&offsets)}))
    }

    /// End the member once; who asks again has it closed.
    fn close(&self, leave: Option<bool>) -> Result<Value, Problem> {
        if !C::CHOOSES_TO_LEAVE {
            self.member.check_leave(leave)?;
        }
        let mut state = self.state.lock().unwrap();
        if std::mem::replace(&mut state.has_ended, true) {
            return Ok(json!({}));
        }
        self.is_closed.store(true, Ordering::SeqCst);
        self.member.close();
        if let Some(polling) = state.polling.take() {
            let _ = polling.join();
        }
        if let Some(client) = state.client.take() {
            if let Err(problem) = client.close(leave) {
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
