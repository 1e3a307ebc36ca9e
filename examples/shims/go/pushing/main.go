// A shim of level 1 around sarama, which pushes records to a handler.
package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

var strategies = map[string]sarama.BalanceStrategy{
	"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(), "sticky": sarama.NewBalanceStrategySticky(),
}

type member struct {
	*shim.Member
	client  sarama.Client
	group   sarama.ConsumerGroup
	groupID string
	session atomic.Value
	marks   bool
	ended   chan struct{}
}

func main() {
	shim.Run(shim.Hello{
		Client: "sarama", Module: "github.com/IBM/sarama", Capabilities: []string{"classic", "commit", "auto-commit", "pause"},
		NameError: func(err error) (name string, isFatal bool) {
			var code sarama.KError
			if errors.As(err, &code) {
				name = shim.CodeName(int16(code))
			}
			return name, false
		},
	}, subscribe)
}

func subscribe(of *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	chosen, err := shim.Choose("assignor", s.Texts("assignors"), strategies)
	if err != nil {
		return nil, err
	}
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	if broker, err := sarama.ParseKafkaVersion(s.Text("broker_release")); err == nil && config.Version.IsAtLeast(broker) {
		config.Version = broker
	}
	config.ClientID = s.Text("client_id")
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Session.Timeout = s.Millis("session_timeout_ms")
	config.Consumer.Group.Heartbeat.Interval = s.Millis("heartbeat_interval_ms")
	config.Consumer.Group.Rebalance.Timeout = s.Millis("max_poll_interval_ms")
	config.Consumer.Group.Rebalance.GroupStrategies = chosen
	config.Consumer.Offsets.AutoCommit.Enable = s.Flag("auto_commit")
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	if s.Text("auto_offset_reset") == "latest" {
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	}
	m := &member{Member: of, groupID: s.Text("group"), marks: config.Consumer.Offsets.AutoCommit.Enable, ended: make(chan struct{})}
	if m.client, err = sarama.NewClient(s.Brokers(), config); err != nil {
		return nil, err
	}
	if m.group, err = sarama.NewConsumerGroupFromClient(m.groupID, m.client); err != nil {
		return nil, err
	}
	go func() {
		for err := range m.group.Errors() {
			m.Problem(err)
		}
	}()
	go m.consume(s.Texts("topics"))
	return m, nil
}

// consume has a session after the other until the member closes.
func (m *member) consume(topics []string) {
	defer close(m.ended)
	for m.Context().Err() == nil {
		if err := m.group.Consume(context.Background(), topics, m); err != nil && m.Context().Err() == nil {
			m.Problem(err)
			m.Sleep(100 * time.Millisecond)
		}
	}
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.session.Store(session)
	m.Assigned(shim.Partitions(session.Claims()), shim.Generation{})
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.Revoked(m.Owned(), shim.Generation{}, m.Commit, nil)
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	shim.Deliver(&m.Gate, claim.Messages(), session.Context().Done(), func(record *sarama.ConsumerMessage) {
		var records shim.Batch
		records.Add(record.Topic, record.Partition, record.Offset)
		m.Consumed(records)
		if m.marks { // for the client to commit by itself
			session.MarkMessage(record, "")
		}
	})
	return nil
}

func (m *member) Commit(offsets shim.Offsets) error {
	session, is := m.session.Load().(sarama.ConsumerGroupSession)
	if !is {
		return shim.Refusal{Name: "ILLEGAL_STATE", Message: "sarama commits in a session"}
	}
	for each, offset := range offsets {
		session.MarkOffset(each.Topic, each.Number, offset, "")
		session.ResetOffset(each.Topic, each.Number, offset, "") // which MarkOffset does not do backwards
	}
	session.Commit()
	return shim.ErrOutcomeUnknown
}

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
		if block := response.GetBlock(each.Topic, each.Number); block != nil {
			found[each] = block.Offset
		}
	}
	return found, nil
}

func (m *member) Close() error {
	err := m.group.Close()
	<-m.ended
	return errors.Join(err, m.client.Close())
}
