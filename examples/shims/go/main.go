// A shim of level 1 around franz-go.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

var balancers = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

type franz struct {
	*shim.Member
	client *kgo.Client
}

func main() {
	shim.Run(shim.Hello{
		Client: "franz-go", Module: "github.com/twmb/franz-go",
		Capabilities: []string{"classic", "commit", "auto-commit", "pause", "static", "cooperative"},
		NameError: func(err error) (name string, isFatal bool) {
			var known *kerr.Error
			if errors.As(err, &known) {
				name = known.Message
			}
			return name, false
		},
	}, subscribe)
}

func subscribe(m *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	chosen, err := shim.Choose("assignor", s.Texts("assignors"), balancers)
	if err != nil {
		return nil, err
	}
	f, commits := &franz{Member: m}, s.Flag("auto_commit")
	options := []kgo.Opt{
		kgo.SeedBrokers(s.Brokers()...), kgo.ClientID(s.Text("client_id")), kgo.ConsumerGroup(s.Text("group")), kgo.ConsumeTopics(s.Texts("topics")...),
		kgo.SessionTimeout(s.Millis("session_timeout_ms")), kgo.HeartbeatInterval(s.Millis("heartbeat_interval_ms")),
		kgo.RebalanceTimeout(s.Millis("max_poll_interval_ms")), kgo.Balancers(chosen...),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) {
			m.Assigned(shim.Partitions(p), shim.Generation{})
		}),
		// A callback of one's own replaces the client's, which commits what was consumed: so this one has to.
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, p map[string][]int32) {
			m.Revoked(shim.Partitions(p), shim.Generation{}, f.Commit, func() {
				if commits {
					_ = client.CommitUncommittedOffsets(ctx)
				}
			})
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) {
			m.Lost(shim.Partitions(p), shim.Generation{})
		}),
	}
	if s.Has("instance_id") {
		options = append(options, kgo.InstanceID(s.Text("instance_id")))
	}
	if s.Text("auto_offset_reset") == "latest" {
		options = append(options, kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	}
	if age := s.Millis("metadata_max_age_ms"); age > 0 {
		options = append(options, kgo.MetadataMaxAge(age), kgo.MetadataMinAge(min(age, 100*time.Millisecond)))
	}
	if timeout := s.Millis("request_timeout_ms"); timeout > 0 {
		options = append(options, kgo.RequestTimeoutOverhead(timeout))
	}
	if interval := s.Millis("auto_commit_interval_ms"); !commits {
		options = append(options, kgo.DisableAutoCommit())
	} else if interval > 0 {
		options = append(options, kgo.AutoCommitInterval(interval))
	}
	f.client, err = kgo.NewClient(options...)
	return f, err
}

func (f *franz) Poll(ctx context.Context) error {
	var records shim.Batch
	var failure error
	fetches := f.client.PollFetches(ctx)
	fetches.EachRecord(func(r *kgo.Record) { records.Add(r.Topic, r.Partition, r.Offset) })
	f.Consumed(records)
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			failure = errors.Join(failure, err)
		}
	})
	return failure
}

func (f *franz) Commit(offsets shim.Offsets) (failure error) {
	heads := shim.OffsetsByTopic[int32](offsets, func(offset int64) kgo.EpochOffset { return kgo.EpochOffset{Epoch: -1, Offset: offset} })
	f.client.CommitOffsetsSync(context.Background(), heads, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		failure = err
		if response != nil {
			for _, topic := range response.Topics {
				for _, partition := range topic.Partitions {
					failure = errors.Join(failure, kerr.ErrorForCode(partition.ErrorCode))
				}
			}
		}
	})
	return failure
}

func (f *franz) Committed([]shim.Partition) (shim.Offsets, error) {
	found := shim.Offsets{}
	for topic, heads := range f.client.CommittedOffsets() {
		for number, head := range heads {
			found[shim.Partition{Topic: topic, Number: number}] = head.Offset
		}
	}
	return found, nil
}

func (f *franz) Close() error {
	f.client.CloseAllowingRebalance()
	return nil
}
