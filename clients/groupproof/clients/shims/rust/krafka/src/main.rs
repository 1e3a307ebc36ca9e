//! A shim of level 1 around krafka, a client in Rust alone: its consumer, driven from threads that wait for its futures.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use groupproof::{Client, Done, Generation, Hello, Member, Offsets, Partition, Problem, Subscribe};
use krafka::consumer::{
    AutoOffsetReset, Consumer, ConsumerBuilder, ConsumerRebalanceListener, GroupProtocol, OffsetAndMetadata, PartitionAssignmentStrategy,
    TopicPartition,
};
use krafka::{CloseOptions, GroupMembershipOperation, Kafka, KafkaBuilder, KrafkaError};
use tokio::runtime::Runtime;

/// The consumer, which its own listener needs too.
type Consuming = Arc<OnceLock<Consumer>>;

const ASSIGNORS: [(&str, PartitionAssignmentStrategy); 3] = [
    ("range", PartitionAssignmentStrategy::Range),
    ("roundrobin", PartitionAssignmentStrategy::RoundRobin),
    ("cooperative-sticky", PartitionAssignmentStrategy::CooperativeSticky),
];
const RESETS: [(&str, AutoOffsetReset); 3] =
    [("earliest", AutoOffsetReset::Earliest), ("latest", AutoOffsetReset::Latest), ("none", AutoOffsetReset::None)];

struct Krafka {
    member: Arc<Member>,
    runtime: Runtime,
    consumer: Consuming,
}

struct Listener {
    member: Arc<Member>,
    consumer: Consuming,
}

impl Listener {
    async fn generation(&self) -> Option<Generation> {
        let known = self.consumer.get()?.group_metadata().await?;
        Some(Generation { member_id: known.member_id().to_owned(), number: known.generation_id() })
    }
}

impl ConsumerRebalanceListener for Listener {
    async fn on_partitions_assigned(&self, partitions: &[TopicPartition]) {
        self.member.assigned(&own(partitions), self.generation().await);
    }

    async fn on_partitions_revoked(&self, partitions: &[TopicPartition]) {
        let gone = own(partitions);
        let to_commit = self.member.revoked(&gone, self.generation().await);
        if let (Some(offsets), Some(consumer)) = (to_commit, self.consumer.get()) {
            let done = consumer.commit_offsets(heads(&offsets)).await.map_err(Problem::from);
            self.member.committed(&offsets, &done);
        }
        self.member.revoked_done(&gone);
    }

    async fn on_partitions_lost(&self, partitions: &[TopicPartition]) {
        self.member.lost(&own(partitions), self.generation().await);
    }
}

impl Krafka {
    fn consumer(&self) -> &Consumer {
        self.consumer.get().expect("it is there since it subscribed")
    }

    async fn connected(&self, fields: &mut Subscribe) -> Result<Consumer, Problem> {
        let assignors = fields.choose("assignors", &ASSIGNORS)?;
        let is_classic = fields.text("group_protocol") != "consumer" && fields.text("protocol") != "consumer";
        let mut kafka = Kafka::builder(fields.text("bootstrap")).client_id(fields.text("client_id"));
        if let Some(timeout) = fields.millis("request_timeout_ms") {
            kafka = kafka.request_timeout(timeout).connect_timeout(timeout.min(Duration::from_secs(10)));
            // it wants the second no longer
        }
        kafka = fields.set(kafka, "metadata_max_age_ms", KafkaBuilder::metadata_max_age);
        // The age is for consumers without a group; a member asks anew only when it joins or meets an error (consumer/rebalance/apply.rs).
        fields.ignore("metadata_max_age_ms");
        let kafka = kafka.connect().await?;
        let mut builder = kafka
            .consumer(fields.text("group"))
            .enable_auto_commit(fields.flag("auto_commit"))
            .rebalance_listener(Listener { member: self.member.clone(), consumer: self.consumer.clone() })
            .auto_offset_reset(fields.pick("auto_offset_reset", &RESETS).unwrap_or(AutoOffsetReset::Latest));
        builder = fields.set(builder, "max_poll_interval_ms", ConsumerBuilder::max_poll_interval);
        builder = fields.set(builder, "auto_commit_interval_ms", ConsumerBuilder::auto_commit_interval);
        builder = fields.set(builder, "instance_id", |b, id: String| b.group_instance_id(id));
        if is_classic {
            builder = builder.partition_assignment_strategies(assignors);
            if let (Some(session), Some(beat)) = (fields.millis("session_timeout_ms"), fields.millis("heartbeat_interval_ms")) {
                builder = builder.session_timeout(session).heartbeat_interval(beat);
            }
        } else {
            builder = builder.group_protocol(GroupProtocol::Consumer);
            fields.ignore("assignors");
        }
        Ok(builder.build().await?)
    }
}

impl Client for Krafka {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let krafka = Krafka { member, runtime: Runtime::new()?, consumer: Consuming::default() };
        let topics = fields.texts("topics");
        let consumer = krafka.runtime.block_on(krafka.connected(fields))?;
        krafka.runtime.block_on(consumer.subscribe(&topics))?;
        let _ = krafka.consumer.set(consumer);
        Ok(krafka)
    }

    fn poll(&self, wait: Duration) -> Option<Result<(), Problem>> {
        match self.runtime.block_on(self.consumer().poll(wait)) {
            Err(KrafkaError::Wakeup) => {}
            Err(error) if error.is_retriable() => return Some(Err(error.into())),
            Err(error) => return Some(Err(named(&error).fatal())),
            Ok(polled) => self.member.consumed(&polled.iter().map(|record| (&record.topic, record.partition, record.offset)).collect()),
        }
        Some(Ok(()))
    }

    fn commit(&self, offsets: &Offsets) -> Result<(), Problem> {
        Ok(self.runtime.block_on(self.consumer().commit_offsets(heads(offsets)))?)
    }

    /// A task of its own, as an application that does not wait writes it.
    fn commit_async(&self, offsets: &Offsets, done: Done) -> Result<(), Problem> {
        let (consumer, heads) = (self.consumer.clone(), heads(offsets));
        self.runtime.spawn(async move {
            if let Some(consumer) = consumer.get() {
                done(consumer.commit_offsets(heads).await.map_err(Problem::from));
            }
        });
        Ok(())
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let asked: Vec<_> = partitions.iter().map(|(topic, number)| (topic.as_str(), *number)).collect();
        let found = self.runtime.block_on(self.consumer().committed(&asked))?;
        Ok(found.into_iter().map(|(partition, position)| (partition, position.offset)).collect())
    }

    fn resubscribe(&self, topics: &[String]) -> Result<(), Problem> {
        Ok(self.runtime.block_on(self.consumer().subscribe(topics))?)
    }

    fn unsubscribe(&self, leave: Option<bool>) -> Result<(), Problem> {
        if leave == Some(false) {
            return Err(Problem::unimplemented("krafka always leaves its group when it unsubscribes"));
        }
        Ok(self.runtime.block_on(self.consumer().unsubscribe())?)
    }

    const CHOOSES_TO_LEAVE: bool = true; // KIP-1092

    fn close(&self, leave: Option<bool>) -> Result<(), Problem> {
        let operation = match leave {
            None => GroupMembershipOperation::Default,
            Some(true) => GroupMembershipOperation::LeaveGroup,
            Some(false) => GroupMembershipOperation::RemainInGroup,
        };
        let options = CloseOptions::new().group_membership_operation(operation);
        Ok(self.runtime.block_on(self.consumer().close_with(options))?)
    }
}

fn own(partitions: &[TopicPartition]) -> Vec<Partition> {
    partitions.iter().map(|each| (each.topic().to_owned(), each.partition())).collect()
}

fn heads(offsets: &Offsets) -> Vec<(TopicPartition, OffsetAndMetadata)> {
    offsets.iter().map(|((topic, number), offset)| (TopicPartition::new(topic.as_str(), *number), OffsetAndMetadata::new(*offset))).collect()
}

fn named(error: &KrafkaError) -> Problem {
    match error {
        KrafkaError::Broker { code, .. } => Problem::coded(i16::from(*code), error),
        KrafkaError::Timeout { .. } => Problem::named("TIMEOUT", error),
        KrafkaError::Closed { .. } => Problem::named("CLOSED", error),
        _ => Problem::other(error),
    }
}

fn main() {
    let capabilities = [
        "classic",
        "consumer",
        "commit",
        "commit-async",
        "auto-commit",
        "pause",
        "poll-deadline",
        "static",
        "cooperative",
        "on-revoked",
        "resubscribe",
    ];
    let release = groupproof::release_in(include_str!("../../Cargo.lock"), "krafka");
    groupproof::run::<Krafka>(Hello { client: "krafka", release, capabilities: &capabilities, name_error: |error| error.downcast_ref().map(named) });
}
