use std::error::Error;
use std::fmt::{self, Display};
use std::sync::Arc;

/// Why something that was asked of a client did not come about.
#[derive(Clone, Debug)]
pub enum Problem {
    /// The client has no such feature; it says why.
    Unimplemented(String),
    /// The client does not tell its application how the commit went.
    OutcomeUnknown,
    /// An error with its name: Kafka's where it has one. Fatal is what ends the member, as its client says.
    Refused { name: String, message: String, fatal: bool },
    /// An error of the client's, which `Hello::name_error` names.
    Client(Arc<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for Problem {
    fn from(error: E) -> Self {
        Problem::Client(Arc::new(error))
    }
}

impl Problem {
    pub fn unimplemented(why: impl Display) -> Self {
        Problem::Unimplemented(why.to_string())
    }

    /// An error by its name.
    pub fn named(name: impl Into<String>, message: impl Display) -> Self {
        Problem::Refused { name: name.into(), message: message.to_string(), fatal: false }
    }

    /// An error by Kafka's number.
    pub fn coded(code: i16, message: impl Display) -> Self {
        Problem::named(code_name(code), message)
    }

    /// An error by a number that a client has: Kafka's where it is one, that is -1 or greater than 0.
    pub fn of_code(code: impl TryInto<i16>, message: impl Display) -> Option<Self> {
        let code = code.try_into().ok().filter(|code| *code == -1 || *code > 0)?;
        Some(Problem::coded(code, message))
    }

    /// An error of the client's own, which has no name.
    pub fn other(error: impl Display) -> Self {
        Problem::named("CLIENT_ERROR", error)
    }

    /// The same, and the client says that it cannot go on.
    pub fn fatal(self) -> Self {
        match self {
            Problem::Refused { name, message, .. } => Problem::Refused { name, message, fatal: true },
            other => other,
        }
    }

    /// The same, fatal where the client says so.
    pub fn fatal_if(self, is_fatal: bool) -> Self {
        if is_fatal {
            self.fatal()
        } else {
            self
        }
    }

    pub fn is_fatal(&self) -> bool {
        matches!(self, Problem::Refused { fatal: true, .. })
    }
}

impl Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unimplemented(why) => write!(to, "{why}"),
            Problem::OutcomeUnknown => write!(to, "the client does not tell how the commit went"),
            Problem::Refused { message, .. } => write!(to, "{message}"),
            Problem::Client(error) => write!(to, "{error}"),
        }
    }
}

/// The name of Kafka's error code: that of `org.apache.kafka.common.protocol.Errors`.
pub fn code_name(code: i16) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == code);
    known.map_or_else(|| format!("CODE_{code}"), |(_, name)| (*name).to_owned())
}

const NAMES: &[(i16, &str)] = &[
    (-1, "UNKNOWN_SERVER_ERROR"),
    (1, "OFFSET_OUT_OF_RANGE"),
    (3, "UNKNOWN_TOPIC_OR_PARTITION"),
    (4, "INVALID_FETCH_SIZE"),
    (5, "LEADER_NOT_AVAILABLE"),
    (6, "NOT_LEADER_OR_FOLLOWER"),
    (7, "REQUEST_TIMED_OUT"),
    (10, "MESSAGE_TOO_LARGE"),
    (12, "OFFSET_METADATA_TOO_LARGE"),
    (13, "NETWORK_EXCEPTION"),
    (14, "COORDINATOR_LOAD_IN_PROGRESS"),
    (15, "COORDINATOR_NOT_AVAILABLE"),
    (16, "NOT_COORDINATOR"),
    (18, "RECORD_LIST_TOO_LARGE"),
    (19, "NOT_ENOUGH_REPLICAS"),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    (22, "ILLEGAL_GENERATION"),
    (23, "INCONSISTENT_GROUP_PROTOCOL"),
    (24, "INVALID_GROUP_ID"),
    (25, "UNKNOWN_MEMBER_ID"),
    (26, "INVALID_SESSION_TIMEOUT"),
    (27, "REBALANCE_IN_PROGRESS"),
    (28, "INVALID_COMMIT_OFFSET_SIZE"),
    (29, "TOPIC_AUTHORIZATION_FAILED"),
    (30, "GROUP_AUTHORIZATION_FAILED"),
    (35, "UNSUPPORTED_VERSION"),
    (40, "INVALID_CONFIG"),
    (42, "INVALID_REQUEST"),
    (47, "INVALID_PRODUCER_EPOCH"),
    (48, "INVALID_TXN_STATE"),
    (49, "INVALID_PRODUCER_ID_MAPPING"),
    (56, "KAFKA_STORAGE_ERROR"),
    (68, "NON_EMPTY_GROUP"),
    (69, "GROUP_ID_NOT_FOUND"),
    (70, "FETCH_SESSION_ID_NOT_FOUND"),
    (79, "MEMBER_ID_REQUIRED"),
    (81, "GROUP_MAX_SIZE_REACHED"),
    (82, "FENCED_INSTANCE_ID"),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC"),
    (88, "UNSTABLE_OFFSET_COMMIT"),
    (100, "UNKNOWN_TOPIC_ID"),
    (110, "FENCED_MEMBER_EPOCH"),
    (111, "UNRELEASED_INSTANCE_ID"),
    (112, "UNSUPPORTED_ASSIGNOR"),
    (113, "STALE_MEMBER_EPOCH"),
    (128, "INVALID_REGULAR_EXPRESSION"),
];

#[cfg(test)]
mod tests {
    use super::{code_name, Problem};

    #[test]
    fn a_code_has_kafkas_name_and_an_unknown_one_its_number() {
        assert_eq!(
            (code_name(27), code_name(-1), code_name(999)),
            ("REBALANCE_IN_PROGRESS".into(), "UNKNOWN_SERVER_ERROR".into(), "CODE_999".into())
        );
    }

    #[test]
    fn a_number_of_the_clients_own_is_none_of_kafkas() {
        let named = |code: i32| Problem::of_code(code, "it failed").map(|problem| format!("{problem:?}"));
        assert!(named(27).unwrap().contains("REBALANCE_IN_PROGRESS"));
        assert!(named(-1).unwrap().contains("UNKNOWN_SERVER_ERROR"));
        assert_eq!((named(0), named(-185), named(1 << 20)), (None, None, None));
    }

    #[test]
    fn a_problem_says_what_the_client_said() {
        let problem = Problem::coded(22, "the generation has passed");
        assert_eq!(problem.to_string(), "the generation has passed");
        assert!(!problem.is_fatal() && problem.clone().fatal().is_fatal());
        assert!(problem.clone().fatal_if(true).is_fatal() && !problem.fatal_if(false).is_fatal());
        assert!(!Problem::OutcomeUnknown.fatal().is_fatal());
    }
}
