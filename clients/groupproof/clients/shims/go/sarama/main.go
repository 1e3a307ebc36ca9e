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

	session shim.Current[sarama.ConsumerGroupSession]

	mutex  sync.Mutex
	topics []string
	anew   context.CancelFunc // ends the session for another subscription
	failed map[shim.Partition]error

	ended chan struct{}
}

func main() {
	sarama.Logger = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	shim.Run(shim.Hello{
		Client: "sarama", Module: "github.com/IBM/sarama",
		Capabilities: capabilities,
		NameError:    shim.Coded[sarama.KError],
	}, subscribe)
}

func subscribe(of *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	config, err := configured(s)
	if err != nil {
		return nil, err
	}
	m := &member{Member: of, failed: map[shim.Partition]error{}, ended: make(chan struct{})}
	m.topics, m.groupID, m.marksAll = s.Texts("topics"), s.Text("group"), config.Consumer.Offsets.AutoCommit.Enable
	m.client = shim.Must(sarama.NewClient(s.Brokers(), config))
	m.group = shim.Must(sarama.NewConsumerGroupFromClient(m.groupID, m.client))
	go m.listen()
	go func() {
		defer close(m.ended)
		m.Repeat(m.consume)
	}()
	return m, nil
}

func configured(s *shim.Subscribe) (*sarama.Config, error) {
	config := sarama.NewConfig()
	group, offsets, network := &config.Consumer.Group, &config.Consumer.Offsets, &config.Net
	config.Version = sarama.MaxVersion // which sarama's applications choose by hand
	config.Consumer.Return.Errors, offsets.Initial, offsets.AutoCommit.Enable = true, sarama.OffsetOldest, false
	var timeout time.Duration
	s.Set(shim.Settings{
		"client_id": &config.ClientID, "session_timeout_ms": &group.Session.Timeout, "heartbeat_interval_ms": &group.Heartbeat.Interval,
		"max_poll_interval_ms": &group.Rebalance.Timeout, "metadata_max_age_ms": &config.Metadata.RefreshFrequency, "request_timeout_ms": &timeout,
		"auto_commit": &offsets.AutoCommit.Enable, "auto_commit_interval_ms": &offsets.AutoCommit.Interval,
		"auto_offset_reset": shim.Pick(&offsets.Initial, map[string]int64{"earliest": sarama.OffsetOldest, "latest": sarama.OffsetNewest}),
		"broker_release": shim.Parse(&config.Version, func(release string) (sarama.KafkaVersion, error) {
			broker, err := sarama.ParseKafkaVersion(release)
			if !sarama.MaxVersion.IsAtLeast(broker) {
				broker = sarama.MaxVersion
			}
			return broker, err
		}),
	})
	// sarama has no max.poll.interval.ms (IBM/sarama#1795); what it tells the coordinator is the rebalance timeout.
	s.Ignore("max_poll_interval_ms")
	if timeout > 0 {
		network.DialTimeout, network.ReadTimeout, network.WriteTimeout = timeout, timeout, timeout
	}
	made := []sarama.BalanceStrategy{}
	for _, make := range shim.Must(shim.Choose("assignor", s.Texts("assignors"), strategies)) {
		made = append(made, make())
	}
	if err := offer(config, made); err != nil {
		return nil, err
	}
	return config, nameInstance(config, s.Text("instance_id"))
}

// consume calls Consume once, for one session: sarama's documentation has it called over and over.
func (m *member) consume() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.mutex.Lock()
	topics := m.topics
	m.anew = cancel
	m.mutex.Unlock()
	return m.group.Consume(ctx, topics, m)
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
	m.session.Set(session)
	m.Assigned(shim.Partitions(session.Claims()), generationOf(session))
	return nil
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	m.giveBack(session, m.Owned())
	m.session.Clear()
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
	session := m.session.Get()
	m.mutex.Lock()
	clear(m.failed)
	m.mutex.Unlock()
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
	admin := shim.Must(sarama.NewClusterAdminFromClient(m.client))
	found := shim.Must(admin.ListConsumerGroupOffsets(m.groupID, shim.ByTopic[int32](partitions)))
	return shim.OffsetsFrom(found.Blocks, func(block *sarama.OffsetFetchResponseBlock) int64 { return block.Offset }), shim.ErrorIn(found)
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
