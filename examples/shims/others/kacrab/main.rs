//! A shim of level 1 around kacrab, a client in Rust alone. It has no callback of a rebalance: what it owns is asked of it after each poll.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use groupproof::{Client, Done, Hello, Member, Offsets, Partition, Problem, Subscribe};
use kacrab::common::{OffsetAndMetadata, TopicPartition};
use kacrab::consumer::{Consumer, ConsumerError};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

const NAMES: &[(&str, &str)] = &[
    ("bootstrap", "bootstrap.servers"),
    ("group", "group.id"),
    ("client_id", "client.id"),
    ("instance_id", "group.instance.id"),
    ("max_poll_interval_ms", "max.poll.interval.ms"),
    ("auto_commit", "enable.auto.commit"),
    ("auto_commit_interval_ms", "auto.commit.interval.ms"),
    ("auto_offset_reset", "auto.offset.reset"),
    ("metadata_max_age_ms", "metadata.max.age.ms"),
    ("request_timeout_ms", "request.timeout.ms"),
    ("group_protocol", "group.protocol"),
];
const CLASSIC: &[(&str, &str)] = &[("session_timeout_ms", "session.timeout.ms"), ("heartbeat_interval_ms", "heartbeat.interval.ms")];

struct Shim {
    member: Arc<Member>,
    runtime: Runtime,
    consumer: Mutex<Option<Consumer>>, // none once it is closed
}

impl Shim {
    /// Run an operation of the consumer to its end, and report what it owns then.
    fn with<T>(&self, operation: impl AsyncFnOnce(&mut Consumer) -> Result<T, ConsumerError>) -> Result<T, Problem> {
        self.runtime.block_on(async {
            let mut held = self.consumer.lock().await;
            let consumer = held.as_mut().ok_or_else(|| Problem::other("the consumer is closed"))?;
            let done = operation(consumer).await;
            self.report(consumer.assignment());
            Ok(done?)
        })
    }

    fn report(&self, assignment: Vec<TopicPartition>) {
        let now: BTreeSet<Partition> = assignment.into_iter().map(|each| (each.topic, each.partition)).collect();
        let before: BTreeSet<Partition> = self.member.owned().into_iter().collect();
        let gone: Vec<_> = before.difference(&now).cloned().collect();
        if !gone.is_empty() {
            self.member.give_back(&gone, None, |_| Ok(()));
        }
        if now != before {
            let new: Vec<_> = now.difference(&before).cloned().collect();
            self.member.assigned(&new, None);
        }
    }
}

impl Client for Shim {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let mut config = fields.config(NAMES);
        fields.text("protocol");
        if fields.text("group_protocol") == "consumer" {
            if fields.has("assignor") {
                config.push(("group.remote.assignor".into(), fields.text("assignor")));
            }
        } else {
            config.extend(fields.config(CLASSIC));
            config.push(("partition.assignment.strategy".into(), fields.texts("assignors").join(",")));
        }
        let runtime = Runtime::new()?;
        let mut consumer = runtime.block_on(Consumer::from_map(config))?;
        runtime.block_on(async { consumer.subscribe(fields.texts("topics")) })?;
        Ok(Shim { member, runtime, consumer: Mutex::new(Some(consumer)) })
    }

    fn poll(&self, wait: Duration) -> Option<Result<(), Problem>> {
        let polled = self.with(async |consumer| consumer.poll(wait).await);
        Some(polled.map(|records| self.member.consumed(&records.iter().map(|r| (r.topic.as_ref(), r.partition, r.offset)).collect())))
    }

    fn commit(&self, offsets: &Offsets) -> Result<(), Problem> {
        self.with(async |consumer| consumer.commit_sync_offsets(heads(offsets)).await)
    }

    fn commit_async(&self, offsets: &Offsets, done: Done) -> Result<(), Problem> {
        let callback = Box::new(|result: Result<(), ConsumerError>| done(result.map_err(Problem::from)));
        self.with(async |consumer| consumer.commit_async_offsets(heads(offsets), callback).await)
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let asked: Vec<_> = partitions.iter().map(|(topic, number)| TopicPartition::new(topic.clone(), *number)).collect();
        let found = self.with(async |consumer| consumer.committed(&asked).await)?;
        Ok(found.into_iter().map(|(place, position)| ((place.topic, place.partition), position.offset)).collect())
    }

    fn resubscribe(&self, topics: &[String]) -> Result<(), Problem> {
        self.with(async |consumer| consumer.subscribe(topics.to_vec()))
    }

    fn close(&self, _leave: Option<bool>) -> Result<(), Problem> {
        if let Some(consumer) = self.runtime.block_on(self.consumer.lock()).take() {
            self.runtime.block_on(consumer.close());
        }
        Ok(())
    }
}

fn heads(offsets: &Offsets) -> HashMap<TopicPartition, OffsetAndMetadata> {
    offsets.iter().map(|((topic, number), offset)| (TopicPartition::new(topic.clone(), *number), OffsetAndMetadata::new(*offset))).collect()
}

fn named(error: &ConsumerError) -> Problem {
    match error {
        // It does not say which errors are fatal: its examples end at each. After FENCED_INSTANCE_ID its membership is another's.
        ConsumerError::Broker { error: code, .. } => Problem::coded(code.code(), error).fatal_if(code.code() == 82),
        _ => Problem::other(error),
    }
}

fn main() {
    groupproof::run::<Shim>(Hello {
        client: "kacrab",
        release: groupproof::release_in(include_str!("../Cargo.lock"), "kacrab"),
        capabilities: &["classic", "consumer", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "resubscribe"],
        name_error: |error| error.downcast_ref().map(named),
    });
}
