package shim

import (
	"context"
	"sync"
	"time"
)

// Member is the application beside its client: what it owns, how far it has read, and the events that it writes.
type Member struct {
	// Gate is shut while the application is paused.
	Gate Gate
	// Fields is what `subscribe` asked for.
	Fields *Subscribe

	out    *lines
	hello  Hello
	plan   plan
	ctx    context.Context
	cancel context.CancelFunc

	mutex     sync.Mutex
	owned     map[Partition]bool
	positions Offsets
	assigned  chan struct{} // closed by the next Assigned
	overtakes time.Duration // how long a record may overtake the news that its partition was assigned
	backsOff  time.Duration // between an error of the client's and the next call
	strangers map[Partition]bool
}

const (
	overtakesMax = time.Second // of a client that has a channel for records and another for its rebalances
	afterAnError = 100 * time.Millisecond
)

// plan is what `subscribe` asks of the application itself.
type plan struct {
	isStatic                  bool
	pollTimeout, handlerDelay time.Duration
	onRevoked                 struct {
		SleepMs int64 `json:"sleep_ms"`
		Commit  bool  `json:"commit"`
	}
}

func newMember(out *lines, hello Hello) *Member {
	ctx, cancel := context.WithCancel(context.Background())
	return &Member{
		out: out, hello: hello, ctx: ctx, cancel: cancel, owned: map[Partition]bool{}, positions: Offsets{},
		assigned: make(chan struct{}), overtakes: overtakesMax, backsOff: afterAnError, strangers: map[Partition]bool{},
	}
}

// Assigned reports the application's callback: these partitions are its own from now on. The generation is for a client that tells it.
func (m *Member) Assigned(partitions []Partition, generation ...Generation) {
	m.mutex.Lock()
	for _, partition := range partitions {
		m.owned[partition] = true
	}
	m.mutex.Unlock()
	m.callback("partitions_assigned", partitions, generation...)
	m.write(Object{"name": "callback_done"})
	m.mutex.Lock()
	defer m.mutex.Unlock()
	close(m.assigned)
	m.assigned = make(chan struct{})
	clear(m.strangers)
}

// Revoked reports that the application gives partitions back, and does in that callback what `on_revoked` asks, by commit. Finally is the
// author's own part of the callback; it may be nil.
func (m *Member) Revoked(partitions []Partition, generation Generation, commit func(Offsets) error, finally func()) {
	m.callback("partitions_revoked", partitions, generation)
	time.Sleep(time.Duration(m.plan.onRevoked.SleepMs) * time.Millisecond)
	if offsets := m.positionsOf(partitions); m.plan.onRevoked.Commit && len(offsets) > 0 {
		m.Committed(offsets, caught(func() error { return commit(offsets) }))
	}
	if finally != nil {
		finally()
	}
	m.forget(partitions)
	m.write(Object{"name": "callback_done"})
}

// Lost reports that partitions are somebody else's by now.
func (m *Member) Lost(partitions []Partition, generation ...Generation) {
	m.callback("partitions_lost", partitions, generation...)
	m.forget(partitions)
	m.write(Object{"name": "callback_done"})
}

// Consumed reports records that a poll returned, or a handler has been through the gate with, and takes as long for them as
// `handler_delay_ms` says. Of none it says nothing.
func (m *Member) Consumed(records Batch) {
	if len(records.ranges) == 0 {
		return
	}
	made := []Object{}
	m.mutex.Lock()
	for _, each := range records.ranges {
		if m.owned[each.Partition] {
			m.positions[each.Partition] = each.greatest + 1
		}
		made = append(made, Object{"topic": each.Topic, "partition": each.Number, "minOffset": each.least, "maxOffset": each.greatest, "count": each.count})
	}
	m.mutex.Unlock()
	m.write(Object{"name": "records_consumed", "count": records.Count(), "partitions": made})
	m.Sleep(m.plan.handlerDelay)
}

// Handle is what the handler of a client that pushes calls with a record: it waits while the application is paused, and reports the record.
// A record that overtakes the news of its partition waits for Assigned. Handle returns false where done was first (nil is that of Context):
// then the record was never the application's.
func (m *Member) Handle(done <-chan struct{}, topic string, partition int32, offset int64) bool {
	if done == nil {
		done = m.ctx.Done()
	}
	var record Batch
	record.Add(topic, partition, offset)
	return m.awaitAssigned(done, Partition{topic, partition}) && m.Gate.Pass(done, func() { m.Consumed(record) })
}

// awaitAssigned waits until the partition is the application's, and returns false where done was first. It does not wait for ever: a
// record of a partition that the client never assigned, or took away, is reported as it came.
func (m *Member) awaitAssigned(done <-chan struct{}, partition Partition) bool {
	late := time.NewTimer(m.overtakes)
	defer late.Stop()
	for news := m.newsOf(partition); news != nil; news = m.newsOf(partition) {
		select {
		case <-news:
		case <-late.C:
			m.mutex.Lock()
			m.strangers[partition] = true
			m.mutex.Unlock()
		case <-done:
			return false
		}
	}
	return true
}

// newsOf returns what is closed with the next assignment, or nil where nothing has to be waited for.
func (m *Member) newsOf(partition Partition) <-chan struct{} {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.owned[partition] || m.strangers[partition] {
		return nil
	}
	return m.assigned
}

// Committed reports how a commit went, or that the client does not let its application know. The library calls it for commands; an author
// does for commits that the client makes by itself, where the client reports them.
func (m *Member) Committed(offsets Offsets, err error) {
	line := Object{"name": "offsets_committed", "offsets": offsetObjects(offsets)}
	switch {
	case err == ErrOutcomeUnknown:
		line["outcome"] = "unknown"
	case err != nil:
		name, _ := m.hello.nameOf(err)
		line["success"], line["error"], line["message"] = false, name, err.Error()
	default:
		line["success"] = true
	}
	m.write(line)
}

// Problem reports an error that the client handed to its application without being asked.
func (m *Member) Problem(err error) {
	name, isFatal := m.hello.nameOf(err)
	m.write(Object{"name": "error", "error": name, "message": err.Error(), "fatal": isFatal})
}

// Problems reports what comes by a channel of errors, until that is closed; it is for a goroutine of its own.
func Problems[E error](m *Member, from <-chan E) {
	for err := range from {
		m.Problem(err)
	}
}

// Owned returns the partitions of the application, in order.
func (m *Member) Owned() []Partition {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return sortedPartitions(m.owned)
}

// Own returns those of the partitions that are the application's.
func (m *Member) Own(partitions []Partition) []Partition {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	own := []Partition{}
	for _, each := range partitions {
		if m.owned[each] {
			own = append(own, each)
		}
	}
	return own
}

// Positions returns how far the application has read what it owns, where it has read anything.
func (m *Member) Positions() Offsets { return m.positionsOf(m.Owned()) }

// Context ends when the member begins to close.
func (m *Member) Context() context.Context { return m.ctx }

// Sleep takes this long, or until the member closes.
func (m *Member) Sleep(long time.Duration) {
	if long <= 0 {
		return
	}
	select {
	case <-time.After(long):
	case <-m.ctx.Done():
	}
}

// CheckLeave refuses what a client without a choice would not do: a dynamic member leaves, a static one stays.
func (m *Member) CheckLeave(leave *bool) error {
	if leave != nil && *leave == m.plan.isStatic {
		return Unimplemented("this client leaves its group as a dynamic member, and stays as a static one")
	}
	return nil
}

func (m *Member) write(line Object) { m.out.write(line) }

func (m *Member) positionsOf(partitions []Partition) Offsets {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	found := Offsets{}
	for _, each := range partitions {
		if position, known := m.positions[each]; known {
			found[each] = position
		}
	}
	return found
}

func (m *Member) forget(partitions []Partition) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, each := range partitions {
		delete(m.owned, each)
		delete(m.positions, each)
	}
}

func (m *Member) callback(name string, partitions []Partition, generation ...Generation) {
	line := Object{"name": name, "partitions": partitionObjects(partitions)}
	for _, now := range generation {
		if now.MemberID != "" {
			line["member_id"], line["generation"] = now.MemberID, now.Number
		}
	}
	m.write(line)
}
