package shim

import (
	"errors"
	"fmt"
)

// Unimplemented is the error of a command that the client has no feature for; it says why.
type Unimplemented string

func (u Unimplemented) Error() string { return string(u) }

// ErrOutcomeUnknown is what Commit returns where the client does not let its application know how the commit went.
var ErrOutcomeUnknown = errors.New("the client does not tell how the commit went")

// Refusal is an error with a name of the shim's own making, such as ILLEGAL_STATE. After one that is fatal the client cannot go on.
type Refusal struct {
	Name, Message string
	IsFatal       bool
}

func (r Refusal) Error() string { return r.Message }

// Must returns what a call of the client's returned, or ends the command, the poll or the callback's commit with its error: as if the
// method had returned it. It is for subscribe and for the methods of a Client, not for goroutines of the author's own.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check is Must for a call that returns nothing but an error.
func Check(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// failed is what Must panics with.
type failed struct{ error }

// caught returns the error of what is done, whether it returns it or ends with Must.
func caught(do func() error) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failed:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	return do()
}

// CodeName returns the name of Kafka's error code: that of org.apache.kafka.common.protocol.Errors.
func CodeName(code int16) string {
	if name, known := codeNames[code]; known {
		return name
	}
	return fmt.Sprintf("CODE_%d", code)
}

// Coded is the NameError of a client whose errors are Kafka's numbers: shim.Coded[sarama.KError].
func Coded[E interface {
	error
	~int | ~int16 | ~int32
}](err error) (name string, isFatal bool) {
	return Named(func(code E) string { return CodeName(int16(code)) })(err)
}

// Named is the NameError of a client whose errors have a type that knows their name.
func Named[E error](nameOf func(E) string) func(error) (name string, isFatal bool) {
	return func(err error) (name string, isFatal bool) {
		var known E
		if errors.As(err, &known) {
			name = nameOf(known)
		}
		return name, false
	}
}

// nameOf returns the name that an error bears in the contract's lines, and whether the client cannot go on after it.
func (h Hello) nameOf(err error) (name string, isFatal bool) {
	var refusal Refusal
	if errors.As(err, &refusal) {
		return refusal.Name, refusal.IsFatal
	}
	var code Code
	if errors.As(err, &code) {
		return CodeName(int16(code)), false
	}
	if h.NameError != nil {
		if name, isFatal = h.NameError(err); name != "" {
			return name, isFatal
		}
	}
	return "CLIENT_ERROR", isFatal
}

func isUnimplemented(err error) bool {
	var lacking Unimplemented
	return errors.As(err, &lacking)
}

var codeNames = map[int16]string{
	-1: "UNKNOWN_SERVER_ERROR", 1: "OFFSET_OUT_OF_RANGE", 3: "UNKNOWN_TOPIC_OR_PARTITION", 4: "INVALID_FETCH_SIZE", 5: "LEADER_NOT_AVAILABLE",
	6: "NOT_LEADER_OR_FOLLOWER", 7: "REQUEST_TIMED_OUT", 10: "MESSAGE_TOO_LARGE", 12: "OFFSET_METADATA_TOO_LARGE", 13: "NETWORK_EXCEPTION",
	14: "COORDINATOR_LOAD_IN_PROGRESS", 15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR", 18: "RECORD_LIST_TOO_LARGE",
	19: "NOT_ENOUGH_REPLICAS", 20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 22: "ILLEGAL_GENERATION", 23: "INCONSISTENT_GROUP_PROTOCOL",
	24: "INVALID_GROUP_ID", 25: "UNKNOWN_MEMBER_ID", 26: "INVALID_SESSION_TIMEOUT", 27: "REBALANCE_IN_PROGRESS",
	28: "INVALID_COMMIT_OFFSET_SIZE", 29: "TOPIC_AUTHORIZATION_FAILED", 30: "GROUP_AUTHORIZATION_FAILED", 35: "UNSUPPORTED_VERSION",
	40: "INVALID_CONFIG", 42: "INVALID_REQUEST", 47: "INVALID_PRODUCER_EPOCH", 48: "INVALID_TXN_STATE", 49: "INVALID_PRODUCER_ID_MAPPING",
	56: "KAFKA_STORAGE_ERROR", 68: "NON_EMPTY_GROUP", 69: "GROUP_ID_NOT_FOUND", 70: "FETCH_SESSION_ID_NOT_FOUND", 79: "MEMBER_ID_REQUIRED",
	81: "GROUP_MAX_SIZE_REACHED", 82: "FENCED_INSTANCE_ID", 86: "GROUP_SUBSCRIBED_TO_TOPIC", 88: "UNSTABLE_OFFSET_COMMIT",
	100: "UNKNOWN_TOPIC_ID", 110: "FENCED_MEMBER_EPOCH", 111: "UNRELEASED_INSTANCE_ID", 112: "UNSUPPORTED_ASSIGNOR", 113: "STALE_MEMBER_EPOCH",
	128: "INVALID_REGULAR_EXPRESSION",
}
