use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::{json, Value};

use crate::lines::Lines;
use crate::{Gate, Problem};

/// A topic and the number of one of its partitions.
pub type Partition = (String, i32);

/// Positions: the next record to read.
pub type Offsets = BTreeMap<Partition, i64>;

/// Records that the application was given: of each partition the least and the greatest offset, and how many.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    ranges: Vec<Range>,
}

#[derive(Clone, Debug)]
struct Range {
    partition: Partition,
    least: i64,
    greatest: i64,
    count: usize,
}

impl Batch {
    /// Count one record.
    pub fn add(&mut self, topic: &str, number: i32, offset: i64) {
        match self.ranges.iter_mut().find(|range| range.partition.1 == number && range.partition.0 == topic) {
            Some(range) => {
                (range.least, range.greatest, range.count) = (range.least.min(offset), range.greatest.max(offset), range.count + 1);
            }
            None => self.ranges.push(Range { partition: (topic.to_owned(), number), least: offset, greatest: offset, count: 1 }),
        }
    }

    /// How many records there are.
    pub fn count(&self) -> usize {
        self.ranges.iter().map(|range| range.count).sum()
    }
}

impl<T: AsRef<str>> FromIterator<(T, i32, i64)> for Batch {
    fn from_iter<I: IntoIterator<Item = (T, i32, i64)>>(records: I) -> Self {
        let mut batch = Batch::default();
        records.into_iter().for_each(|(topic, number, offset)| batch.add(topic.as_ref(), number, offset));
        batch
    }
}

/// A membership, where the client tells it to its application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generation {
    pub member_id: String,
    pub number: i32,
}

/// The application beside its client: what it owns, how far it has read, and the events that it writes.
pub struct Member {
    lines: Lines,
    name_error: fn(&(dyn Error + 'static)) -> Option<Problem>,
    /// Shut while the application is paused.
    pub gate: Gate,
    state: Mutex<State>,
    news: Condvar,       // of an assignment, or of the end
    overtakes: Duration, // how long a record may overtake the news that its partition was assigned
}

/// Of a client that has a channel for records and another for its rebalances.
const OVERTAKES_MAX: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    owned: BTreeSet<Partition>,
    strangers: BTreeSet<Partition>, // that were waited for in vain
    is_closed: bool,
    positions: Offsets,
    is_static: bool,
    handler_delay: Duration,
    on_revoked: Value,
}

impl Member {
    pub(crate) fn new(lines: Lines, name_error: fn(&(dyn Error + 'static)) -> Option<Problem>) -> Self {
        Member { lines, name_error, gate: Gate::default(), state: Mutex::default(), news: Condvar::new(), overtakes: OVERTAKES_MAX }
    }

    /// Note what `subscribe` asks of the application: who it is, how slow it is, and what it does in its callback.
    pub(crate) fn plan(&self, is_static: bool, handler_delay: Duration, on_revoked: Value) {
        let mut state = self.state.lock().unwrap();
        (state.is_static, state.handler_delay, state.on_revoked) = (is_static, handler_delay, on_revoked);
    }

    /// Refuse what a client without a choice would not do: a dynamic member leaves, a static one stays.
    pub fn check_leave(&self, leave: Option<bool>) -> Result<(), Problem> {
        if leave == Some(self.state.lock().unwrap().is_static) {
            return Err(Problem::unimplemented("this client leaves its group as a dynamic member, and stays as a static one"));
        }
        Ok(())
    }

    /// Report the application's callback: these partitions are its own from now on.
    pub fn assigned(&self, partitions: &[Partition], generation: Option<Generation>) {
        self.state.lock().unwrap().owned.extend(partitions.iter().cloned());
        self.callback("partitions_assigned", partitions, generation);
        self.write(json!({"name": "callback_done"}));
        self.state.lock().unwrap().strangers.clear();
        self.news.notify_all();
    }

    /// Report that the application gives partitions back, and do in that callback what `on_revoked` asks. Returns what it is to commit
    /// there, which the caller commits before it calls [`revoked_done`](Self::revoked_done).
    pub fn revoked(&self, partitions: &[Partition], generation: Option<Generation>) -> Option<Offsets> {
        self.callback("partitions_revoked", partitions, generation);
        let on_revoked = self.state.lock().unwrap().on_revoked.clone();
        std::thread::sleep(Duration::from_millis(on_revoked["sleep_ms"].as_u64().unwrap_or(0)));
        let offsets = self.positions_of(partitions);
        (on_revoked["commit"] == true && !offsets.is_empty()).then_some(offsets)
    }

    /// Report that the application gives partitions back, doing what `on_revoked` asks by this commit: `revoked` and `revoked_done` in one.
    pub fn give_back(&self, partitions: &[Partition], generation: Option<Generation>, commit: impl FnOnce(&Offsets) -> Result<(), Problem>) {
        if let Some(offsets) = self.revoked(partitions, generation) {
            self.committed(&offsets, &commit(&offsets));
        }
        self.revoked_done(partitions);
    }

    /// Report the end of the callback of a revocation.
    pub fn revoked_done(&self, partitions: &[Partition]) {
        self.forget(partitions);
        self.write(json!({"name": "callback_done"}));
    }

    /// Report that partitions are somebody else's by now.
    pub fn lost(&self, partitions: &[Partition], generation: Option<Generation>) {
        self.callback("partitions_lost", partitions, generation);
        self.revoked_done(partitions);
    }

    /// Report records that a poll returned, or a handler went through the gate with, and take as long for them as `handler_delay_ms`
    /// says. Of none nothing is said.
    pub fn consumed(&self, records: &Batch) {
        if records.ranges.is_empty() {
            return;
        }
        let mut parts = Vec::new();
        let mut state = self.state.lock().unwrap();
        for range in &records.ranges {
            if state.owned.contains(&range.partition) {
                state.positions.insert(range.partition.clone(), range.greatest + 1);
            }
            let (topic, number) = &range.partition;
            parts.push(json!({"topic": topic, "partition": number, "minOffset": range.least, "maxOffset": range.greatest, "count": range.count}));
        }
        let delay = state.handler_delay;
        drop(state);
        self.write(json!({"name": "records_consumed", "count": records.count(), "partitions": parts}));
        std::thread::sleep(delay);
    }

    /// What the handler of a client that pushes calls with a record: it waits while the application is paused, and reports the record. A
    /// record that overtakes the news of its partition waits for `assigned`. `handle` returns false where the member closed first: then the
    /// record was never the application's.
    pub fn handle(&self, topic: &str, number: i32, offset: i64) -> bool {
        self.await_assigned(&(topic.to_owned(), number)) && self.gate.pass(|| self.consumed(&Batch::from_iter([(topic, number, offset)])))
    }

    /// Wait until the partition is the application's; false where the member closed first. It does not wait for ever: a record of a partition
    /// that the client never assigned, or took away, is reported as it came.
    fn await_assigned(&self, partition: &Partition) -> bool {
        let is_awaited = |state: &mut State| !state.is_closed && !state.owned.contains(partition) && !state.strangers.contains(partition);
        let state = self.state.lock().unwrap();
        let (mut state, waited) = self.news.wait_timeout_while(state, self.overtakes, is_awaited).unwrap();
        if waited.timed_out() {
            state.strangers.insert(partition.clone());
        }
        !state.is_closed
    }

    /// Let nobody wait any more: the member closes.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().is_closed = true;
        self.news.notify_all();
        self.gate.remove();
    }

    /// Report how a commit went, or that the client does not tell it.
    pub fn committed(&self, offsets: &Offsets, done: &Result<(), Problem>) {
        let rows = offsets.iter().map(|((topic, number), offset)| json!({"topic": topic, "partition": number, "offset": offset}));
        let mut line = json!({"name": "offsets_committed", "offsets": rows.collect::<Value>()});
        match done {
            Ok(()) => line["success"] = true.into(),
            Err(Problem::OutcomeUnknown) => line["outcome"] = "unknown".into(),
            Err(problem) => {
                line["success"] = false.into();
                line["error"] = self.named(problem).0.into();
                line["message"] = problem.to_string().into();
            }
        }
        self.write(line);
    }

    /// Report an error that the client handed to its application without being asked.
    pub fn problem(&self, problem: &Problem) {
        let (name, is_fatal) = self.named(problem);
        self.write(json!({"name": "error", "error": name, "message": problem.to_string(), "fatal": is_fatal}));
    }

    /// The name that an error bears in the contract's lines, and whether the client cannot go on after it.
    pub(crate) fn named(&self, problem: &Problem) -> (String, bool) {
        match problem {
            Problem::Refused { name, fatal, .. } => (name.clone(), *fatal),
            Problem::Client(error) => match (self.name_error)(error.as_ref()) {
                Some(Problem::Refused { name, fatal, .. }) => (name, fatal),
                _ => ("CLIENT_ERROR".into(), false),
            },
            _ => ("CLIENT_ERROR".into(), false),
        }
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

/// Partitions as the contract has them.
pub(crate) fn listed(partitions: &[Partition]) -> Value {
    partitions.iter().map(|(topic, number)| json!({"topic": topic, "partition": number})).collect()
}

/// Offsets as an answer has them.
pub(crate) fn offset_lists(offsets: &Offsets) -> Value {
    offsets.iter().map(|((topic, number), offset)| json!([topic, number, offset])).collect()
}

#[cfg(test)]
#[path = "member_tests.rs"]
mod tests;
