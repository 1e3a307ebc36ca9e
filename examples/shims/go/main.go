// A shim of level 1 around franz-go: commands on stdin, events and answers on stdout, one JSON object a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type object = map[string]any

var balancers = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
	"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

type shim struct {
	mutex     sync.Mutex
	client    *kgo.Client
	assigned  map[string]map[int32]bool
	positions map[string]map[int32]int64
	isPaused  bool
	pollFor   time.Duration
	handleFor time.Duration
}

// What an application may be told in one line, and more than bufio.Scanner takes by itself (64 KiB).
const lineBytesMax = 1 << 20

func (s *shim) write(line object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	text, _ := json.Marshal(line)
	os.Stdout.Write(append(text, '\n'))
}

func (s *shim) answer(command object, fields object) {
	fields["id"] = command["id"]
	s.write(fields)
}

// An error bears Kafka's name where the client's error has one.
func (s *shim) refuse(command object, err error) {
	s.answer(command, object{"error": nameOf(err), "message": err.Error(), "fatal": false})
}

func nameOf(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return "CLIENT_ERROR"
}

// The callbacks: what is told is flushed before the callback returns; work is what the application does in it.
func (s *shim) callback(name string, partitions map[string][]int32, work func()) {
	listed := []object{}
	s.mutex.Lock()
	for topic, numbers := range partitions {
		if s.assigned[topic] == nil {
			s.assigned[topic], s.positions[topic] = map[int32]bool{}, map[int32]int64{}
		}
		for _, number := range numbers {
			listed = append(listed, object{"topic": topic, "partition": number})
			if name == "partitions_assigned" {
				s.assigned[topic][number] = true
			} else {
				delete(s.assigned[topic], number)
				delete(s.positions[topic], number)
			}
		}
	}
	s.mutex.Unlock()
	s.write(object{"name": name, "partitions": listed})
	work()
	s.write(object{"name": "callback_done"})
}

func nothing() {}

func (s *shim) subscribe(command object) {
	taken := map[string]bool{"id": true, "command": true, "protocol": true, "broker_release": true} // the client asks its brokers for their versions
	take := func(name string) any { taken[name] = true; return command[name] }
	millis := func(name string) time.Duration {
		number, _ := take(name).(float64)
		return time.Duration(number) * time.Millisecond
	}
	s.pollFor, s.handleFor = millis("poll_timeout_ms"), millis("handler_delay_ms")
	commits := take("auto_commit") == true
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(take("bootstrap").(string), ",")...),
		kgo.ConsumerGroup(take("group").(string)),
		kgo.ConsumeTopics(strings_(take("topics"))...),
		kgo.ClientID(take("client_id").(string)),
		kgo.SessionTimeout(millis("session_timeout_ms")),
		kgo.HeartbeatInterval(millis("heartbeat_interval_ms")),
		kgo.RebalanceTimeout(millis("max_poll_interval_ms")),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, p map[string][]int32) {
			s.callback("partitions_assigned", p, nothing)
		}),
		// A callback of one's own replaces the client's, which commits what was consumed: so this one has to.
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, p map[string][]int32) {
			s.callback("partitions_revoked", p, func() {
				if commits {
					client.CommitUncommittedOffsets(ctx)
				}
			})
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, p map[string][]int32) {
			s.callback("partitions_lost", p, nothing)
		}),
	}
	chosen := []kgo.GroupBalancer{}
	for _, name := range strings_(take("assignors")) {
		chosen = append(chosen, balancers[name])
	}
	options = append(options, kgo.Balancers(chosen...))
	if id, given := take("instance_id").(string); given {
		options = append(options, kgo.InstanceID(id))
	}
	if take("auto_offset_reset") == "latest" {
		options = append(options, kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	}
	if age := millis("metadata_max_age_ms"); age > 0 {
		options = append(options, kgo.MetadataMaxAge(age), kgo.MetadataMinAge(min(age, 100*time.Millisecond)))
	}
	if timeout := millis("request_timeout_ms"); timeout > 0 {
		options = append(options, kgo.RequestTimeoutOverhead(timeout))
	}
	if interval := millis("auto_commit_interval_ms"); !commits {
		options = append(options, kgo.DisableAutoCommit())
	} else if interval > 0 {
		options = append(options, kgo.AutoCommitInterval(interval))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		s.refuse(command, err)
		return
	}
	s.client = client
	ignored := []string{}
	for name, value := range command {
		if !taken[name] && value != nil {
			ignored = append(ignored, name)
		}
	}
	s.write(object{"name": "startup_complete"})
	s.answer(command, object{"ok": true, "ignored": ignored})
}

func strings_(list any) []string {
	found := []string{}
	for _, each := range list.([]any) {
		found = append(found, each.(string))
	}
	return found
}

func (s *shim) poll() {
	ctx, cancel := context.WithTimeout(context.Background(), s.pollFor)
	defer cancel()
	fetches := s.client.PollFetches(ctx)
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			s.write(object{"name": "error", "error": nameOf(err), "message": err.Error(), "fatal": false})
		}
	})
	parts := []object{}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if count := len(p.Records); count > 0 {
			least, greatest := p.Records[0].Offset, p.Records[count-1].Offset
			s.mutex.Lock()
			s.positions[p.Topic][p.Partition] = greatest + 1
			s.mutex.Unlock()
			parts = append(parts, object{"topic": p.Topic, "partition": p.Partition, "minOffset": least, "maxOffset": greatest, "count": count})
		}
	})
	if len(parts) > 0 {
		s.write(object{"name": "records_consumed", "count": fetches.NumRecords(), "partitions": parts})
		time.Sleep(s.handleFor) // handler_delay_ms: the application is slow
	}
}

// Commit the offsets of the command, else the positions.
func (s *shim) commit(command object) {
	if command["mode"] != "sync" {
		s.answer(command, object{"unimplemented": "this shim commits synchronously only"})
		return
	}
	offsets, told := map[string]map[int32]kgo.EpochOffset{}, []object{}
	for _, each := range s.offsets(command["offsets"], s.position) {
		topic, number, offset := each[0].(string), each[1].(int32), each[2].(int64)
		if offsets[topic] == nil {
			offsets[topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[topic][number] = kgo.EpochOffset{Epoch: -1, Offset: offset}
		told = append(told, object{"topic": topic, "partition": number, "offset": offset})
	}
	var failure error
	s.client.CommitOffsetsSync(context.Background(), offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		failure = err
		if response != nil {
			for _, topic := range response.Topics {
				for _, partition := range topic.Partitions {
					failure = errors.Join(failure, kerr.ErrorForCode(partition.ErrorCode))
				}
			}
		}
	})
	if failure != nil {
		s.write(object{"name": "offsets_committed", "success": false, "error": nameOf(failure), "offsets": told})
		s.refuse(command, failure)
		return
	}
	s.write(object{"name": "offsets_committed", "success": true, "offsets": told})
	s.answer(command, object{"ok": true, "offsets": s.offsets(command["offsets"], s.position)})
}

// List [topic, partition, offset] of those asked for, else of the assignment; the offset is `of` it where the command has none.
func (s *shim) offsets(asked any, of func(string, int32) int64) [][3]any {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := [][3]any{}
	if lists, given := asked.([]any); given {
		for _, each := range lists {
			list := each.([]any)
			topic, number := list[0].(string), int32(list[1].(float64))
			if len(list) == 3 {
				found = append(found, [3]any{topic, number, int64(list[2].(float64))})
			} else {
				found = append(found, [3]any{topic, number, of(topic, number)})
			}
		}
		return found
	}
	for topic, numbers := range s.assigned {
		for number := range numbers {
			found = append(found, [3]any{topic, number, of(topic, number)})
		}
	}
	return found
}

func (s *shim) position(topic string, number int32) int64 {
	if known, is := s.positions[topic][number]; is {
		return known
	}
	return s.committed(topic, number)
}

func (s *shim) committed(topic string, number int32) int64 {
	if known, is := s.client.CommittedOffsets()[topic][number]; is {
		return known.Offset
	}
	return -1
}

func (s *shim) close() {
	if s.client != nil {
		s.client.CloseAllowingRebalance()
	}
	s.write(object{"name": "shutdown_complete"})
}

// Carry a command out; tell whether it was the last one.
func (s *shim) handle(command object) bool {
	name := command["command"]
	switch {
	case name == "exit":
		s.close()
		s.answer(command, object{"ok": true})
		return true
	case name == "subscribe":
		s.subscribe(command)
	case s.client == nil && (name == "assignment" || name == "position" || name == "committed" || name == "commit" || name == "close"):
		s.answer(command, object{"error": "ILLEGAL_STATE", "message": "not subscribed", "fatal": false})
	case name == "pause" || name == "resume":
		s.isPaused = name == "pause"
		s.answer(command, object{"ok": true})
	case name == "commit":
		s.commit(command)
	case name == "assignment":
		partitions := []object{}
		for _, each := range s.offsets(nil, func(string, int32) int64 { return 0 }) {
			partitions = append(partitions, object{"topic": each[0], "partition": each[1]})
		}
		s.answer(command, object{"ok": true, "partitions": partitions})
	case name == "position":
		s.answer(command, object{"ok": true, "offsets": s.offsets(command["partitions"], s.position)})
	case name == "committed":
		s.answer(command, object{"ok": true, "offsets": s.offsets(command["partitions"], s.committed)})
	case name == "close" && command["leave"] == nil:
		s.close()
		s.answer(command, object{"ok": true})
		return true
	default:
		s.answer(command, object{"unimplemented": "not in this shim"})
	}
	return false
}

// The release that this program was built with.
func release() string {
	if info, is := debug.ReadBuildInfo(); is {
		for _, module := range info.Deps {
			if module.Path == "github.com/twmb/franz-go" {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}

func main() {
	s := &shim{assigned: map[string]map[int32]bool{}, positions: map[string]map[int32]int64{}, pollFor: 100 * time.Millisecond}
	s.write(object{"name": "hello", "contract": 1, "client": "franz-go", "version": release(), "language": "go",
		"capabilities": []string{"classic", "commit", "auto-commit", "pause", "static", "cooperative"}})
	commands := make(chan object)
	go func() {
		defer close(commands)
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, lineBytesMax)
		for lines.Scan() {
			command := object{}
			if json.Unmarshal(lines.Bytes(), &command) == nil {
				commands <- command
			}
		}
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	ready := make(chan struct{})
	close(ready)
	for {
		poll := ready
		if s.client == nil || s.isPaused {
			poll = nil // which is never ready
		}
		select {
		case <-poll:
			s.poll()
		case command, isOpen := <-commands:
			if isOpen && !s.handle(command) {
				continue
			} else if !isOpen { // the end of stdin means close
				s.close()
			}
			return
		case <-stop:
			s.close()
			return
		}
	}
}
