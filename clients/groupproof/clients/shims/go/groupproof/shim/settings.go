package shim

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"time"
)

// Settings says what fields of `subscribe` set: a pointer to a setting of the client's, or a function that is called with the value. A
// function that returns false leaves the field ignored, as those of Pick and Parse do; with one that returns an error, such as those of One
// and Each, the command ends as with Must.
//
// A pointer, or a function's parameter, is a string, a bool, a time.Duration, an int, or a []string, as the field is.
type Settings map[string]any

// Set takes those of the fields that the command names. What it does not name keeps the client's own default.
func (s *Subscribe) Set(settings Settings) {
	for _, name := range sortedNames(settings) {
		s.set(name, reflect.ValueOf(settings[name]))
	}
}

// Options returns a client's options for those of the fields that the command names: each field has a function that makes one, or nil.
func Options[O any](s *Subscribe, settings Settings) []O {
	made := []O{}
	for _, name := range sortedNames(settings) {
		makes := reflect.ValueOf(settings[name])
		if value, given := s.valueFor(name, makes.Type().In(0)); given {
			if option, is := call(makes, value)[0].Interface().(O); is {
				made = append(made, option)
			}
		}
	}
	return made
}

// Config returns the fields that the command names as texts under the client's own names, such as those of Librdkafka.
func (s *Subscribe) Config(names map[string]string) map[string]string {
	made := map[string]string{}
	for field, name := range names {
		if s.Has(field) {
			made[name] = s.text(field)
		}
	}
	return made
}

// Librdkafka is what librdkafka, and each binding of it, calls the fields.
var Librdkafka = map[string]string{
	"bootstrap": "bootstrap.servers", "group": "group.id", "client_id": "client.id", "instance_id": "group.instance.id",
	"session_timeout_ms": "session.timeout.ms", "heartbeat_interval_ms": "heartbeat.interval.ms", "max_poll_interval_ms": "max.poll.interval.ms",
	"auto_commit": "enable.auto.commit", "auto_commit_interval_ms": "auto.commit.interval.ms", "auto_offset_reset": "auto.offset.reset",
	"metadata_max_age_ms": "topic.metadata.refresh.interval.ms", "request_timeout_ms": "socket.timeout.ms",
	"retry_backoff_ms": "retry.backoff.ms", "reconnect_backoff_ms": "reconnect.backoff.ms",
}

// Pick sets what the client has under the field's value; a value that it has not is ignored.
func Pick[T any](target *T, has map[string]T) func(string) bool {
	return func(name string) bool {
		value, is := has[name]
		if is {
			*target = value
		}
		return is
	}
}

// Parse sets what a function of the client's reads out of the field's value; a value that it refuses is ignored.
func Parse[T any](target *T, parse func(string) (T, error)) func(string) bool {
	return func(text string) bool {
		value, err := parse(text)
		if err == nil {
			*target = value
		}
		return err == nil
	}
}

// Each sets what the client has under all the names of a field, such as `assignors`; one that it lacks is Unimplemented.
func Each[T any](target *[]T, has map[string]T) func([]string) error {
	return func(names []string) (err error) {
		*target, err = Choose("value", names, has)
		return err
	}
}

// One does so for a client that takes one alone: more than one is Unimplemented too.
func One[T any](target *T, has map[string]T) func([]string) error {
	return func(names []string) error {
		chosen, err := Choose("value", names, has)
		if err == nil && len(chosen) != 1 {
			err = Unimplemented(fmt.Sprintf("this client takes one of %s", strings.Join(names, ", ")))
		}
		if err == nil {
			*target = chosen[0]
		}
		return err
	}
}

func (s *Subscribe) set(name string, target reflect.Value) {
	if target.Kind() == reflect.Pointer {
		if value, given := s.valueFor(name, target.Type().Elem()); given {
			target.Elem().Set(value)
		}
		return
	}
	value, given := s.valueFor(name, target.Type().In(0))
	if !given {
		return
	}
	for _, result := range call(target, value) {
		switch result := result.Interface().(type) {
		case bool:
			s.taken[name] = result
		case error:
			Check(result)
		}
	}
}

func call(function, value reflect.Value) []reflect.Value {
	if function.Type().IsVariadic() {
		return function.CallSlice([]reflect.Value{value})
	}
	return function.Call([]reflect.Value{value})
}

// valueFor takes a field as a value of this type; it is not given where the command does not name it, or has another type there.
func (s *Subscribe) valueFor(name string, kind reflect.Type) (value reflect.Value, given bool) {
	s.taken[name] = s.Has(name)
	switch {
	case !s.Has(name):
		return value, false
	case kind == reflect.TypeFor[time.Duration]():
		value = reflect.ValueOf(s.Millis(name))
	case kind == reflect.TypeFor[[]string]() && name == "bootstrap":
		value = reflect.ValueOf(s.Brokers())
	default:
		made := reflect.New(kind)
		s.taken[name] = json.Unmarshal(s.fields[name], made.Interface()) == nil
		value = made.Elem()
	}
	return value, s.taken[name]
}

func sortedNames(settings Settings) []string {
	names := []string{}
	for name := range settings {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// text takes a field of whichever type as a text.
func (s *Subscribe) text(name string) string {
	s.taken[name] = true
	return asText(s.fields[name])
}

func asText(value json.RawMessage) string {
	text := ""
	if json.Unmarshal(value, &text) != nil {
		text = strings.TrimSpace(string(value))
	}
	return text
}
