package shim

import (
	"errors"
	"fmt"
	"strconv"
)

// Unimplemented is the error of a command that the client has no feature for; it says why.
type Unimplemented string

func (u Unimplemented) Error() string { return string(u) }

// ErrOutcomeUnknown is what Commit returns where the client does not tell its application how the commit went.
var ErrOutcomeUnknown = errors.New("the client does not tell how the commit went")

// Refusal is an error that has a name of Kafka's, or of the shim's. After one that is fatal the client cannot go on.
type Refusal struct {
	Name, Message string
	IsFatal       bool
}

func (r Refusal) Error() string { return r.Message }

// Coded is what the errors of clients that keep Kafka's numbers convert to.
func Coded(code int16, message string) error { return Refusal{Name: CodeName(code), Message: message} }

// CodeName returns the name of Kafka's error code: that of org.apache.kafka.common.protocol.Errors.
func CodeName(code int16) string {
	if name, known := codeNames[code]; known {
		return name
	}
	return fmt.Sprintf("CODE_%s", strconv.Itoa(int(code)))
}

// nameOf returns the name that an error bears in the contract's lines.
func nameOf(err error) string {
	var refusal Refusal
	if errors.As(err, &refusal) {
		return refusal.Name
	}
	return "CLIENT_ERROR"
}

func isFatal(err error) bool {
	var refusal Refusal
	return errors.As(err, &refusal) && refusal.IsFatal
}

var codeNames = map[int16]string{
	-1: "UNKNOWN_SERVER_ERROR", 1: "OFFSET_OUT_OF_RANGE", 2: "CORRUPT_MESSAGE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 5: "LEADER_NOT_AVAILABLE",
	6: "NOT_LEADER_OR_FOLLOWER", 7: "REQUEST_TIMED_OUT", 8: "BROKER_NOT_AVAILABLE", 9: "REPLICA_NOT_AVAILABLE", 12: "OFFSET_METADATA_TOO_LARGE",
	13: "NETWORK_EXCEPTION", 14: "COORDINATOR_LOAD_IN_PROGRESS", 15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR",
	17: "INVALID_TOPIC_EXCEPTION", 22: "ILLEGAL_GENERATION", 23: "INCONSISTENT_GROUP_PROTOCOL", 24: "INVALID_GROUP_ID", 25: "UNKNOWN_MEMBER_ID",
	26: "INVALID_SESSION_TIMEOUT", 27: "REBALANCE_IN_PROGRESS", 28: "INVALID_COMMIT_OFFSET_SIZE", 29: "TOPIC_AUTHORIZATION_FAILED",
	30: "GROUP_AUTHORIZATION_FAILED", 31: "CLUSTER_AUTHORIZATION_FAILED", 35: "UNSUPPORTED_VERSION", 42: "INVALID_REQUEST",
	43: "UNSUPPORTED_FOR_MESSAGE_FORMAT", 56: "KAFKA_STORAGE_ERROR", 74: "FENCED_LEADER_EPOCH", 75: "UNKNOWN_LEADER_EPOCH",
	79: "MEMBER_ID_REQUIRED", 81: "GROUP_MAX_SIZE_REACHED", 82: "FENCED_INSTANCE_ID", 88: "UNSTABLE_OFFSET_COMMIT", 89: "THROTTLING_QUOTA_EXCEEDED",
	110: "FENCED_MEMBER_EPOCH", 111: "UNRELEASED_INSTANCE_ID", 112: "UNSUPPORTED_ASSIGNOR", 113: "STALE_MEMBER_EPOCH",
}
