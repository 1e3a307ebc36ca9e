// A shim of level 1 around confluent-kafka-go (github.com/confluentinc/confluent-kafka-go/v2): librdkafka by its Go binding.
package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"groupproof/shims/shim"
)

var assignors = map[string]bool{"range": true, "roundrobin": true, "cooperative-sticky": true}

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
	pollMs   int
	isStatic bool
	closed   chan struct{}
	ended    chan struct{} // closed when no poll is under way any more
}

func main() {
	_, library := kafka.LibraryVersion()
	fmt.Fprintln(os.Stderr, "librdkafka", library)
	shim.Run(shim.Hello{
		Client: "confluent-kafka-go", Module: "github.com/confluentinc/confluent-kafka-go/v2",
		Capabilities: []string{"classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked", "resubscribe"},
	}, func(m *shim.Member) shim.Client {
		return &confluent{Member: m, closed: make(chan struct{}), ended: make(chan struct{})}
	})
}

func (c *confluent) Subscribe(s *shim.Subscribe) error {
	config, err := c.config(s)
	if err != nil {
		return err
	}
	if c.consumer, err = kafka.NewConsumer(&config); err != nil {
		return named(err)
	}
	if err := c.Resubscribe(s.Texts("topics")); err != nil {
		return err
	}
	go func() {
		defer close(c.ended)
		c.Every(c.closed, time.Duration(c.pollMs)*time.Millisecond, c.poll)
	}()
	return nil
}

func (c *confluent) config(s *shim.Subscribe) (kafka.ConfigMap, error) {
	chosen := s.Texts("assignors")
	for _, name := range chosen {
		if !assignors[name] {
			return nil, shim.Unimplemented(fmt.Sprintf("librdkafka has no assignor %q", name))
		}
		if name == "cooperative-sticky" && len(chosen) > 1 {
			return nil, shim.Unimplemented("librdkafka lets nobody mix cooperative and eager assignors")
		}
	}
	config := kafka.ConfigMap{
		"bootstrap.servers": s.Text("bootstrap"), "group.id": s.Text("group"), "client.id": s.Text("client_id"),
		"partition.assignment.strategy": strings.Join(chosen, ","), "enable.auto.commit": s.Flag("auto_commit"),
	}
	for field, name := range settings {
		if s.Has(field) {
			config[name] = millis(s, field)
		}
	}
	if s.Has("auto_offset_reset") {
		config["auto.offset.reset"] = strings.Replace(s.Text("auto_offset_reset"), "none", "error", 1)
	}
	if c.isStatic = s.Has("instance_id"); c.isStatic {
		config["group.instance.id"] = s.Text("instance_id")
	}
	session, patience := millis(s, "session_timeout_ms"), millis(s, "max_poll_interval_ms")
	config["session.timeout.ms"], config["max.poll.interval.ms"] = session, max(session, patience)
	if patience < session { // librdkafka wants it no shorter
		s.Ignore("max_poll_interval_ms")
	}
	c.pollMs = millis(s, "poll_timeout_ms")
	return config, nil
}

func millis(s *shim.Subscribe, field string) int { return int(s.Millis(field).Milliseconds()) }

func (c *confluent) Resubscribe(topics []string) error {
	return named(c.consumer.SubscribeTopics(topics, c.rebalanced))
}

// rebalanced is the application's callback; assigning and giving up is left to the binding, which does so when it returns.
func (c *confluent) rebalanced(_ *kafka.Consumer, event kafka.Event) error {
	switch told := event.(type) {
	case kafka.AssignedPartitions:
		c.Assigned(partitionsOf(told.Partitions), shim.Generation{})
	case kafka.RevokedPartitions:
		if c.consumer.AssignmentLost() {
			c.Lost(partitionsOf(told.Partitions), shim.Generation{})
		} else {
			c.Revoked(partitionsOf(told.Partitions), shim.Generation{}, c.Commit, nil)
		}
	}
	return nil
}

// poll waits for a first event and takes what has come with it, up to the first error.
func (c *confluent) poll() error {
	ranges, failure := map[shim.Partition]shim.Range{}, error(nil)
	for taken, wait := 0, c.pollMs; taken < recordsMax && failure == nil; taken, wait = taken+1, 0 {
		event := c.consumer.Poll(wait)
		if event == nil {
			break
		}
		switch told := event.(type) {
		case *kafka.Message:
			failure = counted(ranges, told)
		case kafka.Error:
			failure = named(told)
		case kafka.OffsetsCommitted:
			c.committed(told)
		}
	}
	if len(ranges) > 0 {
		found := []shim.Range{}
		for _, each := range ranges {
			found = append(found, each)
		}
		c.Consumed(found...)
	}
	return failure
}

func counted(ranges map[shim.Partition]shim.Range, message *kafka.Message) error {
	if message.TopicPartition.Error != nil {
		return named(message.TopicPartition.Error)
	}
	offset, partition := int64(message.TopicPartition.Offset), partitionOf(message.TopicPartition)
	found, known := ranges[partition]
	if !known {
		found = shim.Range{Partition: partition, Least: offset}
	}
	found.Greatest, found.Count = offset, found.Count+1
	ranges[partition] = found
	return nil
}

// committed tells the end of an automatic commit; one that had nothing to commit tells nothing.
func (c *confluent) committed(told kafka.OffsetsCommitted) {
	if codeOf(told.Error) == kafka.ErrNoOffset {
		return
	}
	offsets, failure := shim.Offsets{}, told.Error
	for _, each := range told.Offsets {
		offsets[partitionOf(each)] = int64(each.Offset)
		if failure == nil {
			failure = each.Error
		}
	}
	c.Member.Committed(offsets, named(failure))
}

func (c *confluent) Commit(offsets shim.Offsets) error {
	if len(offsets) == 0 {
		return nil // nothing was consumed since the last commit, which other clients call a success
	}
	asked := []kafka.TopicPartition{}
	for each, offset := range offsets {
		asked = append(asked, topicPartition(each, kafka.Offset(offset)))
	}
	done, err := c.consumer.CommitOffsets(asked)
	if err != nil {
		return named(err)
	}
	return firstError(done)
}

func (c *confluent) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	asked := []kafka.TopicPartition{}
	for _, each := range partitions {
		asked = append(asked, topicPartition(each, kafka.OffsetInvalid))
	}
	told, err := c.consumer.Committed(asked, int(committedMax.Milliseconds()))
	if err == nil {
		err = firstError(told)
	}
	if err != nil {
		return nil, named(err)
	}
	found := shim.Offsets{}
	for _, each := range told {
		found[partitionOf(each)] = max(-1, int64(each.Offset))
	}
	return found, nil
}

func (c *confluent) Unsubscribe(leave *bool) error {
	if leave != nil && !*leave {
		return shim.Unimplemented("this client always leaves its group when it unsubscribes")
	}
	if err := c.consumer.Unsubscribe(); err != nil {
		return named(err)
	}
	c.Gate.Open() // the client gives its partitions back by polls
	for deadline := time.Now().Add(revocationMax); len(c.Owned()) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// Close leaves the group, a static member's place excepted: so librdkafka decides itself, and it can't be told otherwise.
func (c *confluent) Close(leave *bool) error {
	if leave != nil && *leave == c.isStatic {
		return shim.Unimplemented("librdkafka leaves the group as a dynamic member, and stays as a static one")
	}
	close(c.closed)
	<-c.ended // no method may be called beside Close
	return named(c.consumer.Close())
}

func partitionsOf(told []kafka.TopicPartition) []shim.Partition {
	found := map[string][]int32{}
	for _, each := range told {
		found[*each.Topic] = append(found[*each.Topic], each.Partition)
	}
	return shim.Partitions(found)
}

func partitionOf(told kafka.TopicPartition) shim.Partition {
	return shim.Partition{Topic: *told.Topic, Number: told.Partition}
}

func topicPartition(partition shim.Partition, offset kafka.Offset) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: &partition.Topic, Partition: partition.Number, Offset: offset}
}

func firstError(told []kafka.TopicPartition) error {
	for _, each := range told {
		if each.Error != nil {
			return named(each.Error)
		}
	}
	return nil
}

func codeOf(err error) kafka.ErrorCode {
	var told kafka.Error
	if errors.As(err, &told) {
		return told.Code()
	}
	return kafka.ErrNoError
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

// named gives an error the name that librdkafka has for it, and Kafka's where a broker sent it.
func named(err error) error {
	var told kafka.Error
	if err == nil || !errors.As(err, &told) {
		return err
	}
	name, isLocal := localNames[told.Code()]
	switch {
	case isLocal:
	case told.Code() >= -1: // a broker's
		name = shim.CodeName(int16(told.Code()))
	default: // "Local: Bad message format"
		name = strings.Trim(notInAName.ReplaceAllString(strings.ToUpper(strings.TrimPrefix(told.Code().String(), "Local")), "_"), "_")
		name = "_" + name
	}
	return shim.Refusal{Name: name, Message: told.Error(), IsFatal: told.IsFatal()}
}
