//! The host against a client that notes what it is asked, by the lines that come and go.

use std::io::{Cursor, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::{json, Value};

use super::{read, serve, Client, Done, Event, Host};
use crate::{Lines, Member, Offsets, Partition, Problem, Range, Subscribe};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Is assigned t-0 when it subscribes; each poll reads one record, the third one fails for good.
struct Fake {
    member: Arc<Member>,
    polls: Mutex<i64>,
    refuses: Option<Problem>,
}

fn t0() -> Partition {
    ("t".into(), 0)
}

impl Client for Fake {
    fn subscribe(&self, fields: &mut Subscribe) -> Result<(), Problem> {
        if fields.text("group").is_empty() {
            return Err(Problem::coded(24, "no group"));
        }
        self.member.assigned(&[t0()], None);
        Ok(())
    }

    fn poll(&self) -> Option<Result<(), Problem>> {
        let mut polls = self.polls.lock().unwrap();
        *polls += 1;
        if *polls == 3 {
            return Some(Err(Problem::coded(82, "fenced").fatal()));
        }
        self.member.consumed(&[Range { partition: t0(), least: *polls, greatest: *polls, count: 1 }]);
        Some(Ok(()))
    }

    fn commit(&self, _: &Offsets) -> Result<(), Problem> {
        self.refuses.clone().map_or(Ok(()), Err)
    }

    fn commit_async(&self, _: &Offsets, done: Done) -> Result<(), Problem> {
        done(self.refuses.clone().map_or(Ok(()), Err));
        Ok(())
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        Ok(partitions.iter().filter(|(_, number)| *number == 0).map(|each| (each.clone(), 7)).collect())
    }

    fn close(&self, _: Option<bool>) -> Result<(), Problem> {
        self.member.lost(&self.member.owned(), None);
        Ok(())
    }
}

/// Play commands to their end, the last one of stdin, and return what was written.
fn played(refuses: Option<Problem>, commands: &[Value]) -> Vec<Value> {
    let written = Written::default();
    let member = Arc::new(Member::new(Arc::new(Lines::new(written.clone()))));
    let fake = Fake { member: member.clone(), polls: Mutex::new(0), refuses };
    let host = Arc::new(Host::new(member, Box::new(fake)));
    let (events, came) = channel();
    let text: String = commands.iter().map(|command| format!("{command}\n")).collect();
    read(Cursor::new(format!("no command\n{text}")), &events);
    serve(&host, &events, &came);
    written.lines()
}

fn subscribe() -> Value {
    json!({"id": 1, "command": "subscribe", "group": "g", "rack": "a", "poll_timeout_ms": 1})
}

fn answer(lines: &[Value], id: i64) -> Value {
    lines.iter().find(|line| line["id"] == id).cloned().unwrap_or_default()
}

fn named<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["name"] == name).collect()
}

#[test]
fn a_command_that_is_not_known_or_too_early_says_so() {
    let lines = played(None, &[json!({"id": 1, "command": "dance"}), json!({"id": 2, "command": "commit"}), json!({"id": 3, "command": "exit"})]);
    assert_eq!(answer(&lines, 1)["unimplemented"], "this shim knows no command \"dance\"");
    assert_eq!(answer(&lines, 2)["error"], "ILLEGAL_STATE");
    assert_eq!(lines.last().unwrap(), &json!({"id": 3, "ok": true}));
}

#[test]
fn subscribing_lists_what_nobody_took_and_is_done_once() {
    let lines = played(None, &[subscribe(), json!({"id": 2, "command": "subscribe", "group": "g"}), json!({"id": 3, "command": "close"})]);
    assert_eq!(answer(&lines, 1)["ignored"], json!(["rack"]));
    assert_eq!(answer(&lines, 2)["error"], "ILLEGAL_STATE");
    assert_eq!(named(&lines, "startup_complete").len(), 1);
}

#[test]
fn a_client_that_cannot_subscribe_says_why() {
    let lines = played(None, &[json!({"id": 1, "command": "subscribe"}), json!({"id": 2, "command": "exit"})]);
    assert_eq!(answer(&lines, 1), json!({"id": 1, "error": "INVALID_GROUP_ID", "message": "no group", "fatal": false}));
    assert!(named(&lines, "startup_complete").is_empty());
}

#[test]
fn a_fatal_error_of_a_poll_ends_the_polling() {
    let lines = played(None, &[subscribe(), json!({"id": 2, "command": "pause"}), json!({"id": 3, "command": "close"})]);
    let errors = named(&lines, "error");
    assert!(errors.len() <= 1 && errors.iter().all(|line| line["fatal"] == true && line["error"] == "FENCED_INSTANCE_ID"));
    assert!(named(&lines, "records_consumed").len() <= 2);
}

#[test]
fn an_event_of_a_commit_precedes_its_answer_and_names_the_error() {
    let offsets = json!([["t", 0, 5]]);
    let commands = [subscribe(), json!({"id": 2, "command": "commit", "mode": "sync", "offsets": offsets}), json!({"id": 3, "command": "close"})];
    let lines = played(Some(Problem::coded(22, "passed")), &commands);
    let event = lines.iter().position(|line| line["name"] == "offsets_committed").unwrap();
    assert!(event < lines.iter().position(|line| line["id"] == 2).unwrap());
    assert_eq!(lines[event]["error"], "ILLEGAL_GENERATION");
    assert_eq!(lines[event]["offsets"], json!([{"topic": "t", "partition": 0, "offset": 5}]));
    assert_eq!(answer(&lines, 2)["error"], "ILLEGAL_GENERATION");
}

#[test]
fn a_commit_that_nobody_waits_for_is_answered_and_told_and_one_of_unknown_outcome_says_so() {
    let commit = |id, mode| json!({"id": id, "command": "commit", "mode": mode, "offsets": [["t", 0, 5]]});
    let lines = played(Some(Problem::OutcomeUnknown), &[subscribe(), commit(2, "async"), commit(3, "sync"), json!({"id": 4, "command": "close"})]);
    assert_eq!(answer(&lines, 2)["ok"], true);
    assert_eq!(answer(&lines, 3)["outcome"], "unknown");
    assert!(named(&lines, "offsets_committed").iter().all(|line| line["outcome"] == "unknown"));
}

#[test]
fn what_was_not_read_begins_at_what_is_committed() {
    let asked = json!([["t", 0], ["t", 1]]);
    let lines = played(None, &[subscribe(), json!({"id": 2, "command": "committed", "partitions": asked}), json!({"id": 3, "command": "close"})]);
    assert_eq!(answer(&lines, 2)["offsets"], json!([["t", 0, 7], ["t", 1, -1]]));
}

#[test]
fn what_the_client_has_not_is_unimplemented_and_the_member_stays_open() {
    let commands = [
        subscribe(),
        json!({"id": 2, "command": "resubscribe", "topics": []}),
        json!({"id": 3, "command": "unsubscribe"}),
        json!({"id": 4, "command": "close", "leave": true}),
        json!({"id": 5, "command": "assignment"}),
        json!({"id": 6, "command": "close"}),
    ];
    let lines = played(None, &commands);
    assert!([2, 3, 4].iter().all(|id| answer(&lines, *id)["unimplemented"].is_string()));
    assert_eq!(answer(&lines, 5)["partitions"], json!([{"topic": "t", "partition": 0}]));
    assert_eq!(answer(&lines, 6)["ok"], true);
}

#[test]
fn the_end_of_stdin_closes_the_member() {
    let lines = played(None, &[subscribe()]);
    let last: Vec<_> = lines.iter().rev().take(3).map(|line| line["name"].clone()).collect();
    assert_eq!(last, ["shutdown_complete", "callback_done", "partitions_lost"]);
}

#[test]
fn sigterm_closes_the_member_before_what_waits() {
    let written = Written::default();
    let member = Arc::new(Member::new(Arc::new(Lines::new(written.clone()))));
    let host = Arc::new(Host::new(member.clone(), Box::new(Fake { member, polls: Mutex::new(0), refuses: None })));
    let (events, came) = channel();
    events.send(Event::Stopped).unwrap();
    events.send(Event::Command(subscribe())).unwrap();
    serve(&host, &events, &came);
    assert_eq!(written.lines(), [json!({"name": "shutdown_complete"})]);
}

#[test]
fn a_revocation_commits_what_was_read_and_forgets_it() {
    let written = Written::default();
    let member = Member::new(Arc::new(Lines::new(written.clone())));
    member.plan(Default::default(), json!({"sleep_ms": 1, "commit": true}));
    member.assigned(&[t0()], None);
    assert_eq!(member.revoked(&[t0()], None), None);
    member.consumed(&[Range { partition: t0(), least: 3, greatest: 4, count: 2 }]);
    assert_eq!(member.revoked(&[t0()], None), Some(Offsets::from([(t0(), 5)])));
    member.revoked_done(&[t0()]);
    assert!(member.owned().is_empty() && member.positions().is_empty());
    assert_eq!(written.lines().last().unwrap(), &json!({"name": "callback_done"}));
}
