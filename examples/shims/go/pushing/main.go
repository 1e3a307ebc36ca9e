// A shim of level 1 around sarama, which pushes records to a handler.
package main

import (
	"context"

	"github.com/IBM/sarama"
	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

var strategies = map[string]sarama.BalanceStrategy{"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin()}

type member struct {
	*shim.Member
	sarama.ConsumerGroup
	client  sarama.Client
	session shim.Current[sarama.ConsumerGroupSession]
}

func main() {
	shim.Run(shim.Hello{
		Client: "sarama", Module: "github.com/IBM/sarama", NameError: shim.Coded[sarama.KError],
		Capabilities: []string{"classic", "commit", "auto-commit", "pause"},
	}, subscribe)
}

func subscribe(of *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	config := sarama.NewConfig()
	config.Consumer.Return.Errors, config.Consumer.Offsets.Initial = true, sarama.OffsetOldest
	group := &config.Consumer.Group
	s.Set(shim.Settings{
		"client_id": &config.ClientID, "assignors": shim.Each(&group.Rebalance.GroupStrategies, strategies),
		"session_timeout_ms": &group.Session.Timeout, "heartbeat_interval_ms": &group.Heartbeat.Interval, "max_poll_interval_ms": &group.Rebalance.Timeout,
		"auto_commit": &config.Consumer.Offsets.AutoCommit.Enable, "broker_release": shim.Parse(&config.Version, sarama.ParseKafkaVersion),
		"auto_offset_reset": shim.Pick(&config.Consumer.Offsets.Initial, map[string]int64{"earliest": sarama.OffsetOldest, "latest": sarama.OffsetNewest}),
	})
	m := &member{Member: of, client: shim.Must(sarama.NewClient(s.Brokers(), config))}
	m.ConsumerGroup = shim.Must(sarama.NewConsumerGroupFromClient(s.Text("group"), m.client))
	go shim.Problems(of, m.Errors())
	topics := s.Texts("topics")
	go m.Repeat(func() error { return m.Consume(context.Background(), topics, m) })
	return m, nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.session.Set(session)
	m.Assigned(shim.Partitions(session.Claims()))
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.Revoked(m.Owned(), shim.Generation{}, m.Commit, nil)
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for record := range claim.Messages() { // which is closed when the session ends
		if m.Handle(session.Context().Done(), record.Topic, record.Partition, record.Offset) && m.client.Config().Consumer.Offsets.AutoCommit.Enable {
			session.MarkMessage(record, "")
		}
	}
	return nil
}

func (m *member) Commit(offsets shim.Offsets) error {
	session := m.session.Get()
	for each, offset := range offsets {
		session.MarkOffset(each.Topic, each.Number, offset, "")
		session.ResetOffset(each.Topic, each.Number, offset, "") // which MarkOffset does not do backwards
	}
	session.Commit()
	return shim.ErrOutcomeUnknown
}

func (m *member) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	admin := shim.Must(sarama.NewClusterAdminFromClient(m.client))
	found := shim.Must(admin.ListConsumerGroupOffsets(m.Fields.Text("group"), shim.ByTopic[int32](partitions)))
	return shim.OffsetsFrom(found.Blocks, func(block *sarama.OffsetFetchResponseBlock) int64 { return block.Offset }), shim.ErrorIn(found)
}
