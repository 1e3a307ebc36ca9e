//! The host against a client that notes what it is asked, by the lines that come and go.

use std::io::{Cursor, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{json, Value};

use super::{read, serve, Event, Host};
use crate::lines::written::Written;
use crate::lines::Lines;
use crate::{Batch, Client, Done, Member, Offsets, Partition, Problem, Subscribe};

/// Is assigned t-0 when it subscribes; each poll reads one record, the third one fails for good. Its commits end as `refuses` says.
struct Fake {
    member: Arc<Member>,
    polls: Mutex<i64>,
    refuses: String,
}

/// An error of the client's own kind: what the broker said, by number.
#[derive(Debug)]
struct Code(i16);

impl std::fmt::Display for Code {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "the broker said {}", self.0)
    }
}

impl std::error::Error for Code {}

fn name_error(error: &(dyn std::error::Error + 'static)) -> Option<Problem> {
    let code = error.downcast_ref::<Code>()?.0;
    let problem = Problem::coded(code, error);
    Some(if code == 82 { problem.fatal() } else { problem })
}

fn t0() -> Partition {
    ("t".into(), 0)
}

impl Fake {
    fn end(&self) -> Result<(), Problem> {
        match self.refuses.as_str() {
            "" => Ok(()),
            "unknown" => Err(Problem::OutcomeUnknown),
            code => Err(Code(code.parse()?))?,
        }
    }
}

impl Client for Fake {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let refuses = fields.text("refuses");
        if fields.text("group").is_empty() {
            return Err(Problem::coded(24, "no group"));
        }
        member.assigned(&[t0()], None);
        Ok(Fake { member, polls: Mutex::new(0), refuses })
    }

    fn poll(&self, _: Duration) -> Option<Result<(), Problem>> {
        let mut polls = self.polls.lock().unwrap();
        *polls += 1;
        if *polls == 3 {
            return Some(Err(Code(82).into()));
        }
        let mut records = Batch::default();
        records.add("t", 0, *polls);
        self.member.consumed(&records);
        Some(Ok(()))
    }

    fn commit(&self, _: &Offsets) -> Result<(), Problem> {
        self.end()
    }

    fn commit_async(&self, _: &Offsets, done: Done) -> Result<(), Problem> {
        done(self.end());
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

impl Drop for Fake {
    fn drop(&mut self) {
        self.member.write(json!({"name": "dropped"}));
    }
}

fn hosting(written: &Written) -> Arc<Host<Fake>> {
    Arc::new(Host::new(Arc::new(Member::new(Lines::new(written.clone()), name_error))))
}

/// Play commands to their end, the last one of stdin, and return what was written.
fn played(commands: &[Value]) -> Vec<Value> {
    let written = Written::default();
    let host = hosting(&written);
    let (events, came) = channel();
    let text: String = commands.iter().map(|command| format!("{command}\n")).collect();
    read(Cursor::new(format!("no command\n{text}")), &events);
    serve(&host, &events, &came);
    written.lines()
}

fn subscribe() -> Value {
    subscribe_to_one_that_refuses("")
}

fn subscribe_to_one_that_refuses(refuses: &str) -> Value {
    json!({"id": 1, "command": "subscribe", "group": "g", "rack": "a", "poll_timeout_ms": 1, "refuses": refuses})
}

fn answer(lines: &[Value], id: i64) -> Value {
    lines.iter().find(|line| line["id"] == id).cloned().unwrap_or_default()
}

fn named<'a>(lines: &'a [Value], name: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["name"] == name).collect()
}

#[test]
fn a_command_that_is_not_known_or_too_early_says_so() {
    let lines = played(&[json!({"id": 1, "command": "dance"}), json!({"id": 2, "command": "commit"}), json!({"id": 3, "command": "exit"})]);
    assert_eq!(answer(&lines, 1)["unimplemented"], "this shim knows no command \"dance\"");
    assert_eq!(answer(&lines, 2)["error"], "ILLEGAL_STATE");
    assert_eq!(lines.last().unwrap(), &json!({"id": 3, "ok": true}));
}

#[test]
fn subscribing_lists_what_nobody_took_and_is_done_once() {
    let lines = played(&[subscribe(), json!({"id": 2, "command": "subscribe", "group": "g"}), json!({"id": 3, "command": "close"})]);
    assert_eq!(answer(&lines, 1)["ignored"], json!(["rack"]));
    assert_eq!(answer(&lines, 2)["error"], "ILLEGAL_STATE");
    assert_eq!(named(&lines, "startup_complete").len(), 1);
}

#[test]
fn a_client_that_cannot_subscribe_says_why() {
    let lines = played(&[json!({"id": 1, "command": "subscribe"}), json!({"id": 2, "command": "exit"})]);
    assert_eq!(answer(&lines, 1), json!({"id": 1, "error": "INVALID_GROUP_ID", "message": "no group", "fatal": false}));
    assert!(named(&lines, "startup_complete").is_empty());
}

#[test]
fn a_fatal_error_of_a_poll_ends_the_polling() {
    let lines = played(&[subscribe(), json!({"id": 2, "command": "pause"}), json!({"id": 3, "command": "close"})]);
    let errors = named(&lines, "error");
    assert!(errors.len() <= 1 && errors.iter().all(|line| line["fatal"] == true && line["error"] == "FENCED_INSTANCE_ID"));
    assert!(named(&lines, "records_consumed").len() <= 2);
}

#[test]
fn an_event_of_a_commit_precedes_its_answer_and_names_the_error() {
    let offsets = json!([["t", 0, 5]]);
    let commit = json!({"id": 2, "command": "commit", "mode": "sync", "offsets": offsets});
    let lines = played(&[subscribe_to_one_that_refuses("22"), commit, json!({"id": 3, "command": "close"})]);
    let event = lines.iter().position(|line| line["name"] == "offsets_committed").unwrap();
    assert!(event < lines.iter().position(|line| line["id"] == 2).unwrap());
    assert_eq!(lines[event]["error"], "ILLEGAL_GENERATION");
    assert_eq!(lines[event]["offsets"], json!([{"topic": "t", "partition": 0, "offset": 5}]));
    assert_eq!(answer(&lines, 2)["error"], "ILLEGAL_GENERATION");
}

#[test]
fn a_commit_that_nobody_waits_for_is_answered_and_told_and_one_of_unknown_outcome_says_so() {
    let commit = |id, mode| json!({"id": id, "command": "commit", "mode": mode, "offsets": [["t", 0, 5]]});
    let commands = [subscribe_to_one_that_refuses("unknown"), commit(2, "async"), commit(3, "sync"), json!({"id": 4, "command": "close"})];
    let lines = played(&commands);
    assert_eq!(answer(&lines, 2)["ok"], true);
    assert_eq!(answer(&lines, 3)["outcome"], "unknown");
    assert!(named(&lines, "offsets_committed").iter().all(|line| line["outcome"] == "unknown"));
}

#[test]
fn what_was_not_read_begins_at_what_is_committed() {
    let asked = json!([["t", 0], ["t", 1]]);
    let lines = played(&[subscribe(), json!({"id": 2, "command": "committed", "partitions": asked}), json!({"id": 3, "command": "close"})]);
    assert_eq!(answer(&lines, 2)["offsets"], json!([["t", 0, 7], ["t", 1, -1]]));
}

#[test]
fn what_the_client_has_not_is_unimplemented_and_the_member_stays_open() {
    let commands = [
        subscribe(),
        json!({"id": 2, "command": "resubscribe", "topics": []}),
        json!({"id": 3, "command": "unsubscribe"}),
        json!({"id": 4, "command": "close", "leave": false}),
        json!({"id": 5, "command": "assignment"}),
        json!({"id": 6, "command": "close"}),
    ];
    let lines = played(&commands);
    assert!([2, 3, 4].iter().all(|id| answer(&lines, *id)["unimplemented"].is_string()));
    assert_eq!(answer(&lines, 5)["partitions"], json!([{"topic": "t", "partition": 0}]));
    assert_eq!(answer(&lines, 6)["ok"], true);
}

#[test]
fn the_end_of_stdin_closes_the_member() {
    let lines = played(&[subscribe()]);
    let last: Vec<_> = lines.iter().rev().take(4).map(|line| line["name"].clone()).collect();
    assert_eq!(last, ["shutdown_complete", "dropped", "callback_done", "partitions_lost"]);
}

#[test]
fn what_is_closed_is_dropped_before_the_end_is_reported() {
    for last in ["close", "exit"] {
        let lines = played(&[subscribe(), json!({"id": 2, "command": last})]);
        let names: Vec<_> = lines.iter().rev().take(3).map(|line| line["name"].clone()).collect();
        assert_eq!(names, [Value::Null, "shutdown_complete".into(), "dropped".into()], "{last}");
    }
}

#[test]
fn sigterm_closes_the_member_before_what_waits() {
    let written = Written::default();
    let host = hosting(&written);
    let (events, came) = channel();
    events.send(Event::Stopped).unwrap();
    events.send(Event::Command(subscribe())).unwrap();
    serve(&host, &events, &came);
    assert_eq!(written.lines(), [json!({"name": "shutdown_complete"})]);
}

#[test]
fn a_revocation_commits_what_was_read_and_forgets_it() {
    let written = Written::default();
    let member = Member::new(Lines::new(written.clone()), name_error);
    member.plan(false, Duration::ZERO, json!({"sleep_ms": 1, "commit": true}));
    member.assigned(&[t0()], None);
    assert_eq!(member.revoked(&[t0()], None), None);
    let mut records = Batch::default();
    (records.add("t", 0, 3), records.add("t", 0, 4));
    member.consumed(&records);
    assert_eq!(member.revoked(&[t0()], None), Some(Offsets::from([(t0(), 5)])));
    member.revoked_done(&[t0()]);
    assert!(member.owned().is_empty() && member.positions().is_empty());
    assert_eq!(written.lines().last().unwrap(), &json!({"name": "callback_done"}));
}

#[test]
fn records_are_reported_by_partition_and_none_are_not() {
    let written = Written::default();
    let member = Member::new(Lines::new(written.clone()), name_error);
    member.consumed(&Batch::default());
    let mut records = Batch::default();
    for (number, offset) in [(0, 4), (0, 3), (1, 0), (0, 9)] {
        records.add("t", number, offset);
    }
    member.consumed(&records);
    let parts = json!([
        {"topic": "t", "partition": 0, "minOffset": 3, "maxOffset": 9, "count": 3},
        {"topic": "t", "partition": 1, "minOffset": 0, "maxOffset": 0, "count": 1},
    ]);
    assert_eq!(written.lines(), [json!({"name": "records_consumed", "count": 4, "partitions": parts})]);
}

#[test]
fn a_handler_is_through_the_gate_or_was_not_called() {
    let written = Written::default();
    let member = Member::new(Lines::new(written.clone()), name_error);
    member.assigned(&[t0()], None);
    assert!(member.handle("t", 0, 7));
    member.gate.shut();
    member.gate.remove();
    assert!(!member.handle("t", 0, 8));
    assert_eq!(written.lines().len(), 3);
}

#[test]
fn a_static_member_stays_and_a_dynamic_one_leaves() {
    let member = Member::new(Lines::new(Written::default()), name_error);
    assert!(member.check_leave(Some(true)).is_ok() && member.check_leave(Some(false)).is_err());
    member.plan(true, Duration::ZERO, Value::Null);
    assert!(member.check_leave(Some(false)).is_ok() && member.check_leave(Some(true)).is_err() && member.check_leave(None).is_ok());
}

#[test]
fn an_error_without_a_name_is_the_clients() {
    let member = Member::new(Lines::new(Written::default()), name_error);
    assert_eq!(member.named(&Code(27).into()), ("REBALANCE_IN_PROGRESS".into(), false));
    assert_eq!(member.named(&Code(82).into()), ("FENCED_INSTANCE_ID".into(), true));
    assert_eq!(member.named(&std::fmt::Error.into()), ("CLIENT_ERROR".into(), false));
}
