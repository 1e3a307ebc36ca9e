//! A shim of level 1 around rdkafka, the Rust binding of librdkafka.

use std::sync::Arc;
use std::time::Duration;

use groupproof::{Batch, Client, Hello, Member, Offsets, Partition, Problem, Subscribe};
use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

const SETTINGS: [(&str, &str); 12] = [
    ("bootstrap", "bootstrap.servers"),
    ("group", "group.id"),
    ("client_id", "client.id"),
    ("instance_id", "group.instance.id"),
    ("session_timeout_ms", "session.timeout.ms"),
    ("heartbeat_interval_ms", "heartbeat.interval.ms"),
    ("max_poll_interval_ms", "max.poll.interval.ms"),
    ("auto_commit", "enable.auto.commit"),
    ("auto_commit_interval_ms", "auto.commit.interval.ms"),
    ("auto_offset_reset", "auto.offset.reset"),
    ("metadata_max_age_ms", "topic.metadata.refresh.interval.ms"),
    ("request_timeout_ms", "socket.timeout.ms"),
];

struct Callbacks(Arc<Member>);

impl ClientContext for Callbacks {}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance) {
        match rebalance {
            Rebalance::Assign(list) => self.0.assigned(&partitions(list), None),
            Rebalance::Revoke(list) if consumer.assignment_lost() => self.0.lost(&partitions(list), None),
            Rebalance::Revoke(list) => {
                self.0.revoked(&partitions(list), None);
                self.0.revoked_done(&partitions(list));
            }
            Rebalance::Error(error) => self.0.problem(&Problem::from(error.clone())),
        }
    }
}

struct Shim {
    member: Arc<Member>,
    consumer: BaseConsumer<Callbacks>, // which leaves the group when it is dropped
}

impl Client for Shim {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let mut config = ClientConfig::new();
        config.set("partition.assignment.strategy", fields.texts("assignors").join(","));
        for (field, setting) in SETTINGS {
            if fields.has(field) {
                let value = fields.take(field);
                config.set(setting, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            }
        }
        if fields.millis("max_poll_interval_ms") < fields.millis("session_timeout_ms") {
            config.set("max.poll.interval.ms", fields.take("session_timeout_ms").to_string()); // librdkafka wants it no shorter
            fields.ignore("max_poll_interval_ms");
        }
        let consumer: BaseConsumer<Callbacks> = config.create_with_context(Callbacks(member.clone()))?;
        let topics = fields.texts("topics");
        consumer.subscribe(&topics.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(Shim { member, consumer })
    }

    fn poll(&self, wait: Duration) -> Option<Result<(), Problem>> {
        let mut records = Batch::default();
        match self.consumer.poll(wait) {
            None => {}
            Some(Ok(record)) => records.add(record.topic(), record.partition(), record.offset()),
            Some(Err(error)) => return Some(Err(error.into())),
        }
        self.member.consumed(&records);
        Some(Ok(()))
    }

    fn commit(&self, offsets: &Offsets) -> Result<(), Problem> {
        let mut list = TopicPartitionList::new();
        for ((topic, number), offset) in offsets {
            list.add_partition_offset(topic, *number, Offset::Offset(*offset))?;
        }
        Ok(self.consumer.commit(&list, CommitMode::Sync)?)
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let mut list = TopicPartitionList::new();
        for (topic, number) in partitions {
            list.add_partition(topic, *number);
        }
        let found = self.consumer.committed_offsets(list, Duration::from_secs(10))?;
        let row = |(partition, offset): (&(String, i32), &Offset)| Some((partition.clone(), offset.to_raw().filter(|raw| *raw >= 0)?));
        Ok(found.to_topic_map().iter().filter_map(row).collect())
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    list.to_topic_map().into_keys().collect()
}

fn name_error(error: &(dyn std::error::Error + 'static)) -> Option<Problem> {
    let error: &KafkaError = error.downcast_ref()?;
    match error.rdkafka_error_code()? as i32 {
        code if code > 0 => Some(Problem::coded(code as i16, error)),
        _ => None, // one of librdkafka's own
    }
}

fn main() {
    groupproof::run::<Shim>(Hello {
        client: "rdkafka",
        release: groupproof::release_in(include_str!("../Cargo.lock"), "rdkafka"),
        capabilities: &["classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative"],
        name_error,
    });
}
