//! A shim of level 1 around samsa, a Kafka client in Rust alone: its stream commits by itself, and says what it was assigned in its log alone.
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use groupproof::{Client, Hello, Member, Offsets, Partition, Problem, Subscribe};
use samsa::prelude::{fetch_offset, BrokerAddress, ClusterMetadata, ConsumerGroup, ConsumerGroupBuilder, Error, TcpConnection, TopicPartitionsBuilder};
use tokio::{runtime::Runtime, sync::Mutex};
use tracing_subscriber::prelude::*;

type Records = BoxStream<'static, Result<Vec<(String, i32, i64)>, Error>>;

struct Shim(Arc<Member>, Runtime, Mutex<Records>, ConsumerGroupBuilder<TcpConnection>);

struct Assignments(Arc<Member>);

impl std::io::Write for &Assignments {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        if let Some((_, assigned)) = text.split_once("Assigned to Some") {
            self.0.give_back(&self.0.owned(), None, |_| Ok(()));
            let topics = assigned.split("topic_name: b\"").skip(1).filter_map(|part| part.split_once("\", partitions: ["));
            let each = |(topic, rest): (&str, &str)| -> Vec<Partition> {
                let numbers = rest.split(']').next().unwrap_or("").split(", ");
                numbers.filter_map(|number| Some((topic.to_owned(), number.parse().ok()?))).collect()
            };
            self.0.assigned(&topics.flat_map(each).collect::<Vec<_>>(), None);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Client for Shim {
    fn subscribe(member: Arc<Member>, fields: &mut Subscribe) -> Result<Self, Problem> {
        let runtime = Runtime::new()?;
        let address = |text: &str| text.split_once(':').map(|(host, port)| BrokerAddress { host: host.into(), port: port.parse().unwrap_or(9092) });
        let brokers: Vec<_> = fields.text("bootstrap").split(',').filter_map(address).collect();
        let cluster = ClusterMetadata::<TcpConnection>::new(brokers.clone(), 1, "samsa".into(), fields.texts("topics"));
        let topics = runtime.block_on(cluster).map_err(problem)?.topics.into_iter().fold(TopicPartitionsBuilder::new(), |made, topic| {
            let numbers = topic.partitions.iter().map(|each| each.partition_index).collect(); // samsa is told which partitions a topic has
            made.assign(String::from_utf8_lossy(&topic.name).into_owned(), numbers)
        });
        let made = runtime.block_on(ConsumerGroupBuilder::<TcpConnection>::new(brokers, fields.text("group"), topics.build()));
        let builder = made.map_err(problem)?;
        let builder = fields.set(builder, "session_timeout_ms", ConsumerGroupBuilder::session_timeout_ms);
        let builder = fields.set(builder, "max_poll_interval_ms", ConsumerGroupBuilder::rebalance_timeout_ms);
        let builder = fields.set(builder, "poll_timeout_ms", ConsumerGroupBuilder::max_wait_ms);
        let log = Arc::new(Assignments(member.clone()));
        tracing_subscriber::registry().with(tracing_subscriber::fmt::layer().with_ansi(false).with_writer(log)).init();
        let groups = stream::repeat(builder.clone()).then(ConsumerGroupBuilder::build).map_ok(ConsumerGroup::into_stream); // anew when one has ended
        let records = groups.try_flatten().map_ok(|all| all.map(|r| (r.topic_name, r.partition_index, r.offset as i64)).collect());
        Ok(Shim(member, runtime, Mutex::new(records.boxed()), builder))
    }

    fn poll(&self, wait: Duration) -> Option<Result<(), Problem>> {
        let next = async { tokio::time::timeout(wait, self.2.lock().await.next()).await };
        let Ok(Some(batch)) = self.1.block_on(next) else { return Some(Ok(())) };
        Some(batch.map_err(problem).map(|rows| self.0.consumed(&rows.iter().map(|(topic, number, offset)| (topic.as_str(), *number, *offset)).collect())))
    }

    fn committed(&self, partitions: &[Partition]) -> Result<Offsets, Problem> {
        let asked = partitions.iter().fold(TopicPartitionsBuilder::new(), |made, (topic, number)| made.assign(topic.clone(), vec![*number]));
        let found = self.1.block_on(async {
            let group = self.3.clone().build().await?;
            fetch_offset(1, &group.client_id, &group.group_id, group.coordinator_conn, &asked.build()).await
        });
        let topics = found.map_err(problem)?.topics.into_iter().map(|topic| (String::from_utf8_lossy(&topic.name).into_owned(), topic.partitions));
        Ok(topics.flat_map(|(name, rows)| rows.into_iter().map(move |row| ((name.clone(), row.partition_index), row.committed_offset))).collect())
    }
}

fn problem(error: Error) -> Problem {
    match error {
        Error::KafkaError(code) => Problem::coded(code as i16, error),
        _ => Problem::other(error),
    }
}

fn main() {
    groupproof::run::<Shim>(Hello {
        client: "samsa",
        release: groupproof::release_in(include_str!("../Cargo.lock"), "samsa"),
        capabilities: &["classic", "auto-commit", "pause"],
        name_error: |_| None,
    });
}
