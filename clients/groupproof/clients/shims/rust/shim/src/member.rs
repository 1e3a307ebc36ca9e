use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{json, Value};

use crate::{Gate, Lines, Problem};

/// A topic and the number of one of its partitions.
pub type Partition = (String, i32);

/// Positions: the next record to read.
pub type Offsets = BTreeMap<Partition, i64>;

/// What was consumed of a partition: its least and its greatest offset, and how many records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub partition: Partition,
    pub least: i64,
    pub greatest: i64,
    pub count: usize,
}

/// A membership, where the client tells it to its application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generation {
    pub member_id: String,
    pub number: i32,
}

/// The application beside its client: what it owns, how far it has read, and the events that it tells.
pub struct Member {
    lines: Arc<Lines>,
    pub gate: Gate,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    owned: BTreeSet<Partition>,
    positions: Offsets,
    handler_delay: Duration,
    on_revoked: Value,
}

impl Member {
    pub fn new(lines: Arc<Lines>) -> Self {
        Member { lines, gate: Gate::default(), state: Mutex::default() }
    }

    /// Note what `subscribe` asks of the application: how slow it is, and what it does in its callback.
    pub(crate) fn plan(&self, handler_delay: Duration, on_revoked: Value) {
        let mut state = self.state.lock().unwrap();
        (state.handler_delay, state.on_revoked) = (handler_delay, on_revoked);
    }

    /// Tell the application's callback: these partitions are its own from now on.
    pub fn assigned(&self, partitions: &[Partition], generation: Option<Generation>) {
        self.state.lock().unwrap().owned.extend(partitions.iter().cloned());
        self.callback("partitions_assigned", partitions, generation);
        self.write(json!({"name": "callback_done"}));
    }

    /// Tell that the application gives partitions back, and do in that callback what `on_revoked` asks. Returns what it is to commit
    /// there, which the caller commits before it calls [`revoked_done`](Self::revoked_done).
    pub fn revoked(&self, partitions: &[Partition], generation: Option<Generation>) -> Option<Offsets> {
        self.callback("partitions_revoked", partitions, generation);
        let on_revoked = self.state.lock().unwrap().on_revoked.clone();
        std::thread::sleep(Duration::from_millis(on_revoked["sleep_ms"].as_u64().unwrap_or(0)));
        let offsets = self.positions_of(partitions);
        (on_revoked["commit"] == true && !offsets.is_empty()).then_some(offsets)
    }

    /// Tell the end of the callback of a revocation.
    pub fn revoked_done(&self, partitions: &[Partition]) {
        self.forget(partitions);
        self.write(json!({"name": "callback_done"}));
    }

    /// Tell that partitions are somebody else's by now.
    pub fn lost(&self, partitions: &[Partition], generation: Option<Generation>) {
        self.callback("partitions_lost", partitions, generation);
        self.revoked_done(partitions);
    }

    /// Tell records that the application was given, and take as long for them as `handler_delay_ms` says.
    pub fn consumed(&self, ranges: &[Range]) {
        let mut parts = Vec::new();
        let mut state = self.state.lock().unwrap();
        for each in ranges {
            if state.owned.contains(&each.partition) {
                state.positions.insert(each.partition.clone(), each.greatest + 1);
            }
            let (topic, number) = &each.partition;
            parts.push(json!({"topic": topic, "partition": number, "minOffset": each.least, "maxOffset": each.greatest, "count": each.count}));
        }
        let delay = state.handler_delay;
        drop(state);
        let count: usize = ranges.iter().map(|each| each.count).sum();
        self.write(json!({"name": "records_consumed", "count": count, "partitions": parts}));
        std::thread::sleep(delay);
    }

    /// Tell how a commit went, or that the client does not tell it.
    pub fn committed(&self, offsets: &Offsets, done: &Result<(), Problem>) {
        let rows = offsets.iter().map(|((topic, number), offset)| json!({"topic": topic, "partition": number, "offset": offset}));
        let mut line = json!({"name": "offsets_committed", "offsets": rows.collect::<Value>()});
        match done {
            Ok(()) => line["success"] = true.into(),
            Err(Problem::OutcomeUnknown) => line["outcome"] = "unknown".into(),
            Err(problem) => {
                line["success"] = false.into();
                line["error"] = name_of(problem).into();
                line["message"] = problem.to_string().into();
            }
        }
        self.write(line);
    }

    /// Tell an error that the client handed to its application without being asked.
    pub fn problem(&self, problem: &Problem) {
        self.write(json!({"name": "error", "error": name_of(problem), "message": problem.to_string(), "fatal": problem.is_fatal()}));
    }

    /// The partitions of the application, in order.
    pub fn owned(&self) -> Vec<Partition> {
        self.state.lock().unwrap().owned.iter().cloned().collect()
    }

    /// How far the application has read what it owns, where it has read anything.
    pub fn positions(&self) -> Offsets {
        self.positions_of(&self.owned())
    }

    pub(crate) fn positions_of(&self, partitions: &[Partition]) -> Offsets {
        let state = self.state.lock().unwrap();
        partitions.iter().filter_map(|each| Some((each.clone(), *state.positions.get(each)?))).collect()
    }

    pub(crate) fn write(&self, line: Value) {
        self.lines.write(&line);
    }

    fn forget(&self, partitions: &[Partition]) {
        let mut state = self.state.lock().unwrap();
        for each in partitions {
            state.owned.remove(each);
            state.positions.remove(each);
        }
    }

    fn callback(&self, name: &str, partitions: &[Partition], generation: Option<Generation>) {
        let mut line = json!({"name": name, "partitions": listed(partitions)});
        if let Some(generation) = generation.filter(|known| !known.member_id.is_empty()) {
            line["member_id"] = generation.member_id.into();
            line["generation"] = generation.number.into();
        }
        self.write(line);
    }
}

pub(crate) fn name_of(problem: &Problem) -> &str {
    match problem {
        Problem::Refused { name, .. } => name,
        _ => "CLIENT_ERROR",
    }
}

/// Partitions as the contract has them.
pub fn listed(partitions: &[Partition]) -> Value {
    partitions.iter().map(|(topic, number)| json!({"topic": topic, "partition": number})).collect()
}

/// Offsets as an answer has them.
pub fn offset_lists(offsets: &Offsets) -> Value {
    offsets.iter().map(|((topic, number), offset)| json!([topic, number, offset])).collect()
}
