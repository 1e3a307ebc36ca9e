// A shim of level 1 around franz-go (github.com/twmb/franz-go).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"groupproof/shims/shim"
)

var balancers = map[string]func() kgo.GroupBalancer{
	"range": kgo.RangeBalancer, "roundrobin": kgo.RoundRobinBalancer, "sticky": kgo.StickyBalancer, "cooperative-sticky": kgo.CooperativeStickyBalancer,
}

type franz struct {
	*shim.Member
	client   *kgo.Client
	topics   []string
	pollFor  time.Duration
	isStatic bool
	closed   chan struct{}
}

func main() {
	shim.Run(shim.Hello{
		Client: "franz-go", Module: "github.com/twmb/franz-go",
		Capabilities: []string{"classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked", "resubscribe"},
	}, func(m *shim.Member) shim.Client { return &franz{Member: m, closed: make(chan struct{})} })
}

func (f *franz) Subscribe(s *shim.Subscribe) error {
	f.topics, f.pollFor = s.Texts("topics"), s.Millis("poll_timeout_ms")
	options := []kgo.Opt{
		kgo.SeedBrokers(s.Brokers()...), kgo.ClientID(s.Text("client_id")),
		kgo.ConsumerGroup(s.Text("group")), kgo.ConsumeTopics(f.topics...),
		kgo.SessionTimeout(s.Millis("session_timeout_ms")), kgo.HeartbeatInterval(s.Millis("heartbeat_interval_ms")),
		// franz-go has no max.poll.interval.ms (twmb/franz-go#708); what it tells the coordinator is the rebalance timeout.
		kgo.RebalanceTimeout(s.Millis("max_poll_interval_ms")),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
	}
	s.Ignore("max_poll_interval_ms")
	chosen := []kgo.GroupBalancer{}
	for _, name := range s.Texts("assignors") {
		make, known := balancers[name]
		if !known {
			return shim.Unimplemented(fmt.Sprintf("franz-go has no assignor %q", name))
		}
		chosen = append(chosen, make())
	}
	options = append(options, kgo.Balancers(chosen...))
	if s.Has("instance_id") {
		f.isStatic = true
		options = append(options, kgo.InstanceID(s.Text("instance_id")))
	}
	switch s.Text("auto_offset_reset") {
	case "latest":
		options = append(options, kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	case "none":
		options = append(options, kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	}
	if age := s.Millis("metadata_max_age_ms"); age > 0 {
		options = append(options, kgo.MetadataMaxAge(age), kgo.MetadataMinAge(min(age, 100*time.Millisecond)))
	}
	if timeout := s.Millis("request_timeout_ms"); timeout > 0 {
		options = append(options, kgo.RequestTimeoutOverhead(timeout))
	}
	options = append(options, f.committing(s)...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return named(err)
	}
	f.client = client
	go f.Every(f.closed, f.pollFor, f.poll)
	return nil
}

// committing returns the callbacks. One that revokes replaces the client's own, so that it does what that does: a blocking commit (config.go, OnPartitionsRevoked).
func (f *franz) committing(s *shim.Subscribe) []kgo.Opt {
	isAutomatic, interval := s.Flag("auto_commit"), s.Millis("auto_commit_interval_ms")
	options := []kgo.Opt{
		kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, added map[string][]int32) {
			f.Assigned(shim.Partitions(added), generationOf(client))
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, revoked map[string][]int32) {
			commit := func() {
				if err := client.CommitUncommittedOffsets(ctx); err != nil {
					f.Problem(named(err))
				}
			}
			if !isAutomatic {
				commit = nil
			}
			// It is called at each session's end, with what was revoked already too.
			if own := f.own(revoked); len(own) > 0 {
				f.Revoked(own, generationOf(client), f.Commit, commit)
			}
		}),
		kgo.OnPartitionsLost(func(_ context.Context, client *kgo.Client, lost map[string][]int32) {
			if own := f.own(lost); len(own) > 0 {
				f.Lost(own, generationOf(client))
			}
		}),
	}
	if !isAutomatic {
		return append(options, kgo.DisableAutoCommit())
	}
	if interval > 0 {
		options = append(options, kgo.AutoCommitInterval(interval))
	}
	return options
}

func (f *franz) own(partitions map[string][]int32) []shim.Partition {
	own := []shim.Partition{}
	for _, each := range shim.Partitions(partitions) {
		if f.Owns(each) {
			own = append(own, each)
		}
	}
	return own
}

func generationOf(client *kgo.Client) shim.Generation {
	id, number := client.GroupMetadata()
	return shim.Generation{MemberID: id, Number: number}
}

func (f *franz) poll() error {
	ctx, cancel := context.WithTimeout(context.Background(), f.pollFor)
	defer cancel()
	fetches := f.client.PollFetches(ctx)
	if fetches.IsClientClosed() {
		return nil
	}
	var failure error
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			failure = errors.Join(failure, named(err))
		}
	})
	ranges := []shim.Range{}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if count := len(p.Records); count > 0 {
			partition := shim.Partition{Topic: p.Topic, Number: p.Partition}
			ranges = append(ranges, shim.Range{Partition: partition, Least: p.Records[0].Offset, Greatest: p.Records[count-1].Offset, Count: count})
		}
	})
	if len(ranges) > 0 {
		f.Consumed(ranges...)
	}
	return failure
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
	made := map[string]map[int32]kgo.EpochOffset{}
	for each, offset := range offsets {
		if made[each.Topic] == nil {
			made[each.Topic] = map[int32]kgo.EpochOffset{}
		}
		made[each.Topic][each.Number] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	return made
}

func whenDone(tell func(error)) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		if err == nil && response != nil {
			for _, topic := range response.Topics {
				for _, partition := range topic.Partitions {
					err = errors.Join(err, kerr.ErrorForCode(partition.ErrorCode))
				}
			}
		}
		if err != nil {
			err = named(err)
		}
		tell(err)
	}
}

// Committed returns what the client knows of it: it has read what the group committed when it was assigned the partitions.
func (f *franz) Committed(partitions []shim.Partition) (shim.Offsets, error) {
	found, known := shim.Offsets{}, f.client.CommittedOffsets()
	for _, each := range partitions {
		found[each] = -1
		if head, is := known[each.Topic][each.Number]; is {
			found[each] = head.Offset
		}
	}
	return found, nil
}

func (f *franz) Resubscribe(topics []string) error {
	f.client.AddConsumeTopics(topics...)
	f.client.PurgeTopicsFromConsuming(without(f.topics, topics)...)
	f.topics = topics
	return nil
}

// Unsubscribe leaves the group for good: a client of franz-go joins it once.
func (f *franz) Unsubscribe(leave *bool) error {
	if err := f.mayLeave(leave); err != nil {
		return err
	}
	if err := f.client.LeaveGroupContext(context.Background()); err != nil {
		return named(err)
	}
	return nil
}

func without(those, these []string) []string {
	left := []string{}
	for _, each := range those {
		isThere := false
		for _, other := range these {
			isThere = isThere || each == other
		}
		if !isThere {
			left = append(left, each)
		}
	}
	return left
}

// Close leaves the group, a static member's place excepted: so the client decides itself, and it can't be told otherwise.
func (f *franz) Close(leave *bool) error {
	if err := f.mayLeave(leave); err != nil {
		return err
	}
	close(f.closed)
	f.client.CloseAllowingRebalance()
	return nil
}

func (f *franz) mayLeave(leave *bool) error {
	if leave != nil && *leave == f.isStatic {
		return shim.Unimplemented("franz-go leaves the group as a dynamic member, and stays as a static one")
	}
	return nil
}

func named(err error) error {
	var known *kerr.Error
	if errors.As(err, &known) {
		return shim.Refusal{Name: known.Message, Message: err.Error()}
	}
	return err
}
