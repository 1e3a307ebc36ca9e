package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

func commanded(t *testing.T, text string) *Subscribe {
	t.Helper()
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return newSubscribe(fields)
}

func TestOnlyWhatTheCommandNamesIsSet(t *testing.T) {
	s := commanded(t, `{"group":"g","bootstrap":"a:1,b:2","topics":["x"],"session_timeout_ms":6000,"auto_commit":true,"fetch_max":7,"rack":"r","instance_id":null}`)
	group, instance, session, beat, commits, most := "", "mine", time.Hour, time.Minute, false, int32(0)
	var brokers, topics []string
	rack := ""
	s.Set(Settings{
		"group": &group, "instance_id": &instance, "session_timeout_ms": &session, "heartbeat_interval_ms": &beat, "auto_commit": &commits,
		"fetch_max": &most, "bootstrap": &brokers, "topics": &topics, "rack": func(name string) { rack = name + "!" },
	})
	if group != "g" || session != 6*time.Second || !commits || most != 7 || text(brokers) != `["a:1","b:2"]` || text(topics) != `["x"]` || rack != "r!" {
		t.Error(group, session, commits, most, brokers, topics, rack)
	}
	if instance != "mine" || beat != time.Minute {
		t.Error("the command does not name them:", instance, beat)
	}
	if got := s.Ignored(); len(got) > 0 {
		t.Error("ignored is", got)
	}
}

func TestWhatASettingCannotBeIsIgnored(t *testing.T) {
	s := commanded(t, `{"group":7,"auto_offset_reset":"none","broker_release":"new","release":"3","session_timeout_ms":"long"}`)
	group, start, release, session := "default", 1, 0, time.Hour
	s.Set(Settings{
		"group": &group, "session_timeout_ms": &session, "broker_release": Parse(&release, strconv.Atoi), "release": Parse(&release, strconv.Atoi),
		"auto_offset_reset": Pick(&start, map[string]int{"earliest": 2}),
	})
	if got := text(s.Ignored()); got != `["auto_offset_reset","broker_release","group","session_timeout_ms"]` {
		t.Error("ignored is", got)
	}
	if group != "default" || start != 1 || release != 3 || session != time.Hour {
		t.Error("a default was lost:", group, start, release, session)
	}
}

func TestAValueIsPickedByItsName(t *testing.T) {
	s, start := commanded(t, `{"auto_offset_reset":"latest"}`), 1
	s.Set(Settings{"auto_offset_reset": Pick(&start, map[string]int{"latest": 2})})
	if start != 2 || len(s.Ignored()) > 0 {
		t.Error(start, s.Ignored())
	}
}

func TestAssignorsAreThoseThatTheClientHas(t *testing.T) {
	has := map[string]int{"range": 1, "sticky": 2}
	for assignors, want := range map[string]string{
		`["sticky","range"]`: `all [2,1] <nil>, one 0 this client takes one of sticky, range`,
		`["range"]`:          `all [1] <nil>, one 1 <nil>`,
		`["best"]`:           `all null this client has no value "best", one 0 this client has no value "best"`,
	} {
		s, all, one := commanded(t, `{"assignors":`+assignors+`}`), []int(nil), 0
		set := func(settings Settings) error {
			return caught(func() error {
				s.Set(settings)
				return nil
			})
		}
		ofAll, ofOne := set(Settings{"assignors": Each(&all, has)}), set(Settings{"assignors": One(&one, has)})
		if got := fmt.Sprintf("all %s %v, one %d %v", text(all), ofAll, one, ofOne); got != want {
			t.Error(assignors, "gives", got)
		}
		if ofOne != nil && !isUnimplemented(ofOne) {
			t.Error("what a client lacks is unimplemented, not refused")
		}
	}
}

func TestOptionsAreMadeOfWhatTheCommandNames(t *testing.T) {
	s := commanded(t, `{"group":"g","topics":["x","y"],"bootstrap":"a:1,b:2","session_timeout_ms":6000,"auto_commit":"perhaps","rack":"r"}`)
	made := Options[error](s, Settings{
		"group":              func(group string) error { return errors.New("group " + group) },
		"instance_id":        func(string) error { panic("nobody named it") },
		"auto_commit":        func(bool) error { panic("it is no flag") },
		"rack":               func(string) error { return nil },
		"topics":             func(topics ...string) error { return errors.New("topics " + strings.Join(topics, "+")) },
		"bootstrap":          func(brokers ...string) error { return errors.New("at " + strings.Join(brokers, "+")) },
		"session_timeout_ms": func(session time.Duration) error { return errors.New("session " + session.String()) },
	})
	if got := errors.Join(made...).Error(); got != "at a:1+b:2\ngroup g\nsession 6s\ntopics x+y" {
		t.Error(got)
	}
	if got := text(s.Ignored()); got != `["auto_commit"]` {
		t.Error("ignored is", got)
	}
}

func TestAConfigurationHasTheClientsNames(t *testing.T) {
	s := commanded(t, `{"group":"g","auto_commit":false,"session_timeout_ms":6000,"rack":"r"}`)
	if got := text(s.Config(Librdkafka)); got != `{"enable.auto.commit":"false","group.id":"g","session.timeout.ms":"6000"}` {
		t.Error(got)
	}
	if got := text(s.Ignored()); got != `["rack"]` {
		t.Error("ignored is", got)
	}
}
