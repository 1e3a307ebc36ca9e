package shim

import (
	"encoding/json"
	"sort"
	"strings"
	"time"
)

// Subscribe is the fields of that command. What a client takes none of is listed as `ignored` in the answer.
type Subscribe struct {
	fields map[string]json.RawMessage
	taken  map[string]bool
}

func newSubscribe(command map[string]json.RawMessage) *Subscribe {
	fields := map[string]json.RawMessage{}
	for name, value := range command {
		if name != "id" && name != "command" && string(value) != "null" {
			fields[name] = value
		}
	}
	return &Subscribe{fields: fields, taken: map[string]bool{}}
}

// Has returns whether a field was given.
func (s *Subscribe) Has(name string) bool { return s.fields[name] != nil }

// Text takes a field that is a text; "" where it is not given.
func (s *Subscribe) Text(name string) string { return take[string](s, name) }

// Texts takes a field that is a list of texts.
func (s *Subscribe) Texts(name string) []string { return take[[]string](s, name) }

// Flag takes a field that is true or false.
func (s *Subscribe) Flag(name string) bool { return take[bool](s, name) }

// Millis takes a field that is a time in milliseconds; 0 where it is not given.
func (s *Subscribe) Millis(name string) time.Duration {
	return time.Duration(take[int64](s, name)) * time.Millisecond
}

// Brokers takes the addresses of `bootstrap`.
func (s *Subscribe) Brokers() []string { return strings.Split(s.Text("bootstrap"), ",") }

// Properties takes `properties`, the client's own names and values, each value as a text.
func (s *Subscribe) Properties() map[string]string {
	found := map[string]string{}
	for name, value := range take[map[string]json.RawMessage](s, "properties") {
		found[name] = asText(value)
	}
	return found
}

// Ignore lists a field as ignored although it was looked at: the client cannot have it so.
func (s *Subscribe) Ignore(names ...string) {
	for _, name := range names {
		delete(s.taken, name)
	}
}

// Ignored returns the fields that nobody took.
func (s *Subscribe) Ignored() []string {
	ignored := []string{}
	for name := range s.fields {
		if !s.taken[name] {
			ignored = append(ignored, name)
		}
	}
	sort.Strings(ignored)
	return ignored
}

func take[T any](s *Subscribe, name string) T {
	var value T
	s.taken[name] = true
	if text, given := s.fields[name]; given {
		if err := json.Unmarshal(text, &value); err != nil {
			s.taken[name] = false // it is no value of this field
		}
	}
	return value
}
