// A shim of level 1 around kafka-go's Reader, which has no callbacks of a rebalance: what it logs says what it was assigned.
package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
	"github.com/segmentio/kafka-go"
)

var (
	balancers = map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}
	starts    = map[string]int64{"earliest": kafka.FirstOffset, "latest": kafka.LastOffset}
	place     = regexp.MustCompile(`topic:(\S+) partition:(\d+)`)
)

type reader struct {
	*shim.Member
	*kafka.Reader
	client *kafka.Client
	read   func(context.Context) (kafka.Message, error)
}

func main() {
	shim.Run(shim.Hello{
		Client: "kafka-go-reader", Module: "github.com/segmentio/kafka-go", NameError: shim.Coded[kafka.Error],
		Capabilities: []string{"classic", "commit", "auto-commit", "pause"},
	}, subscribe)
}

func subscribe(m *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	config := kafka.ReaderConfig{Brokers: s.Brokers(), Dialer: &kafka.Dialer{}, WatchPartitionChanges: true}
	s.Set(shim.Settings{
		"client_id": &config.Dialer.ClientID, "group": &config.GroupID, "topics": &config.GroupTopics, "assignors": shim.Each(&config.GroupBalancers, balancers),
		"session_timeout_ms": &config.SessionTimeout, "heartbeat_interval_ms": &config.HeartbeatInterval, "max_poll_interval_ms": &config.RebalanceTimeout,
		"metadata_max_age_ms": &config.PartitionWatchInterval, "poll_timeout_ms": &config.MaxWait, "request_timeout_ms": &config.Dialer.Timeout,
		"auto_commit_interval_ms": &config.CommitInterval, "auto_offset_reset": shim.Pick(&config.StartOffset, starts),
	})
	r := &reader{Member: m, client: &kafka.Client{Addr: kafka.TCP(config.Brokers...)}}
	config.Logger = kafka.LoggerFunc(func(text string, values ...any) {
		switch line := fmt.Sprintf(text, values...); {
		case strings.HasPrefix(line, "subscribed to"):
			m.Assigned(partitions(line))
		case strings.HasPrefix(line, "stopped heartbeat"):
			m.Revoked(m.Owned(), shim.Generation{}, nil, nil)
		}
	})
	r.Reader = kafka.NewReader(config)
	r.read = r.FetchMessage
	if s.Flag("auto_commit") {
		r.read = r.ReadMessage
	}
	return r, nil
}

func partitions(line string) (found []shim.Partition) {
	for _, match := range place.FindAllStringSubmatch(line, -1) {
		number, _ := strconv.Atoi(match[2])
		found = append(found, shim.Partition{Topic: match[1], Number: int32(number)})
	}
	return found
}

func (r *reader) Poll(ctx context.Context) error {
	message, err := r.read(ctx)
	if err != nil {
		return err
	}
	r.Consumed(shim.Record(message.Topic, message.Partition, message.Offset))
	return nil
}

func (r *reader) Commit(offsets shim.Offsets) error {
	var messages []kafka.Message
	for each, offset := range offsets {
		messages = append(messages, kafka.Message{Topic: each.Topic, Partition: int(each.Number), Offset: offset - 1})
	}
	return r.CommitMessages(context.Background(), messages...)
}

func (r *reader) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	group := &kafka.OffsetFetchRequest{GroupID: r.Config().GroupID, Topics: shim.ByTopic[int](partitions)}
	found := shim.Must(r.client.OffsetFetch(context.Background(), group))
	return shim.OffsetsUnder(found.Topics, func(row kafka.OffsetFetchPartition) (int, int64) { return row.Partition, row.CommittedOffset }), shim.ErrorIn(found)
}
