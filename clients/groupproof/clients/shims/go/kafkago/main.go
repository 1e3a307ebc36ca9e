// A shim of level 1 around kafka-go (github.com/segmentio/kafka-go): its consumer group, whose generations an application reads by readers of its own.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

var balancers = map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}

const (
	maxWait      = 500 * time.Millisecond // how long a fetch waits for records
	afterAnError = 100 * time.Millisecond
)

type member struct {
	*shim.Member
	config    kafka.ConsumerGroupConfig
	dialer    *kafka.Dialer
	group     *kafka.ConsumerGroup
	transport *kafka.Transport
	ended     chan struct{}

	generation shim.Current[*kafka.Generation]
}

func main() {
	shim.Run(shim.Hello{
		Client: "kafka-go", Module: "github.com/segmentio/kafka-go", Capabilities: []string{"classic", "commit", "pause", "on-revoked"},
		NameError: shim.Coded[kafka.Error],
	}, subscribe)
}

func subscribe(of *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	m := &member{Member: of, ended: make(chan struct{})}
	err := m.configure(s)
	if err == nil {
		m.group, err = kafka.NewConsumerGroup(m.config)
	}
	if err != nil {
		return nil, err
	}
	m.transport = &kafka.Transport{ClientID: m.dialer.ClientID}
	go m.consume()
	return m, nil
}

func (m *member) configure(s *shim.Subscribe) (err error) {
	logger := kafka.LoggerFunc(log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds).Printf)
	m.config = kafka.ConsumerGroupConfig{
		ID: s.Text("group"), Brokers: s.Brokers(), Topics: s.Texts("topics"), Logger: logger, ErrorLogger: logger,
		SessionTimeout: s.Millis("session_timeout_ms"), HeartbeatInterval: s.Millis("heartbeat_interval_ms"),
		// kafka-go has no max.poll.interval.ms; what it tells the coordinator is the rebalance timeout.
		RebalanceTimeout: s.Millis("max_poll_interval_ms"),
		Timeout:          s.Millis("request_timeout_ms"),
		StartOffset:      kafka.FirstOffset,
	}
	m.dialer = &kafka.Dialer{ClientID: s.Text("client_id"), Timeout: 10 * time.Second, DualStack: true}
	connectBy(&m.config, m.dialer)
	s.Ignore("max_poll_interval_ms")
	if s.Flag("auto_commit") {
		return shim.Unimplemented("a consumer group of kafka-go's leaves commits to its application")
	}
	if s.Has("instance_id") {
		return shim.Unimplemented("kafka-go has no static members")
	}
	switch s.Text("auto_offset_reset") {
	case "latest":
		m.config.StartOffset = kafka.LastOffset
	case "none":
		s.Ignore("auto_offset_reset")
	}
	if age := s.Millis("metadata_max_age_ms"); age > 0 {
		m.config.WatchPartitionChanges, m.config.PartitionWatchInterval = true, age
	}
	m.config.GroupBalancers, err = shim.Choose("assignor", s.Texts("assignors"), balancers)
	return err
}

// consume takes one generation after the other.
func (m *member) consume() {
	defer close(m.ended)
	for {
		generation, err := m.group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
		if err != nil {
			m.Problem(err) // the group has a back-off of its own
			continue
		}
		generation.Start(func(ctx context.Context) { m.live(ctx, generation) })
	}
}

// live is the application in one generation: the group joins again once it returns.
func (m *member) live(ctx context.Context, generation *kafka.Generation) {
	var readers sync.WaitGroup
	now := shim.Generation{MemberID: generation.MemberID, Number: int32(generation.ID)}
	assigned := map[string][]int{}
	for topic, partitions := range generation.Assignments {
		for _, each := range partitions {
			assigned[topic] = append(assigned[topic], each.ID)
		}
	}
	m.generation.Set(generation)
	m.Assigned(shim.Partitions(assigned), now)
	for topic, partitions := range generation.Assignments {
		for _, each := range partitions {
			readers.Go(func() { m.read(ctx, topic, each) })
		}
	}
	<-ctx.Done()
	readers.Wait()
	if owned := m.Owned(); len(owned) > 0 {
		m.Revoked(owned, now, m.Commit, nil)
	}
	m.generation.Clear()
}

func (m *member) read(ctx context.Context, topic string, assigned kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: m.config.Brokers, Dialer: m.dialer, Topic: topic, Partition: assigned.ID, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: maxWait,
		ErrorLogger: m.config.ErrorLogger,
	})
	defer reader.Close()
	if err := reader.SetOffset(assigned.Offset); err != nil {
		m.Problem(err)
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return // what came with the end is the next owner's
		}
		if err != nil {
			m.Problem(err)
			time.Sleep(afterAnError)
			continue
		}
		// A record that came while the application was paused waits for it.
		m.Handle(ctx.Done(), topic, int32(assigned.ID), message.Offset)
	}
}

func (m *member) Commit(offsets shim.Offsets) error {
	return m.generation.Get().CommitOffsets(shim.OffsetsByTopic[int](offsets, func(offset int64) int64 { return offset }))
}

// Committed asks the coordinator by kafka-go's client, as a consumer group has no call for it.
func (m *member) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	asking := &kafka.Client{Addr: kafka.TCP(m.config.Brokers...), Transport: m.transport}
	response := shim.Must(asking.OffsetFetch(context.Background(), &kafka.OffsetFetchRequest{GroupID: m.config.ID, Topics: shim.ByTopic[int](partitions)}))
	found := shim.Offsets{}
	for topic, rows := range response.Topics {
		for _, row := range rows {
			found[shim.Partition{Topic: topic, Number: int32(row.Partition)}] = row.CommittedOffset
		}
	}
	return found, shim.ErrorIn(response)
}

// Close leaves the group, after what is done in the generation has ended.
func (m *member) Close() error {
	err := m.group.Close()
	<-m.ended
	m.transport.CloseIdleConnections()
	return err
}
