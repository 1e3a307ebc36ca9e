//! A shim of level 1 around rdkafka, the Rust binding of librdkafka.

use std::sync::Arc;
use std::time::Duration;

use groupproof::{Client, Hello, Member, Offsets, Partition, Problem, Subscribe, LIBRDKAFKA};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::{error::KafkaError, ClientConfig, ClientContext, Message, Offset, TopicPartitionList};

struct Callbacks(Arc<Member>);

impl ClientContext for Callbacks {}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance) {
        match rebalance {
            Rebalance::Assign(list) => self.0.assigned(&partitions(list), None),
            Rebalance::Revoke(list) if consumer.assignment_lost() => self.0.lost(&partitions(list), None),
            Rebalance::Revoke(list) => self.0.give_back(&partitions(list), None, |_| Ok(())),
            Rebalance::Error(error) => self.0.problem(&Problem::from(error.clone())),
        }
    }
}

struct Shim(Arc<Member>, BaseConsumer<Callbacks>); // which leaves the group when it is dropped

impl Client for Shim {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let mut config: ClientConfig = fields.config(LIBRDKAFKA).into_iter().collect();
        config.set("partition.assignment.strategy", fields.texts("assignors").join(","));
        if fields.millis("max_poll_interval_ms") < fields.millis("session_timeout_ms") {
            config.set("max.poll.interval.ms", fields.take("session_timeout_ms").to_string()); // librdkafka wants it no shorter
            fields.ignore("max_poll_interval_ms");
        }
        let consumer = config.create_with_context::<_, BaseConsumer<_>>(Callbacks(member.clone()))?;
        consumer.subscribe(&fields.texts("topics").iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(Shim(member, consumer))
    }

    fn poll(&self, wait: Duration) -> Option<Result<(), Problem>> {
        let polled = self.1.poll(wait).transpose().map_err(Problem::from);
        Some(polled.map(|record| self.0.consumed(&record.iter().map(|r| (r.topic(), r.partition(), r.offset())).collect())))
    }

    fn commit(&self, offsets: &Offsets) -> Result<(), Problem> {
        let mut list = TopicPartitionList::new();
        for ((topic, number), offset) in offsets {
            list.add_partition_offset(topic, *number, Offset::Offset(*offset))?;
        }
        Ok(self.1.commit(&list, CommitMode::Sync)?)
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let mut list = TopicPartitionList::new();
        partitions.iter().for_each(|(topic, number)| drop(list.add_partition(topic, *number)));
        let found = self.1.committed_offsets(list, Duration::from_secs(10))?;
        let row = |(partition, offset): (_, Offset)| Some((partition, offset.to_raw().filter(|raw| *raw >= 0)?));
        Ok(found.to_topic_map().into_iter().filter_map(row).collect())
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    list.to_topic_map().into_keys().collect()
}

fn main() {
    groupproof::run::<Shim>(Hello {
        client: "rdkafka",
        release: groupproof::release_in(include_str!("../Cargo.lock"), "rdkafka"),
        capabilities: &["classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative"],
        name_error: |error| Problem::of_code(error.downcast_ref::<KafkaError>()?.rdkafka_error_code()? as i32, error),
    });
}
