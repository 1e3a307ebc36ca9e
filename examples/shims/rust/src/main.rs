//! A shim of level 1 around rdkafka: commands on stdin, events and answers on stdout, one JSON object a line.

use std::collections::HashMap;
use std::io::{BufRead, Write, stdin, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde_json::{Value, json};

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
const ELSEWHERE: [&str; 8] = ["id", "command", "protocol", "topics", "assignors", "poll_timeout_ms", "handler_delay_ms", "broker_release"];

fn write(line: Value) {
    let mut out = stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).ok(); // if nobody listens any more, the end of stdin follows
}

/// Kafka's name of an error, as librdkafka has it.
fn name_of(error: &KafkaError) -> String {
    error.rdkafka_error_code().map_or("CLIENT_ERROR".into(), |code| {
        let name = format!("{code:?}");
        name.chars().enumerate().fold(String::new(), |mut so_far, (place, letter)| {
            if letter.is_uppercase() && place > 0 {
                so_far.push('_');
            }
            so_far.push(letter.to_ascii_uppercase());
            so_far
        })
    })
}

fn places(list: &TopicPartitionList) -> Value {
    list.elements().iter().map(|each| json!({"topic": each.topic(), "partition": each.partition()})).collect()
}

fn offsets(list: &TopicPartitionList) -> Value {
    let number = |offset| if let Offset::Offset(known) = offset { known } else { -1 };
    list.elements().iter().map(|each| json!([each.topic(), each.partition(), number(each.offset())])).collect()
}

/// The callbacks: what is told is flushed before they return.
struct Callbacks;

impl ClientContext for Callbacks {}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance) {
        if let Rebalance::Revoke(partitions) = rebalance {
            let name = if consumer.assignment_lost() { "partitions_lost" } else { "partitions_revoked" };
            tell(name, partitions);
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance) {
        if let Rebalance::Assign(partitions) = rebalance {
            tell("partitions_assigned", partitions);
        }
    }
}

fn tell(name: &str, partitions: &TopicPartitionList) {
    write(json!({"name": name, "partitions": places(partitions)}));
    write(json!({"name": "callback_done"}));
}

#[derive(Default)]
struct Shim {
    consumer: Option<BaseConsumer<Callbacks>>,
    poll_for: Duration,
    handle_for: Duration,
    is_paused: bool,
    positions: HashMap<(String, i32), i64>,
}

impl Shim {
    fn subscribe(&mut self, command: &Value) -> Result<Value, KafkaError> {
        let mut config = ClientConfig::new();
        for (field, setting) in SETTINGS {
            match &command[field] {
                Value::Null => {}
                Value::String(text) => drop(config.set(setting, text)),
                other => drop(config.set(setting, other.to_string())),
            }
        }
        config.set("partition.assignment.strategy", strings(&command["assignors"]).join(","));
        self.poll_for = Duration::from_millis(command["poll_timeout_ms"].as_u64().unwrap_or(100));
        self.handle_for = Duration::from_millis(command["handler_delay_ms"].as_u64().unwrap_or(0));
        let consumer: BaseConsumer<Callbacks> = config.create_with_context(Callbacks)?;
        consumer.subscribe(&strings(&command["topics"]))?;
        self.consumer = Some(consumer);
        write(json!({"name": "startup_complete"}));
        let taken = |name: &str| ELSEWHERE.contains(&name) || SETTINGS.iter().any(|(field, _)| *field == name);
        let given = command.as_object().into_iter().flatten();
        let ignored: Vec<_> = given.filter(|(name, value)| !value.is_null() && !taken(name)).map(|(name, _)| name).collect();
        Ok(json!({"ok": true, "ignored": ignored}))
    }

    fn poll(&mut self) {
        let Some(consumer) = &self.consumer else { return };
        match consumer.poll(self.poll_for) {
            None => {}
            Some(Err(error)) => {
                write(json!({"name": "error", "error": name_of(&error), "message": error.to_string(), "fatal": false}));
            }
            Some(Ok(message)) => {
                let (topic, partition, offset) = (message.topic(), message.partition(), message.offset());
                self.positions.insert((topic.into(), partition), offset + 1);
                let part = json!({"topic": topic, "partition": partition, "minOffset": offset, "maxOffset": offset, "count": 1});
                write(json!({"name": "records_consumed", "count": 1, "partitions": [part]}));
                std::thread::sleep(self.handle_for); // the application is slow
            }
        }
    }

    /// The partitions that a command names, else the assignment; with their positions, or the offsets of the command.
    fn asked(&self, lists: &Value) -> Result<TopicPartitionList, KafkaError> {
        let Some(lists) = lists.as_array() else {
            let mut mine = TopicPartitionList::new();
            for each in self.consumer.as_ref().unwrap().assignment()?.elements() {
                self.add(&mut mine, each.topic(), each.partition(), None)?;
            }
            return Ok(mine);
        };
        let mut named = TopicPartitionList::new();
        for each in lists {
            self.add(&mut named, each[0].as_str().unwrap(), each[1].as_i64().unwrap() as i32, each[2].as_i64())?;
        }
        Ok(named)
    }

    fn add(&self, list: &mut TopicPartitionList, topic: &str, partition: i32, said: Option<i64>) -> Result<(), KafkaError> {
        let known = said.or_else(|| self.positions.get(&(topic.to_owned(), partition)).copied());
        list.add_partition_offset(topic, partition, known.map_or(Offset::Invalid, Offset::Offset))
    }

    fn commit(&self, command: &Value) -> Result<Value, KafkaError> {
        let list = self.asked(&command["offsets"])?;
        let told: Value = offsets(&list).as_array().unwrap().iter().map(|each| json!({"topic": each[0], "partition": each[1], "offset": each[2]})).collect();
        let done = self.consumer.as_ref().unwrap().commit(&list, CommitMode::Sync);
        let error = done.as_ref().err().map(name_of);
        write(json!({"name": "offsets_committed", "success": done.is_ok(), "error": error, "offsets": told}));
        done.map(|()| json!({"ok": true, "offsets": offsets(&list)}))
    }

    fn committed(&self, lists: &Value) -> Result<Value, KafkaError> {
        let found = self.consumer.as_ref().unwrap().committed_offsets(self.asked(lists)?, Duration::from_secs(10))?;
        Ok(json!({"ok": true, "offsets": offsets(&found)}))
    }

    fn close(&mut self) {
        self.consumer = None; // dropping it leaves the group
        write(json!({"name": "shutdown_complete"}));
    }

    /// Carry a command out and answer it; tell whether it was the last one.
    fn handle(&mut self, command: &Value) -> bool {
        let name = command["command"].as_str().unwrap_or_default();
        let is_there = self.consumer.is_some();
        let result = match name {
            "subscribe" => self.subscribe(command),
            "exit" | "close" if command["leave"].is_null() && (is_there || name == "exit") => {
                self.close();
                Ok(json!({"ok": true}))
            }
            "pause" | "resume" if is_there => {
                self.is_paused = name == "pause";
                Ok(json!({"ok": true}))
            }
            "commit" if is_there && command["mode"] == "sync" => self.commit(command),
            "assignment" if is_there => self.asked(&Value::Null).map(|list| json!({"ok": true, "partitions": places(&list)})),
            "position" if is_there => self.asked(&command["partitions"]).map(|list| json!({"ok": true, "offsets": offsets(&list)})),
            "committed" if is_there => self.committed(&command["partitions"]),
            "assignment" | "position" | "committed" | "close" if !is_there => {
                Ok(json!({"error": "ILLEGAL_STATE", "message": "not subscribed", "fatal": false}))
            }
            _ => Ok(json!({"unimplemented": "not in this shim"})),
        };
        let mut answer = result.unwrap_or_else(|error| json!({"error": name_of(&error), "message": error.to_string(), "fatal": false}));
        let is_last = matches!(name, "exit" | "close") && answer["ok"] == true;
        answer["id"] = command["id"].clone();
        write(answer);
        is_last
    }
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Read commands in a thread of their own; the end of stdin and SIGTERM are none, which means close.
fn commands() -> Receiver<Option<Value>> {
    let (sender, receiver) = channel();
    let stopper = sender.clone();
    ctrlc::set_handler(move || drop(stopper.send(None))).expect("SIGTERM can be handled");
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            if let Ok(command) = serde_json::from_str(&line) {
                sender.send(Some(command)).ok();
            }
        }
        sender.send(None).ok();
    });
    receiver
}

fn main() {
    let capabilities = ["classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative"];
    write(json!({"name": "hello", "contract": 1, "client": "rdkafka", "version": "0.39.0", "language": "rust", "capabilities": capabilities}));
    let commands = commands();
    let mut shim = Shim::default();
    loop {
        let polls = shim.consumer.is_some() && !shim.is_paused;
        match commands.recv_timeout(if polls { Duration::ZERO } else { Duration::from_millis(100) }) {
            Ok(Some(command)) if shim.handle(&command) => return,
            Ok(Some(_)) => {}
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return shim.close(),
            Err(RecvTimeoutError::Timeout) if polls => shim.poll(),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
