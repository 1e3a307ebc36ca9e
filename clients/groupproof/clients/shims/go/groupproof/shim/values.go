package shim

import (
	"fmt"
	"sort"
)

// Partition is one of a topic's.
type Partition struct {
	Topic  string
	Number int32
}

// Offsets are positions: the next record to read.
type Offsets map[Partition]int64

// Generation is a membership, where the client names it to its application.
type Generation struct {
	MemberID string
	Number   int32
}

// Batch is records that the application was given: of each partition the least and the greatest offset, and how many.
type Batch struct{ ranges []span }

type span struct {
	Partition
	least, greatest int64
	count           int
}

// Add counts one record.
func (b *Batch) Add(topic string, partition int32, offset int64) {
	of := Partition{topic, partition}
	for at := range b.ranges {
		if known := &b.ranges[at]; known.Partition == of {
			known.least, known.greatest, known.count = min(known.least, offset), max(known.greatest, offset), known.count+1
			return
		}
	}
	b.ranges = append(b.ranges, span{of, offset, offset, 1})
}

// Record returns the batch of one record, for a client whose poll returns one.
func Record[N int | int32](topic string, number N, offset int64) Batch {
	var one Batch
	one.Add(topic, int32(number), offset)
	return one
}

// Count returns how many records there are.
func (b *Batch) Count() int {
	count := 0
	for _, each := range b.ranges {
		count += each.count
	}
	return count
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

// ByTopic returns partitions as Go clients want them: the way back from Partitions.
func ByTopic[N int | int32](partitions []Partition) map[string][]N {
	made := map[string][]N{}
	for _, each := range partitions {
		made[each.Topic] = append(made[each.Topic], N(each.Number))
	}
	return made
}

// OffsetsByTopic returns offsets as Go clients want them: by topic and number, each as head makes it.
func OffsetsByTopic[N int | int32, V any](offsets Offsets, head func(int64) V) map[string]map[N]V {
	made := map[string]map[N]V{}
	for each, offset := range offsets {
		if made[each.Topic] == nil {
			made[each.Topic] = map[N]V{}
		}
		made[each.Topic][N(each.Number)] = head(offset)
	}
	return made
}

// OffsetsFrom returns what OffsetsByTopic was given: the way back.
func OffsetsFrom[N int | int32, V any](heads map[string]map[N]V, offset func(V) int64) Offsets {
	found := Offsets{}
	for topic, rows := range heads {
		for number, head := range rows {
			found[Partition{topic, int32(number)}] = offset(head)
		}
	}
	return found
}

// OffsetsOf returns the offsets in the rows of an answer: read returns those of a row, -1 where nothing is committed.
func OffsetsOf[R any](rows []R, read func(R) (topic string, partition int32, offset int64)) Offsets {
	found := Offsets{}
	for _, row := range rows {
		topic, number, offset := read(row)
		found[Partition{topic, number}] = offset
	}
	return found
}

// OffsetsUnder returns the offsets in an answer whose rows stand under their topics.
func OffsetsUnder[N int | int32, R any](topics map[string][]R, read func(R) (number N, offset int64)) Offsets {
	found := Offsets{}
	for topic, rows := range topics {
		for _, row := range rows {
			number, offset := read(row)
			found[Partition{topic, int32(number)}] = offset
		}
	}
	return found
}

// Choose returns what a client has under these names, such as its assignors; Unimplemented says which it lacks.
func Choose[T any](kind string, names []string, known map[string]T) ([]T, error) {
	chosen := []T{}
	for _, name := range names {
		found, is := known[name]
		if !is {
			return nil, Unimplemented(fmt.Sprintf("this client has no %s %q", kind, name))
		}
		chosen = append(chosen, found)
	}
	return chosen, nil
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

func partitionObjects(partitions []Partition) []Object {
	made := []Object{}
	for _, each := range partitions {
		made = append(made, Object{"topic": each.Topic, "partition": each.Number})
	}
	return made
}

func offsetObjects(offsets Offsets) []Object {
	made := []Object{}
	for _, each := range sortedPartitions(offsets) {
		made = append(made, Object{"topic": each.Topic, "partition": each.Number, "offset": offsets[each]})
	}
	return made
}

func offsetLists(offsets Offsets) [][]any {
	made := [][]any{}
	for _, each := range sortedPartitions(offsets) {
		made = append(made, []any{each.Topic, each.Number, offsets[each]})
	}
	return made
}
