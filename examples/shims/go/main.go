// A shim of level 1 around franz-go.
package main

import (
	"context"
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
		Client: "franz-go", Module: "github.com/twmb/franz-go", NameError: shim.Named(func(err *kerr.Error) string { return err.Message }),
		Capabilities: []string{"classic", "commit", "auto-commit", "pause", "static", "cooperative"},
	}, subscribe)
}

func subscribe(m *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	f, commits := &franz{Member: m}, s.Flag("auto_commit")
	starts := map[string]kgo.Offset{"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(), "none": kgo.NoResetOffset()}
	options := append(shim.Options[kgo.Opt](s, shim.Settings{
		"bootstrap": kgo.SeedBrokers, "client_id": kgo.ClientID, "group": kgo.ConsumerGroup, "instance_id": kgo.InstanceID, "topics": kgo.ConsumeTopics,
		"session_timeout_ms": kgo.SessionTimeout, "heartbeat_interval_ms": kgo.HeartbeatInterval, "max_poll_interval_ms": kgo.RebalanceTimeout,
		"metadata_max_age_ms": kgo.MetadataMaxAge, "request_timeout_ms": kgo.RequestTimeoutOverhead, "auto_commit_interval_ms": kgo.AutoCommitInterval,
		"auto_commit":       func(is bool) kgo.Opt { return map[bool]kgo.Opt{false: kgo.DisableAutoCommit()}[is] },
		"auto_offset_reset": func(name string) kgo.Opt { return kgo.ConsumeResetOffset(starts[name]) },
	}), kgo.MetadataMinAge(100*time.Millisecond), kgo.Balancers(shim.Must(shim.Choose("assignor", s.Texts("assignors"), balancers))...),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { m.Assigned(shim.Partitions(p)) }),
		// A callback of one's own replaces the client's, which commits what was consumed: so this one has to.
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, p map[string][]int32) {
			m.Revoked(shim.Partitions(p), shim.Generation{}, f.Commit, func() {
				if commits {
					_ = client.CommitUncommittedOffsets(ctx)
				}
			})
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) { m.Lost(shim.Partitions(p)) }),
	)
	f.client = shim.Must(kgo.NewClient(options...))
	return f, nil
}

func (f *franz) Poll(ctx context.Context) error {
	var records shim.Batch
	fetches := f.client.PollFetches(ctx)
	fetches.EachRecord(func(r *kgo.Record) { records.Add(r.Topic, r.Partition, r.Offset) })
	f.Consumed(records)
	return shim.ErrorIn(fetches.Errors())
}

func (f *franz) Commit(offsets shim.Offsets) (err error) {
	heads := shim.OffsetsByTopic[int32](offsets, func(offset int64) kgo.EpochOffset { return kgo.EpochOffset{Epoch: -1, Offset: offset} })
	f.client.CommitOffsetsSync(context.Background(), heads, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, failure error) {
		err = shim.ErrorIn(failure, response)
	})
	return err
}

func (f *franz) Committed([]shim.Partition) (shim.Offsets, error) {
	return shim.OffsetsFrom(f.client.CommittedOffsets(), func(head kgo.EpochOffset) int64 { return head.Offset }), nil
}

func (f *franz) Close() error {
	f.client.CloseAllowingRebalance()
	return nil
}
