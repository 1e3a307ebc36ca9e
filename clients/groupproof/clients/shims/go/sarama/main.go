// A shim of level 1 around sarama (github.com/IBM/sarama): a client that pushes records to a handler.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

var capabilities = []string{"classic", "commit", "auto-commit", "pause", "on-revoked", "resubscribe"}

// tellingFor is how long an application waits for an error of the commit that it asked for: Commit returns nothing, Errors() tells it beside.
const tellingFor = 100 * time.Millisecond

type member struct {
	*shim.Member
	client   sarama.Client
	group    sarama.ConsumerGroup
	groupID  string
	marksAll bool // the application marks what it reads, for the client to commit by itself

	mutex   sync.Mutex
	topics  []string
	session sarama.ConsumerGroupSession
	anew    context.CancelFunc // ends the session for another subscription
	failed  map[shim.Partition]error

	ended chan struct{}
}

func main() {
	sarama.Logger = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	shim.Run(shim.Hello{
		Client: "sarama", Module: "github.com/IBM/sarama",
		Capabilities: capabilities,
		NameError: func(err error) (string, bool) {
			var code sarama.KError
			if errors.As(err, &code) {
				return shim.CodeName(int16(code)), false
			}
			return "", false
		},
	}, subscribe)
}

func subscribe(of *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	config, err := configured(s)
	if err != nil {
		return nil, err
	}
	m := &member{Member: of, failed: map[shim.Partition]error{}, ended: make(chan struct{})}
	m.topics, m.groupID, m.marksAll = s.Texts("topics"), s.Text("group"), config.Consumer.Offsets.AutoCommit.Enable
	if m.client, err = sarama.NewClient(s.Brokers(), config); err != nil {
		return nil, err
	}
	if m.group, err = sarama.NewConsumerGroupFromClient(m.groupID, m.client); err != nil {
		return nil, err
	}
	go m.listen()
	go m.consume()
	return m, nil
}

func configured(s *shim.Subscribe) (*sarama.Config, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion // which sarama's applications choose by hand
	if broker, err := sarama.ParseKafkaVersion(s.Text("broker_release")); err == nil && config.Version.IsAtLeast(broker) {
		config.Version = broker
	}
	config.ClientID = s.Text("client_id")
	config.Consumer.Return.Errors = true
	group := &config.Consumer.Group
	group.Session.Timeout, group.Heartbeat.Interval = s.Millis("session_timeout_ms"), s.Millis("heartbeat_interval_ms")
	// sarama has no max.poll.interval.ms (IBM/sarama#1795); what it tells the coordinator is the rebalance timeout.
	group.Rebalance.Timeout = s.Millis("max_poll_interval_ms")
	s.Ignore("max_poll_interval_ms")
	chosen, err := shim.Choose("assignor", s.Texts("assignors"), strategies)
	if err != nil {
		return nil, err
	}
	made := []sarama.BalanceStrategy{}
	for _, make := range chosen {
		made = append(made, make())
	}
	if err := offer(config, made); err != nil {
		return nil, err
	}
	if err := nameInstance(config, s.Text("instance_id")); err != nil {
		return nil, err
	}
	switch s.Text("auto_offset_reset") {
	case "latest":
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	case "none":
		s.Ignore("auto_offset_reset")
		fallthrough
	default:
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
	}
	config.Consumer.Offsets.AutoCommit.Enable = s.Flag("auto_commit")
	if interval := s.Millis("auto_commit_interval_ms"); interval > 0 {
		config.Consumer.Offsets.AutoCommit.Interval = interval
	}
	if age := s.Millis("metadata_max_age_ms"); age > 0 {
		config.Metadata.RefreshFrequency = age
	}
	if timeout := s.Millis("request_timeout_ms"); timeout > 0 {
		config.Net.DialTimeout, config.Net.ReadTimeout, config.Net.WriteTimeout = timeout, timeout, timeout
	}
	return config, nil
}

// consume calls Consume over and over, as sarama's documentation has it: once for each session.
func (m *member) consume() {
	defer close(m.ended)
	for {
		ctx, cancel := context.WithCancel(context.Background())
		m.mutex.Lock()
		topics := m.topics
		m.anew = cancel
		m.mutex.Unlock()
		err := m.group.Consume(ctx, topics, m)
		cancel()
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		}
		if m.Context().Err() != nil {
			return
		}
		if err != nil {
			m.Problem(err)
			m.Sleep(tellingFor)
		}
	}
}

// listen reads Errors(): what went wrong beside the calls that return errors.
func (m *member) listen() {
	for err := range m.group.Errors() {
		var of *sarama.ConsumerError
		if errors.As(err, &of) {
			m.mutex.Lock()
			m.failed[shim.Partition{Topic: of.Topic, Number: of.Partition}] = err
			m.mutex.Unlock()
		}
		m.Problem(err)
	}
}

func generationOf(session sarama.ConsumerGroupSession) shim.Generation {
	return shim.Generation{MemberID: session.MemberID(), Number: session.GenerationID()}
}

// Setup, Cleanup and ConsumeClaim are the handler. A session is one generation, or, with a cooperative assignor, as many as the membership has.

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	m.session = session
	m.mutex.Unlock()
	m.Assigned(shim.Partitions(session.Claims()), generationOf(session))
	return nil
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	m.giveBack(session, m.Owned())
	m.mutex.Lock()
	m.session = nil
	m.mutex.Unlock()
	return nil
}

func (m *member) giveBack(session sarama.ConsumerGroupSession, partitions []shim.Partition) {
	if len(partitions) == 0 {
		return
	}
	cause := context.Cause(session.Context())
	if errors.Is(cause, sarama.ErrUnknownMemberId) || errors.Is(cause, sarama.ErrIllegalGeneration) || errors.Is(cause, sarama.ErrFencedInstancedId) {
		m.Lost(partitions, generationOf(session))
		return
	}
	m.Revoked(partitions, generationOf(session), m.Commit, nil)
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	mine := shim.Partition{Topic: claim.Topic(), Number: claim.Partition()}
	if !m.owns(mine) { // added by a cooperative rebalance, which calls no Setup
		m.Assigned([]shim.Partition{mine}, generationOf(session))
	}
	shim.Deliver(&m.Gate, claim.Messages(), session.Context().Done(), func(first *sarama.ConsumerMessage) { m.read(session, claim, first) })
	// A session's end gives all back at once, in Cleanup; here one partition goes, and the session goes on.
	if session.Context().Err() == nil && m.owns(mine) {
		m.giveBack(session, []shim.Partition{mine})
	}
	return nil
}

func (m *member) owns(partition shim.Partition) bool {
	return len(m.Own([]shim.Partition{partition})) > 0
}

// read takes a record and those that are there behind it.
func (m *member) read(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim, first *sarama.ConsumerMessage) {
	var records shim.Batch
	records.Add(first.Topic, first.Partition, first.Offset)
	last := first
	for more := len(claim.Messages()); more > 0; more-- {
		next, isOpen := <-claim.Messages()
		if !isOpen {
			break
		}
		records.Add(next.Topic, next.Partition, next.Offset)
		last = next
	}
	m.Consumed(records)
	if m.marksAll {
		session.MarkMessage(last, "")
	}
}

// Commit marks the offsets and has the session commit: that returns nothing, and what went wrong comes, if it does, by Errors().
func (m *member) Commit(offsets shim.Offsets) error {
	m.mutex.Lock()
	session := m.session
	clear(m.failed)
	m.mutex.Unlock()
	if session == nil {
		return shim.Refusal{Name: "ILLEGAL_STATE", Message: "sarama commits in a session; there is none now"}
	}
	for each, offset := range offsets {
		session.MarkOffset(each.Topic, each.Number, offset, "")
		session.ResetOffset(each.Topic, each.Number, offset, "") // which MarkOffset does not do backwards
	}
	session.Commit()
	for began := time.Now(); time.Since(began) < tellingFor; time.Sleep(tellingFor / 10) {
		m.mutex.Lock()
		for each := range offsets {
			if err := m.failed[each]; err != nil {
				m.mutex.Unlock()
				return err
			}
		}
		m.mutex.Unlock()
	}
	return shim.ErrOutcomeUnknown
}

// Committed asks the coordinator: a consumer group of sarama's has no call for it, its administrator has.
func (m *member) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	admin, err := sarama.NewClusterAdminFromClient(m.client)
	if err != nil {
		return nil, err
	}
	response, err := admin.ListConsumerGroupOffsets(m.groupID, shim.ByTopic[int32](partitions))
	if err != nil {
		return nil, err
	}
	found := shim.Offsets{}
	for _, each := range partitions {
		block := response.GetBlock(each.Topic, each.Number)
		if block == nil {
			return nil, response.Err
		}
		if block.Err != sarama.ErrNoError {
			return nil, block.Err
		}
		found[each] = block.Offset
	}
	return found, nil
}

func (m *member) Resubscribe(topics []string) error {
	m.mutex.Lock()
	m.topics = topics
	anew := m.anew
	m.mutex.Unlock()
	anew()
	return nil
}

func (m *member) Close() error {
	err := m.group.Close()
	<-m.ended
	return errors.Join(err, m.client.Close())
}
