// A shim of level 1 around confluent-kafka-go (github.com/confluentinc/confluent-kafka-go/v2): librdkafka by its Go binding, which is polled.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

var assignors = map[string]string{"range": "range", "roundrobin": "roundrobin", "cooperative-sticky": "cooperative-sticky"}

const (
	recordsMax    = 500
	committedMax  = 10 * time.Second
	revocationMax = 10 * time.Second // librdkafka gives its partitions back in the background
)

type confluent struct {
	*shim.Member
	consumer *kafka.Consumer
}

func main() {
	_, library := kafka.LibraryVersion()
	fmt.Fprintln(os.Stderr, "librdkafka", library)
	shim.Run(shim.Hello{
		Client: "confluent-kafka-go", Module: "github.com/confluentinc/confluent-kafka-go/v2",
		Capabilities: []string{"classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked", "resubscribe"},
		NameError:    nameError,
	}, subscribe)
}

func subscribe(m *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	config, err := configured(s)
	if err != nil {
		return nil, err
	}
	c := &confluent{Member: m, consumer: shim.Must(kafka.NewConsumer(&config))}
	return c, c.Resubscribe(s.Texts("topics"))
}

func configured(s *shim.Subscribe) (kafka.ConfigMap, error) {
	names := strings.Join(shim.Must(shim.Choose("assignor", s.Texts("assignors"), assignors)), ",")
	if strings.Contains(names, ",") && strings.Contains(names, "cooperative-sticky") {
		return nil, shim.Unimplemented("librdkafka lets nobody mix cooperative and eager assignors")
	}
	config := kafka.ConfigMap{"partition.assignment.strategy": names, "enable.auto.commit": s.Flag("auto_commit")}
	for name, value := range s.Config(shim.Librdkafka) {
		config[name] = value
	}
	if s.Text("auto_offset_reset") == "none" {
		config["auto.offset.reset"] = "error"
	}
	if session := s.Millis("session_timeout_ms"); s.Millis("max_poll_interval_ms") < session { // librdkafka wants it no shorter
		config["max.poll.interval.ms"] = int(session.Milliseconds())
		s.Ignore("max_poll_interval_ms")
	}
	return config, nil
}

func (c *confluent) Resubscribe(topics []string) error {
	return c.consumer.SubscribeTopics(topics, c.rebalanced)
}

// rebalanced is the application's callback; assigning and giving up is left to the binding, which does so when it returns.
func (c *confluent) rebalanced(_ *kafka.Consumer, event kafka.Event) error {
	switch change := event.(type) {
	case kafka.AssignedPartitions:
		c.Assigned(partitionsOf(change.Partitions), shim.Generation{})
	case kafka.RevokedPartitions:
		if c.consumer.AssignmentLost() {
			c.Lost(partitionsOf(change.Partitions), shim.Generation{})
		} else {
			c.Revoked(partitionsOf(change.Partitions), shim.Generation{}, c.Commit, nil)
		}
	}
	return nil
}

// Poll waits for a first event and takes what has come with it, up to the first error.
func (c *confluent) Poll(ctx context.Context) error {
	var records shim.Batch
	defer func() { c.Consumed(records) }()
	deadline, _ := ctx.Deadline()
	for wait := time.Until(deadline); records.Count() < recordsMax; wait = 0 {
		switch event := c.consumer.Poll(int(wait.Milliseconds())).(type) {
		case nil:
			return nil
		case *kafka.Message:
			if event.TopicPartition.Error != nil {
				return event.TopicPartition.Error
			}
			records.Add(*event.TopicPartition.Topic, event.TopicPartition.Partition, int64(event.TopicPartition.Offset))
		case kafka.Error:
			return event
		case kafka.OffsetsCommitted:
			c.committed(event)
		}
	}
	return nil
}

// committed reports the end of an automatic commit; of one that had nothing to commit nothing is to be said.
func (c *confluent) committed(end kafka.OffsetsCommitted) {
	var failure kafka.Error
	if errors.As(end.Error, &failure) && failure.Code() == kafka.ErrNoOffset {
		return
	}
	c.Member.Committed(offsetsOf(end.Offsets), shim.ErrorIn(end.Error, end.Offsets))
}

func (c *confluent) Commit(offsets shim.Offsets) error {
	asked := []kafka.TopicPartition{}
	for each, offset := range offsets {
		asked = append(asked, topicPartition(each, kafka.Offset(offset)))
	}
	done, err := c.consumer.CommitOffsets(asked)
	return shim.ErrorIn(err, done)
}

func (c *confluent) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	asked := []kafka.TopicPartition{}
	for _, each := range partitions {
		asked = append(asked, topicPartition(each, kafka.OffsetInvalid))
	}
	found, err := c.consumer.Committed(asked, int(committedMax.Milliseconds()))
	return offsetsOf(found), shim.ErrorIn(err, found)
}

func (c *confluent) Unsubscribe(leave *bool) error {
	if leave != nil && !*leave {
		return shim.Unimplemented("this client always leaves its group when it unsubscribes")
	}
	if err := c.consumer.Unsubscribe(); err != nil {
		return err
	}
	c.Gate.Open() // the client gives its partitions back by polls
	for deadline := time.Now().Add(revocationMax); len(c.Owned()) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return nil
}

func (c *confluent) Close() error { return c.consumer.Close() }

func partitionsOf(listed []kafka.TopicPartition) []shim.Partition {
	found := map[string][]int32{}
	for _, each := range listed {
		found[*each.Topic] = append(found[*each.Topic], each.Partition)
	}
	return shim.Partitions(found)
}

func offsetsOf(listed []kafka.TopicPartition) shim.Offsets {
	return shim.OffsetsOf(listed, func(each kafka.TopicPartition) (string, int32, int64) {
		return *each.Topic, each.Partition, max(-1, int64(each.Offset))
	})
}

func topicPartition(partition shim.Partition, offset kafka.Offset) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: &partition.Topic, Partition: partition.Number, Offset: offset}
}

var (
	localNames = map[kafka.ErrorCode]string{
		kafka.ErrTransport: "_TRANSPORT", kafka.ErrAllBrokersDown: "_ALL_BROKERS_DOWN", kafka.ErrTimedOut: "_TIMED_OUT", kafka.ErrState: "_STATE",
		kafka.ErrMaxPollExceeded: "_MAX_POLL_EXCEEDED", kafka.ErrNoOffset: "_NO_OFFSET", kafka.ErrFatal: "_FATAL", kafka.ErrFenced: "_FENCED",
		kafka.ErrAssignmentLost: "_ASSIGNMENT_LOST", kafka.ErrWaitCoord: "_WAIT_COORD", kafka.ErrAutoOffsetReset: "_AUTO_OFFSET_RESET",
		kafka.ErrUnknownTopic: "_UNKNOWN_TOPIC", kafka.ErrUnknownPartition: "_UNKNOWN_PARTITION", kafka.ErrResolve: "_RESOLVE",
		kafka.ErrDestroy: "_DESTROY", kafka.ErrOutdated: "_OUTDATED", kafka.ErrInvalidArg: "_INVALID_ARG",
	}
	notInAName = regexp.MustCompile(`[^A-Z0-9]+`)
)

// nameError gives an error the name that librdkafka has for it, and Kafka's where a broker sent it.
func nameError(err error) (name string, isFatal bool) {
	var failure kafka.Error
	if !errors.As(err, &failure) {
		return "", false
	}
	name, isLocal := localNames[failure.Code()]
	switch {
	case isLocal:
	case failure.Code() >= -1: // a broker's
		name = shim.CodeName(int16(failure.Code()))
	default: // "Local: Bad message format"
		words := strings.ToUpper(strings.TrimPrefix(failure.Code().String(), "Local"))
		name = "_" + strings.Trim(notInAName.ReplaceAllString(words, "_"), "_")
	}
	return name, failure.IsFatal()
}
