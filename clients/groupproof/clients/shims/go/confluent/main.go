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

var settings = map[string]string{
	"metadata_max_age_ms": "topic.metadata.refresh.interval.ms", "request_timeout_ms": "socket.timeout.ms", "retry_backoff_ms": "retry.backoff.ms",
	"reconnect_backoff_ms": "reconnect.backoff.ms", "heartbeat_interval_ms": "heartbeat.interval.ms", "auto_commit_interval_ms": "auto.commit.interval.ms",
}

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
	c := &confluent{Member: m}
	if c.consumer, err = kafka.NewConsumer(&config); err != nil {
		return nil, err
	}
	return c, c.Resubscribe(s.Texts("topics"))
}

func configured(s *shim.Subscribe) (kafka.ConfigMap, error) {
	chosen, err := shim.Choose("assignor", s.Texts("assignors"), assignors)
	if err != nil {
		return nil, err
	}
	names := strings.Join(chosen, ",")
	if len(chosen) > 1 && strings.Contains(names, "cooperative-sticky") {
		return nil, shim.Unimplemented("librdkafka lets nobody mix cooperative and eager assignors")
	}
	config := kafka.ConfigMap{
		"bootstrap.servers": s.Text("bootstrap"), "group.id": s.Text("group"), "client.id": s.Text("client_id"),
		"partition.assignment.strategy": names, "enable.auto.commit": s.Flag("auto_commit"),
	}
	for field, name := range settings {
		if s.Has(field) {
			config[name] = millis(s, field)
		}
	}
	if s.Has("auto_offset_reset") {
		config["auto.offset.reset"] = strings.Replace(s.Text("auto_offset_reset"), "none", "error", 1)
	}
	if s.Has("instance_id") {
		config["group.instance.id"] = s.Text("instance_id")
	}
	session, patience := millis(s, "session_timeout_ms"), millis(s, "max_poll_interval_ms")
	config["session.timeout.ms"], config["max.poll.interval.ms"] = session, max(session, patience)
	if patience < session { // librdkafka wants it no shorter
		s.Ignore("max_poll_interval_ms")
	}
	return config, nil
}

func millis(s *shim.Subscribe, field string) int { return int(s.Millis(field).Milliseconds()) }

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
	err := end.Error
	if err == nil {
		err = firstError(end.Offsets)
	}
	c.Member.Committed(offsetsOf(end.Offsets), err)
}

func (c *confluent) Commit(offsets shim.Offsets) error {
	asked := []kafka.TopicPartition{}
	for each, offset := range offsets {
		asked = append(asked, topicPartition(each, kafka.Offset(offset)))
	}
	done, err := c.consumer.CommitOffsets(asked)
	if err != nil {
		return err
	}
	return firstError(done)
}

func (c *confluent) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	asked := []kafka.TopicPartition{}
	for _, each := range partitions {
		asked = append(asked, topicPartition(each, kafka.OffsetInvalid))
	}
	found, err := c.consumer.Committed(asked, int(committedMax.Milliseconds()))
	if err == nil {
		err = firstError(found)
	}
	return offsetsOf(found), err
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
	found := shim.Offsets{}
	for _, each := range listed {
		found[shim.Partition{Topic: *each.Topic, Number: each.Partition}] = max(-1, int64(each.Offset))
	}
	return found
}

func topicPartition(partition shim.Partition, offset kafka.Offset) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: &partition.Topic, Partition: partition.Number, Offset: offset}
}

func firstError(listed []kafka.TopicPartition) error {
	for _, each := range listed {
		if each.Error != nil {
			return each.Error
		}
	}
	return nil
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
