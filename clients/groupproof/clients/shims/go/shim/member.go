package shim

import (
	"sort"
	"sync"
	"time"
)

// Partition is one of a topic's.
type Partition struct {
	Topic  string
	Number int32
}

// Offsets are positions: the next record to read.
type Offsets map[Partition]int64

// Range is what was consumed of a partition: its least and its greatest offset, and how many records.
type Range struct {
	Partition
	Least, Greatest int64
	Count           int
}

// Generation is a membership, where the client tells it to its application.
type Generation struct {
	MemberID string
	Number   int32
}

// Member is the application beside its client: what it owns, how far it has read, and the events that it tells.
type Member struct {
	*Lines
	Gate Gate

	mutex        sync.Mutex
	owned        map[Partition]bool
	positions    Offsets
	handlerDelay time.Duration
	onRevoked    struct {
		SleepMs int64 `json:"sleep_ms"`
		Commit  bool  `json:"commit"`
	}
}

// NewMember returns a member that tells its events by these lines.
func NewMember(lines *Lines) *Member {
	return &Member{Lines: lines, owned: map[Partition]bool{}, positions: Offsets{}}
}

// Assigned tells the application's callback: these partitions are its own from now on.
func (m *Member) Assigned(partitions []Partition, generation Generation) {
	m.mutex.Lock()
	for _, partition := range partitions {
		m.owned[partition] = true
	}
	m.mutex.Unlock()
	m.callback("partitions_assigned", partitions, generation)
	m.Write(Object{"name": "callback_done"})
}

// Revoked tells that the application gives partitions back, and does in that callback what `on_revoked` asks; finally is the author's own part of it.
func (m *Member) Revoked(partitions []Partition, generation Generation, commit func(Offsets) error, finally func()) {
	m.callback("partitions_revoked", partitions, generation)
	time.Sleep(time.Duration(m.onRevoked.SleepMs) * time.Millisecond)
	if offsets := m.consumedOf(partitions); m.onRevoked.Commit && len(offsets) > 0 {
		m.Committed(offsets, commit(offsets))
	}
	if finally != nil {
		finally()
	}
	m.forget(partitions)
	m.Write(Object{"name": "callback_done"})
}

// Lost tells that partitions are somebody else's by now.
func (m *Member) Lost(partitions []Partition, generation Generation) {
	m.callback("partitions_lost", partitions, generation)
	m.forget(partitions)
	m.Write(Object{"name": "callback_done"})
}

// Consumed tells records that the application was given, and takes as long for them as `handler_delay_ms` says.
func (m *Member) Consumed(ranges ...Range) {
	listed, count := []Object{}, 0
	m.mutex.Lock()
	for _, each := range ranges {
		if m.owned[each.Partition] {
			m.positions[each.Partition] = each.Greatest + 1
		}
		listed = append(listed, Object{"topic": each.Topic, "partition": each.Number, "minOffset": each.Least, "maxOffset": each.Greatest, "count": each.Count})
		count += each.Count
	}
	m.mutex.Unlock()
	m.Write(Object{"name": "records_consumed", "count": count, "partitions": listed})
	time.Sleep(m.handlerDelay)
}

// Committed tells how a commit went, or that the client does not tell it.
func (m *Member) Committed(offsets Offsets, err error) {
	listed := []Object{}
	for _, each := range sortedPartitions(offsets) {
		listed = append(listed, Object{"topic": each.Topic, "partition": each.Number, "offset": offsets[each]})
	}
	line := Object{"name": "offsets_committed", "offsets": listed}
	switch {
	case err == ErrOutcomeUnknown:
		line["outcome"] = "unknown"
	case err != nil:
		line["success"], line["error"] = false, nameOf(err)
	default:
		line["success"] = true
	}
	m.Write(line)
}

// Problem tells an error that the client handed to its application without being asked.
func (m *Member) Problem(err error) {
	m.Write(Object{"name": "error", "error": nameOf(err), "message": err.Error(), "fatal": isFatal(err)})
}

// Owned returns the partitions of the application, in order.
func (m *Member) Owned() []Partition {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return sortedPartitions(m.owned)
}

// Owns tells whether a partition is the application's.
func (m *Member) Owns(partition Partition) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.owned[partition]
}

// Positions returns how far the application has read what it owns, where it has read anything.
func (m *Member) Positions() Offsets { return m.consumedOf(m.Owned()) }

func (m *Member) consumedOf(partitions []Partition) Offsets {
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

func (m *Member) callback(name string, partitions []Partition, generation Generation) {
	line := Object{"name": name, "partitions": listed(partitions)}
	if generation.MemberID != "" {
		line["member_id"], line["generation"] = generation.MemberID, generation.Number
	}
	m.Write(line)
}

func listed(partitions []Partition) []Object {
	made := []Object{}
	for _, each := range partitions {
		made = append(made, Object{"topic": each.Topic, "partition": each.Number})
	}
	return made
}

// Partitions returns the partitions of a map from topics to numbers, which is how Go clients have them, in order.
func Partitions[N int | int32](of map[string][]N) []Partition {
	found := map[Partition]bool{}
	for topic, numbers := range of {
		for _, number := range numbers {
			found[Partition{topic, int32(number)}] = true
		}
	}
	return sortedPartitions(found)
}

func sortedPartitions[V any](of map[Partition]V) []Partition {
	found := []Partition{}
	for each := range of {
		found = append(found, each)
	}
	sort.Slice(found, func(i, j int) bool {
		return found[i].Topic < found[j].Topic || (found[i].Topic == found[j].Topic && found[i].Number < found[j].Number)
	})
	return found
}
