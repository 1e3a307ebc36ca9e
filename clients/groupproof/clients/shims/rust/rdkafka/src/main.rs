//! A shim of level 1 around rdkafka, the Rust binding of librdkafka: its synchronous consumer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use groupproof::{Batch, Client, Hello, Member, Offsets, Partition, Problem, Subscribe, Value, LIBRDKAFKA};
use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

const ASSIGNORS: [(&str, &str); 3] = [("range", "range"), ("roundrobin", "roundrobin"), ("cooperative-sticky", "cooperative-sticky")];
const OF_THE_CLASSIC_GROUP: [&str; 2] = ["session_timeout_ms", "heartbeat_interval_ms"]; // refused with group.protocol=consumer
const CONSUMER_PROTOCOL_SINCE: i32 = 0x020c_0000; // librdkafka 2.12: KIP-848 is no preview any more
const RECORDS_MAX: usize = 500;

/// What the callbacks and the client share: records that were polled and not reported yet.
struct Shared {
    member: Arc<Member>,
    records: Mutex<Batch>,
}

impl Shared {
    /// Report the records: an event that follows must not overtake them.
    fn report(&self) {
        let records = std::mem::take(&mut *self.records.lock().unwrap());
        self.member.consumed(&records);
    }

    fn rebalance(&self, consumer: &BaseConsumer<Callbacks>, rebalance: &Rebalance) {
        match rebalance {
            Rebalance::Assign(list) => {
                self.report();
                self.member.assigned(&partitions(list), None);
            }
            Rebalance::Revoke(list) if consumer.assignment_lost() => {
                self.report();
                self.member.lost(&partitions(list), None);
            }
            Rebalance::Revoke(list) => {
                self.report();
                self.member.give_back(&partitions(list), None, |offsets| committed(consumer, offsets));
            }
            Rebalance::Error(error) => self.member.problem(&named(error)),
        }
    }
}

struct Callbacks(Arc<Shared>);

impl ClientContext for Callbacks {}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance) {
        self.0.rebalance(consumer, rebalance);
    }

    /// The end of an automatic commit. It is not called for those that the application begins and does not wait for
    /// (fede1024/rust-rdkafka#856), which is why this shim has no `commit-async`: nobody is told how one ends.
    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        self.0.report();
        let first = offsets.elements().iter().find_map(|each| each.error().err());
        let result = result.map_err(|error| named(&error)).and_then(|()| first.map_or(Ok(()), |error| Err(named(&error))));
        if offsets.count() > 0 {
            self.0.member.committed(&offsets_of(offsets), &result);
        }
    }
}

struct Rdkafka {
    shared: Arc<Shared>,
    consumer: BaseConsumer<Callbacks>, // which leaves the group when it is dropped
}

impl Client for Rdkafka {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let shared = Arc::new(Shared { member, records: Mutex::default() });
        let consumer = configured(fields)?.create_with_context(Callbacks(shared.clone()))?;
        let client = Rdkafka { shared, consumer };
        client.resubscribe(&fields.texts("topics"))?;
        Ok(client)
    }

    /// Poll once, and take what else is there already.
    fn poll(&self, mut wait: Duration) -> Option<Result<(), Problem>> {
        let mut polled = Ok(());
        for _ in 0..RECORDS_MAX {
            match self.consumer.poll(std::mem::take(&mut wait)) {
                None => break,
                Some(Ok(record)) => self.shared.records.lock().unwrap().add(record.topic(), record.partition(), record.offset()),
                Some(Err(error)) => {
                    polled = Err(error.into());
                    break;
                }
            }
        }
        self.shared.report();
        Some(polled)
    }

    fn commit(&self, offsets: &Offsets) -> Result<(), Problem> {
        committed(&self.consumer, offsets)
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let asked = list_of(&partitions.iter().map(|partition| (partition.clone(), -1)).collect());
        Ok(offsets_of(&self.consumer.committed_offsets(asked, Duration::from_secs(10))?))
    }

    fn resubscribe(&self, topics: &[String]) -> Result<(), Problem> {
        let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
        Ok(self.consumer.subscribe(&topics)?)
    }

    fn unsubscribe(&self, leave: Option<bool>) -> Result<(), Problem> {
        if leave == Some(false) {
            return Err(Problem::unimplemented("librdkafka always leaves its group when it unsubscribes"));
        }
        self.consumer.unsubscribe();
        let until = Instant::now() + Duration::from_secs(10); // the partitions are given back in the background
        while !self.shared.member.owned().is_empty() && Instant::now() < until {
            let _ = self.consumer.poll(Duration::from_millis(50));
        }
        Ok(())
    }
}

fn configured(fields: &mut Subscribe) -> Result<ClientConfig, Problem> {
    let mut config = ClientConfig::new();
    let is_classic = fields.text("group_protocol") != "consumer" && fields.text("protocol") != "consumer";
    if is_classic {
        config.set("partition.assignment.strategy", assignors(&fields.choose("assignors", &ASSIGNORS)?)?);
    } else if rdkafka::util::get_rdkafka_version().0 as i32 >= CONSUMER_PROTOCOL_SINCE {
        config.set("group.protocol", "consumer");
    } else {
        return Err(Problem::unimplemented("this release has the classic protocol alone"));
    }
    let is_known = |field: &str| is_classic || !OF_THE_CLASSIC_GROUP.contains(&field);
    let names: Vec<_> = LIBRDKAFKA.iter().copied().filter(|(field, _)| is_known(field)).collect();
    for (setting, value) in fields.config(&names) {
        config.set(setting, value);
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

fn assignors(names: &[&str]) -> Result<String, Problem> {
    if names.len() > 1 && names.contains(&"cooperative-sticky") {
        return Err(Problem::unimplemented("librdkafka lets nobody mix cooperative and eager assignors"));
    }
    Ok(if names.is_empty() { "range".into() } else { names.join(",") })
}

fn committed(consumer: &BaseConsumer<Callbacks>, offsets: &Offsets) -> Result<(), Problem> {
    Ok(consumer.commit(&list_of(offsets), CommitMode::Sync)?)
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
        Some(code) => Problem::of_code(code as i32, &message).unwrap_or_else(|| Problem::named(upper_snake(&format!("{code:?}")), message)),
    };
    problem.fatal_if(matches!(error, KafkaError::MessageConsumptionFatal(_)))
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
    let release = groupproof::release_in(include_str!("../../Cargo.lock"), "rdkafka");
    groupproof::run::<Rdkafka>(Hello {
        client: "rust-rdkafka",
        release,
        capabilities: &capabilities,
        name_error: |error| error.downcast_ref().map(named),
    });
}
