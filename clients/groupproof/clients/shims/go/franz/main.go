// A shim of level 1 around franz-go (github.com/twmb/franz-go): a client that is polled.
package main

import (
	"context"
	"os"
	"slices"
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
	topics []string

	hasLeft bool
}

func main() {
	shim.Run(shim.Hello{
		Client: "franz-go", Module: "github.com/twmb/franz-go",
		Capabilities: append(dialects, "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked", "resubscribe", "regex"),
		NameError:    shim.Named(func(err *kerr.Error) string { return err.Message }),
	}, subscribe)
}

func subscribe(m *shim.Member, s *shim.Subscribe) (shim.Client, error) {
	f := &franz{Member: m, topics: s.Texts("topics")}
	isAutomatic := s.Flag("auto_commit")
	starts := map[string]kgo.Offset{"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(), "none": kgo.NoResetOffset()}
	options := append(f.callbacks(isAutomatic), shim.Options[kgo.Opt](s, shim.Settings{
		"bootstrap": kgo.SeedBrokers, "client_id": kgo.ClientID, "group": kgo.ConsumerGroup, "topics": kgo.ConsumeTopics, "instance_id": kgo.InstanceID,
		"max_poll_interval_ms": kgo.RebalanceTimeout,
		"metadata_max_age_ms":  kgo.MetadataMaxAge, "request_timeout_ms": kgo.RequestTimeoutOverhead, "default_api_timeout_ms": kgo.RetryTimeout,
		"auto_offset_reset": func(name string) kgo.Opt { return kgo.ConsumeResetOffset(starts[name]) },
	})...)
	// franz-go has no max.poll.interval.ms (twmb/franz-go#708); what it tells the coordinator is the rebalance timeout.
	s.Ignore("max_poll_interval_ms")
	if age := s.Millis("metadata_max_age_ms"); age > 0 {
		options = append(options, kgo.MetadataMinAge(min(age, 100*time.Millisecond)))
	}
	if interval := s.Millis("auto_commit_interval_ms"); !isAutomatic {
		options = append(options, kgo.DisableAutoCommit())
	} else if interval > 0 {
		options = append(options, kgo.AutoCommitInterval(interval))
	}
	if s.Has("pattern") {
		options = append(options, kgo.ConsumeRegex(), kgo.ConsumeTopics("^("+s.Text("pattern")+")$"))
	}
	options = append(append(options, protocolOf(s)...), kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)))
	f.client = shim.Must(kgo.NewClient(options...))
	return f, nil
}

// The server's assignors, by the balancers that stand for them; a client that names none is given uniform.
var serverAssignors = map[string]kgo.GroupBalancer{"uniform": kgo.StickyBalancer(), "range": kgo.RangeBalancer()}

// protocolOf takes what a member of a classic group is to say, or that the brokers assign (KIP-848).
func protocolOf(s *shim.Subscribe) []kgo.Opt {
	dialect := s.Text("protocol")
	if s.Has("group_protocol") {
		dialect = s.Text("group_protocol")
	}
	if dialect != "consumer" {
		chosen := shim.Must(shim.Choose("assignor", s.Texts("assignors"), balancers))
		settings := shim.Settings{"session_timeout_ms": kgo.SessionTimeout, "heartbeat_interval_ms": kgo.HeartbeatInterval}
		return append(shim.Options[kgo.Opt](s, settings), kgo.Balancers(chosen...))
	}
	names := []string{"uniform"}
	if s.Has("assignor") {
		names = []string{s.Text("assignor")}
	}
	return append(serverSide(), kgo.Balancers(shim.Must(shim.Choose("server assignor", names, serverAssignors))...))
}

// callbacks: one that revokes replaces the client's own, so that it does what that does: a blocking commit (config.go, OnPartitionsRevoked).
func (f *franz) callbacks(isAutomatic bool) []kgo.Opt {
	return []kgo.Opt{
		kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, added map[string][]int32) {
			f.Assigned(shim.Partitions(added), generationOf(client))
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, revoked map[string][]int32) {
			// It is called at each session's end, with what was revoked already too.
			if own := f.Own(shim.Partitions(revoked)); len(own) > 0 {
				f.Revoked(own, generationOf(client), f.Commit, func() {
					if !isAutomatic {
						return
					}
					if err := client.CommitUncommittedOffsets(ctx); err != nil {
						f.Problem(err)
					}
				})
			}
		}),
		kgo.OnPartitionsLost(func(_ context.Context, client *kgo.Client, lost map[string][]int32) {
			if own := f.Own(shim.Partitions(lost)); len(own) > 0 {
				f.Lost(own, generationOf(client))
			}
		}),
	}
}

func generationOf(client *kgo.Client) shim.Generation {
	id, number := client.GroupMetadata()
	return shim.Generation{MemberID: id, Number: number}
}

func (f *franz) Poll(ctx context.Context) error {
	fetches := f.client.PollFetches(ctx)
	var records shim.Batch
	fetches.EachRecord(func(r *kgo.Record) { records.Add(r.Topic, r.Partition, r.Offset) })
	f.Consumed(records)
	return shim.ErrorIn(fetches.Errors())
}

func (f *franz) Commit(offsets shim.Offsets) error {
	var failure error
	f.client.CommitOffsetsSync(context.Background(), heads(offsets), whenDone(func(err error) { failure = err }))
	return failure
}

func (f *franz) CommitAsync(offsets shim.Offsets, done func(error)) {
	f.client.CommitOffsets(context.Background(), heads(offsets), whenDone(done))
}

func heads(offsets shim.Offsets) map[string]map[int32]kgo.EpochOffset {
	return shim.OffsetsByTopic[int32](offsets, func(offset int64) kgo.EpochOffset { return kgo.EpochOffset{Epoch: -1, Offset: offset} })
}

func whenDone(done func(error)) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		done(shim.ErrorIn(err, response))
	}
}

// Committed returns what the client knows of it: it has read what the group committed when it was assigned the partitions.
func (f *franz) Committed([]shim.Partition) (shim.Offsets, error) {
	return shim.OffsetsFrom(f.client.CommittedOffsets(), func(head kgo.EpochOffset) int64 { return head.Offset }), nil
}

func (f *franz) Resubscribe(topics []string) error {
	if f.hasLeft {
		return shim.Unimplemented("a client of franz-go joins its group once: what LeaveGroup has left, AddConsumeTopics does not join again")
	}
	f.client.AddConsumeTopics(topics...)
	isKept := func(topic string) bool { return slices.Contains(topics, topic) }
	f.client.PurgeTopicsFromConsuming(slices.DeleteFunc(slices.Clone(f.topics), isKept)...)
	f.topics = topics
	return nil
}

// Unsubscribe leaves the group for good: a client of franz-go joins it once.
func (f *franz) Unsubscribe(leave *bool) error {
	if err := f.CheckLeave(leave); err != nil {
		return err
	}
	f.hasLeft = true
	return f.client.LeaveGroupContext(context.Background())
}

func (f *franz) Close() error {
	f.client.CloseAllowingRebalance()
	return nil
}
