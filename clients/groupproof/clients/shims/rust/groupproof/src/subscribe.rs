use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

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

    use super::Subscribe;

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
    fn what_nobody_took_is_ignored_and_nulls_and_the_envelope_are_not_fields() {
        let mut subscribe = Subscribe::new(&json!({"id": 1, "command": "subscribe", "group": "g", "instance_id": null, "rack": "a", "offset": 1}));
        subscribe.text("group");
        subscribe.take("offset");
        subscribe.ignore("offset");
        assert!(!subscribe.has("instance_id"));
        assert_eq!(subscribe.ignored(), ["offset", "rack"]);
    }
}
