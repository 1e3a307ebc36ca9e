use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::Problem;

/// What librdkafka, and each binding of it, calls the fields.
pub const LIBRDKAFKA: &[(&str, &str)] = &[
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
    ("retry_backoff_ms", "retry.backoff.ms"),
    ("reconnect_backoff_ms", "reconnect.backoff.ms"),
];

/// What a field of `subscribe` can be: a text, true or false, a time (which is a number of milliseconds, too), a list of texts.
pub trait Field: Sized {
    fn read(value: &Value) -> Option<Self>;
}

impl Field for String {
    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl Field for bool {
    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Field for Duration {
    fn read(value: &Value) -> Option<Self> {
        value.as_u64().map(Duration::from_millis)
    }
}

impl Field for i32 {
    fn read(value: &Value) -> Option<Self> {
        value.as_i64()?.try_into().ok()
    }
}

impl Field for Vec<String> {
    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(String::read).collect()
    }
}

/// The fields of `subscribe`. What a client takes none of is listed as `ignored` in the answer.
pub struct Subscribe {
    fields: Map<String, Value>,
    taken: BTreeSet<String>,
}

impl Subscribe {
    pub fn new(command: &Value) -> Self {
        let given = command.as_object().into_iter().flatten();
        let fields = given.filter(|(name, value)| !value.is_null() && !matches!(name.as_str(), "id" | "command" | "member"));
        Subscribe { fields: fields.map(|(name, value)| (name.clone(), value.clone())).collect(), taken: BTreeSet::new() }
    }

    /// Whether a field was given.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Take a field as it is; null where it is not given.
    pub fn take(&mut self, name: &str) -> Value {
        self.taken.insert(name.to_owned());
        self.fields.get(name).cloned().unwrap_or(Value::Null)
    }

    /// Take a field that is a text; "" where it is not given.
    pub fn text(&mut self, name: &str) -> String {
        self.take(name).as_str().unwrap_or_default().to_owned()
    }

    /// Take the addresses of `bootstrap`, which names one broker or more.
    pub fn brokers(&mut self) -> Vec<String> {
        self.text("bootstrap").split(',').map(str::to_owned).collect()
    }

    /// Take a field that is a list of texts.
    pub fn texts(&mut self, name: &str) -> Vec<String> {
        self.take(name).as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Take a field that is true or false.
    pub fn flag(&mut self, name: &str) -> bool {
        self.take(name).as_bool().unwrap_or_default()
    }

    /// Take a field that is a time in milliseconds; None where it is not given.
    pub fn millis(&mut self, name: &str) -> Option<Duration> {
        self.take(name).as_u64().map(Duration::from_millis)
    }

    /// Take a field, where it is given and such a value; what is another value stays ignored.
    pub fn get<T: Field>(&mut self, name: &str) -> Option<T> {
        let value = T::read(self.fields.get(name)?)?;
        self.taken.insert(name.to_owned());
        Some(value)
    }

    /// Have a builder of the client's set a field that the command names: what it does not name keeps the client's own default.
    pub fn set<B, T: Field>(&mut self, builder: B, name: &str, set: impl FnOnce(B, T) -> B) -> B {
        match self.get(name) {
            Some(value) => set(builder, value),
            None => builder,
        }
    }

    /// Take a field that names one of what the client has, such as `auto_offset_reset`; a value that it has not stays ignored.
    pub fn pick<T: Clone>(&mut self, name: &str, has: &[(&str, T)]) -> Option<T> {
        let named = self.fields.get(name)?.as_str()?;
        let (_, value) = has.iter().find(|(known, _)| *known == named)?;
        self.taken.insert(name.to_owned());
        Some(value.clone())
    }

    /// Take a field that names some of what the client has, in order, such as `assignors`; one that it lacks is unimplemented.
    pub fn choose<T: Clone>(&mut self, name: &str, has: &[(&str, T)]) -> Result<Vec<T>, Problem> {
        let found = |named: &String| match has.iter().find(|(known, _)| known == named) {
            Some((_, value)) => Ok(value.clone()),
            None => Err(Problem::unimplemented(format!("this client's {name} have no {named:?}"))),
        };
        self.texts(name).iter().map(found).collect()
    }

    /// Take the fields that the command names as texts, under the client's own names, such as those of [`LIBRDKAFKA`].
    pub fn config(&mut self, names: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (field, setting) in names {
            if self.has(field) {
                let value = self.take(field);
                found.push(((*setting).to_owned(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
            }
        }
        found
    }

    /// List a field as ignored although it was looked at: the client cannot have it so.
    pub fn ignore(&mut self, name: &str) {
        self.taken.remove(name);
    }

    /// The fields that were given and that nobody took.
    pub fn ignored(&self) -> Vec<&str> {
        self.fields.keys().filter(|name| !self.taken.contains(*name)).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{Subscribe, LIBRDKAFKA};
    use crate::Problem;

    #[test]
    fn what_was_given_is_taken_as_what_it_is() {
        let mut subscribe = Subscribe::new(&json!({"group": "g", "topics": ["a", "b"], "auto_commit": true, "session_timeout_ms": 6000}));
        assert_eq!(subscribe.text("group"), "g");
        assert_eq!(subscribe.texts("topics"), ["a", "b"]);
        assert!(subscribe.flag("auto_commit"));
        assert_eq!(subscribe.millis("session_timeout_ms"), Some(Duration::from_secs(6)));
        assert_eq!(subscribe.millis("max_poll_interval_ms"), None);
        assert!(subscribe.ignored().is_empty());
    }

    #[test]
    fn each_broker_has_an_address() {
        let mut subscribe = Subscribe::new(&json!({"bootstrap": "127.0.0.1:1,127.0.0.1:2"}));
        assert_eq!(subscribe.brokers(), ["127.0.0.1:1", "127.0.0.1:2"]);
        assert!(subscribe.ignored().is_empty());
    }

    #[test]
    fn what_nobody_took_is_ignored_and_nulls_and_the_envelope_are_not_fields() {
        let mut subscribe = Subscribe::new(&json!({"id": 1, "command": "subscribe", "group": "g", "instance_id": null, "rack": "a", "offset": 1}));
        subscribe.text("group");
        subscribe.take("offset");
        subscribe.ignore("offset");
        assert!(!subscribe.has("instance_id"));
        assert_eq!(subscribe.ignored(), ["offset", "rack"]);
    }

    #[test]
    fn a_builder_sets_only_what_the_command_names() {
        let mut subscribe = Subscribe::new(
            &json!({"group": "g", "auto_commit": false, "session_timeout_ms": 6000, "request_timeout_ms": 30000, "topics": ["a"], "poll_timeout_ms": "soon"}),
        );
        let made = subscribe.set(Vec::new(), "group", |made, group: String| [made, vec![group]].concat());
        let made = subscribe.set(made, "auto_commit", |made, is: bool| [made, vec![is.to_string()]].concat());
        let made = subscribe.set(made, "session_timeout_ms", |made, long: Duration| [made, vec![format!("{long:?}")]].concat());
        let made = subscribe.set(made, "request_timeout_ms", |made, millis: i32| [made, vec![millis.to_string()]].concat());
        let made = subscribe.set(made, "topics", |made, topics: Vec<String>| [made, topics].concat());
        let made = subscribe.set(made, "heartbeat_interval_ms", |_, _: Duration| unreachable!("nobody named it"));
        let made = subscribe.set(made, "poll_timeout_ms", |_, _: Duration| unreachable!("it is no time"));
        assert_eq!(made, ["g", "false", "6s", "30000", "a"]);
        assert_eq!(subscribe.ignored(), ["poll_timeout_ms"]);
    }

    #[test]
    fn what_the_client_has_is_chosen_by_its_name() {
        let mut subscribe = Subscribe::new(&json!({"assignors": ["b", "a"], "auto_offset_reset": "none", "reset": "a"}));
        let has = [("a", 1), ("b", 2)];
        assert_eq!(subscribe.choose("assignors", &has).unwrap(), [2, 1]);
        assert_eq!(
            (subscribe.pick("auto_offset_reset", &has), subscribe.pick("reset", &has), subscribe.pick("another", &has)),
            (None, Some(1), None)
        );
        assert_eq!(subscribe.ignored(), ["auto_offset_reset"]);
        assert!(
            matches!(subscribe.choose("assignors", &has[..1]), Err(Problem::Unimplemented(why)) if why == "this client's assignors have no \"b\"")
        );
    }

    #[test]
    fn a_configuration_has_the_clients_names() {
        let mut subscribe = Subscribe::new(&json!({"group": "g", "auto_commit": false, "session_timeout_ms": 6000, "rack": "a"}));
        let config = subscribe.config(LIBRDKAFKA);
        let config: Vec<_> = config.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(config, [("group.id", "g"), ("session.timeout.ms", "6000"), ("enable.auto.commit", "false")]);
        assert_eq!(subscribe.ignored(), ["rack"]);
    }
}
