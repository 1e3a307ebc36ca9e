//! A shim of level 1 around rdkafka, the Rust binding of librdkafka: its synchronous consumer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use shim::{Client, Hello, Member, Offsets, Partition, Problem, Range, Subscribe, Value};

const SETTINGS: [(&str, &str); 13] = [
    ("bootstrap", "bootstrap.servers"),
    ("group", "group.id"),
    ("client_id", "client.id"),
    ("instance_id", "group.instance.id"),
    ("session_timeout_ms", "session.timeout.ms"),
    ("heartbeat_interval_ms", "heartbeat.interval.ms"),
    ("auto_commit", "enable.auto.commit"),
    ("auto_commit_interval_ms", "auto.commit.interval.ms"),
    ("auto_offset_reset", "auto.offset.reset"),
    ("metadata_max_age_ms", "topic.metadata.refresh.interval.ms"),
    ("request_timeout_ms", "socket.timeout.ms"),
    ("retry_backoff_ms", "retry.backoff.ms"),
    ("reconnect_backoff_ms", "reconnect.backoff.ms"),
];
const OF_THE_CLASSIC_GROUP: [&str; 2] = ["session_timeout_ms", "heartbeat_interval_ms"]; // refused with group.protocol=consumer
const CONSUMER_PROTOCOL_SINCE: i32 = 0x020c_0000; // librdkafka 2.12: KIP-848 is no preview any more
const RECORDS_MAX: usize = 500;

/// What the callbacks and the client share: records that were polled and not told yet.
struct Told {
    member: Arc<Member>,
    ranges: Mutex<Vec<Range>>,
}

impl Told {
    fn note(&self, message: &BorrowedMessage) {
        let (partition, offset) = ((message.topic().to_owned(), message.partition()), message.offset());
        let mut ranges = self.ranges.lock().unwrap();
        match ranges.iter_mut().find(|each| each.partition == partition) {
            Some(range) => (range.greatest, range.count) = (offset, range.count + 1),
            None => ranges.push(Range { partition, least: offset, greatest: offset, count: 1 }),
        }
    }

    /// Tell the records: an event that follows must not overtake them.
    fn records(&self) {
        let ranges = std::mem::take(&mut *self.ranges.lock().unwrap());
        if !ranges.is_empty() {
            self.member.consumed(&ranges);
        }
    }

    fn rebalance(&self, consumer: &BaseConsumer<Callbacks>, rebalance: &Rebalance) {
        match rebalance {
            Rebalance::Assign(list) => self.assigned(&partitions(list)),
            Rebalance::Revoke(list) if consumer.assignment_lost() => {
                self.records();
                self.member.lost(&partitions(list), None);
            }
            Rebalance::Revoke(list) => {
                self.records();
                let gone = partitions(list);
                if let Some(offsets) = self.member.revoked(&gone, None) {
                    self.member.committed(&offsets, &committed(consumer, &offsets));
                }
                self.member.revoked_done(&gone);
            }
            Rebalance::Error(error) => self.member.problem(&named(error)),
        }
    }

    fn assigned(&self, partitions: &[Partition]) {
        self.records();
        self.member.assigned(partitions, None);
    }
}

struct Callbacks(Arc<Told>);

impl ClientContext for Callbacks {}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance) {
        self.0.rebalance(consumer, rebalance);
    }

    /// The end of an automatic commit. It is not called for those that the application begins and does not wait for
    /// (fede1024/rust-rdkafka#856), which is why this shim has no `commit-async`: nobody is told how one ends.
    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        self.0.records();
        let first = offsets.elements().iter().find_map(|each| each.error().err());
        let result = result.map_err(|error| named(&error)).and_then(|()| first.map_or(Ok(()), |error| Err(named(&error))));
        if offsets.count() > 0 {
            self.0.member.committed(&offsets_of(offsets), &result);
        }
    }
}

struct Rdkafka {
    told: Arc<Told>,
    consumer: Mutex<Option<Arc<BaseConsumer<Callbacks>>>>,
    choices: Mutex<Choices>,
}

#[derive(Clone, Copy, Default)]
struct Choices {
    poll_for: Duration,
    is_static: bool,
}

impl Rdkafka {
    fn consumer(&self) -> Result<Arc<BaseConsumer<Callbacks>>, Problem> {
        self.consumer.lock().unwrap().clone().ok_or_else(|| Problem::named("ILLEGAL_STATE", "the consumer is closed"))
    }

    fn choices(&self) -> Choices {
        *self.choices.lock().unwrap()
    }
}

impl Client for Rdkafka {
    fn subscribe(&self, fields: &mut Subscribe) -> Result<(), Problem> {
        let config = configured(fields)?;
        *self.choices.lock().unwrap() =
            Choices { poll_for: fields.millis("poll_timeout_ms").unwrap_or(Duration::from_millis(100)), is_static: fields.has("instance_id") };
        let consumer: BaseConsumer<Callbacks> = config.create_with_context(Callbacks(self.told.clone())).map_err(|error| named(&error))?;
        subscribe_to(&consumer, &fields.texts("topics"))?;
        *self.consumer.lock().unwrap() = Some(Arc::new(consumer));
        Ok(())
    }

    /// Poll once, and take what else is there already.
    fn poll(&self) -> Option<Result<(), Problem>> {
        let consumer = self.consumer().ok()?;
        let mut wait = self.choices().poll_for;
        for _ in 0..RECORDS_MAX {
            match consumer.poll(std::mem::take(&mut wait)) {
                None => break,
                Some(Ok(message)) => self.told.note(&message),
                Some(Err(error)) => {
                    self.told.records();
                    return Some(Err(named(&error)));
                }
            }
        }
        self.told.records();
        Some(Ok(()))
    }

    fn commit(&self, offsets: &Offsets) -> Result<(), Problem> {
        committed(&*self.consumer()?, offsets)
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let asked = list_of(&partitions.iter().map(|each| (each.clone(), -1)).collect());
        let found = self.consumer()?.committed_offsets(asked, Duration::from_secs(10)).map_err(|error| named(&error))?;
        Ok(offsets_of(&found))
    }

    fn resubscribe(&self, topics: &[String]) -> Result<(), Problem> {
        subscribe_to(&*self.consumer()?, topics)
    }

    fn unsubscribe(&self, leave: Option<bool>) -> Result<(), Problem> {
        if leave == Some(false) {
            return Err(Problem::unimplemented("librdkafka always leaves its group when it unsubscribes"));
        }
        let consumer = self.consumer()?;
        consumer.unsubscribe();
        let until = Instant::now() + Duration::from_secs(10); // the partitions are given back in the background
        while !self.told.member.owned().is_empty() && Instant::now() < until {
            let _ = consumer.poll(Duration::from_millis(50));
        }
        Ok(())
    }

    fn check_leave(&self, leave: Option<bool>) -> Result<(), Problem> {
        match leave {
            Some(leaves) if leaves == self.choices().is_static => {
                Err(Problem::unimplemented("librdkafka leaves as a dynamic member, and stays as a static one"))
            }
            _ => Ok(()),
        }
    }

    /// Dropping the consumer leaves the group.
    fn close(&self, _: Option<bool>) -> Result<(), Problem> {
        drop(self.consumer.lock().unwrap().take());
        Ok(())
    }
}

fn configured(fields: &mut Subscribe) -> Result<ClientConfig, Problem> {
    let mut config = ClientConfig::new();
    let is_classic = fields.text("group_protocol") != "consumer" && fields.text("protocol") != "consumer";
    if is_classic {
        config.set("partition.assignment.strategy", assignors(&fields.texts("assignors"))?);
    } else if rdkafka::util::get_rdkafka_version().0 as i32 >= CONSUMER_PROTOCOL_SINCE {
        config.set("group.protocol", "consumer");
    } else {
        return Err(Problem::unimplemented("this release has the classic protocol alone"));
    }
    for (field, setting) in SETTINGS {
        if fields.has(field) && (is_classic || !OF_THE_CLASSIC_GROUP.contains(&field)) {
            config.set(setting, text_of(&fields.take(field)));
        }
    }
    let session = fields.millis("session_timeout_ms").filter(|_| is_classic).unwrap_or_default();
    let interval = fields.millis("max_poll_interval_ms").unwrap_or(Duration::from_secs(300));
    config.set("max.poll.interval.ms", interval.max(session).as_millis().to_string());
    if interval < session {
        fields.ignore("max_poll_interval_ms"); // librdkafka wants it no shorter than the session timeout
    }
    for field in OF_THE_CLASSIC_GROUP.into_iter().filter(|_| !is_classic) {
        fields.ignore(field);
    }
    for (name, value) in fields.take("properties").as_object().into_iter().flatten() {
        config.set(name, text_of(value));
    }
    Ok(config)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn assignors(names: &[String]) -> Result<String, Problem> {
    let known = ["range", "roundrobin", "cooperative-sticky"];
    if let Some(missing) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Problem::unimplemented(format!("librdkafka has no assignor {missing}")));
    }
    if names.len() > 1 && names.iter().any(|name| name == "cooperative-sticky") {
        return Err(Problem::unimplemented("librdkafka lets nobody mix cooperative and eager assignors"));
    }
    Ok(if names.is_empty() { "range".into() } else { names.join(",") })
}

fn subscribe_to(consumer: &BaseConsumer<Callbacks>, topics: &[String]) -> Result<(), Problem> {
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    consumer.subscribe(&topics).map_err(|error| named(&error))
}

fn committed(consumer: &BaseConsumer<Callbacks>, offsets: &Offsets) -> Result<(), Problem> {
    consumer.commit(&list_of(offsets), CommitMode::Sync).map_err(|error| named(&error))
}

fn list_of(offsets: &Offsets) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for ((topic, partition), offset) in offsets {
        let offset = if *offset >= 0 { Offset::Offset(*offset) } else { Offset::Invalid };
        list.add_partition_offset(topic, *partition, offset).expect("an offset that is none or a number can be set");
    }
    list
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    offsets_of(list).into_keys().collect()
}

fn offsets_of(list: &TopicPartitionList) -> Offsets {
    let number = |offset| if let Offset::Offset(known) = offset { known } else { -1 };
    list.elements().iter().map(|each| ((each.topic().to_owned(), each.partition()), number(each.offset()))).collect()
}

/// An error with Kafka's name; those of librdkafka's own begin with an underscore, as it writes them.
fn named(error: &KafkaError) -> Problem {
    let message = format!("{error:?}");
    let problem = match error.rdkafka_error_code() {
        None => Problem::other(message),
        Some(RDKafkaErrorCode::Unknown) => Problem::coded(-1, message),
        Some(code) if code as i32 > 0 => Problem::coded(code as i32 as i16, message),
        Some(code) => Problem::named(upper_snake(&format!("{code:?}")), message),
    };
    if matches!(error, KafkaError::MessageConsumptionFatal(_)) {
        problem.fatal()
    } else {
        problem
    }
}

fn upper_snake(name: &str) -> String {
    let letters = name.chars().flat_map(|letter| letter.is_uppercase().then_some('_').into_iter().chain([letter.to_ascii_uppercase()]));
    letters.collect()
}

fn main() {
    let mut capabilities = vec!["classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked", "resubscribe"];
    if rdkafka::util::get_rdkafka_version().0 as i32 >= CONSUMER_PROTOCOL_SINCE {
        capabilities.push("consumer");
    }
    let release = shim::release_in(include_str!("../../Cargo.lock"), "rdkafka");
    shim::run(Hello { client: "rust-rdkafka", release, capabilities: &capabilities }, |member| Rdkafka {
        told: Arc::new(Told { member, ranges: Mutex::default() }),
        consumer: Mutex::default(),
        choices: Mutex::default(),
    });
}
