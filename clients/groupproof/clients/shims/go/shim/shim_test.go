package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fake is a client in memory: it owns partitions 0 and 1 of t, and fails or hangs as it is told.
type fake struct {
	*Member
	failure   error
	hangs     chan struct{}
	committed Offsets
	closes    int
}

func (f *fake) Subscribe(s *Subscribe) error {
	if f.failure != nil {
		return f.failure
	}
	s.Text("group")
	f.Assigned([]Partition{{"t", 0}, {"t", 1}}, Generation{"m-1", 3})
	f.Consumed(Range{Partition{"t", 0}, 0, 4, 5})
	return nil
}

func (f *fake) Commit(offsets Offsets) error {
	if f.hangs != nil {
		<-f.hangs
	}
	f.committed = offsets
	return f.failure
}

func (f *fake) Committed([]Partition) (Offsets, error) { return Offsets{{"t", 1}: -1}, f.failure }

func (f *fake) Close(leave *bool) error {
	if leave != nil && !*leave {
		return Unimplemented("it leaves")
	}
	f.closes++
	return nil
}

// told is what a shim prints; a test waits for a line of it.
type told struct {
	mutex sync.Mutex
	come  *sync.Cond
	text  bytes.Buffer
}

func newTold() *told {
	t := &told{}
	t.come = sync.NewCond(&t.mutex)
	return t
}

func (t *told) Write(text []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	defer t.come.Broadcast()
	return t.text.Write(text)
}

func (t *told) until(part string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for !strings.Contains(t.text.String(), part) {
		t.come.Wait()
	}
}

func (t *told) lines(test *testing.T) []Object {
	test.Helper()
	found := []Object{}
	for _, text := range strings.Split(strings.TrimSpace(t.text.String()), "\n") {
		line := Object{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			test.Fatalf("%q is no line: %v", text, err)
		}
		found = append(found, line)
	}
	return found
}

const subscribing = `{"id":1,"command":"subscribe","protocol":"classic","group":"g","client_id":"c","instance_id":null}` + "\n"

// played has a host read these lines to their end, and returns what it said.
func played(test *testing.T, client *fake, text string) []Object {
	test.Helper()
	out := newTold()
	h := newHost(NewLines(out), func(m *Member) Client {
		client.Member = m
		return client
	})
	// The end of stdin ends what is under way, so it comes after the last answer.
	in, feed := io.Pipe()
	done := make(chan struct{})
	go func() { h.serve(in, nil); close(done) }()
	for _, line := range strings.SplitAfter(strings.TrimSpace(text), "\n") {
		_, _ = io.WriteString(feed, strings.TrimSpace(line)+"\n")
		var command struct{ ID int }
		_ = json.Unmarshal([]byte(line), &command)
		out.until(fmt.Sprintf(`"id":%d`, command.ID))
	}
	feed.Close()
	<-done
	return out.lines(test)
}

func answerTo(test *testing.T, lines []Object, id int) Object {
	test.Helper()
	for _, line := range lines {
		if line["id"] == float64(id) {
			return line
		}
	}
	test.Fatalf("no answer to %d in %v", id, lines)
	return nil
}

func named(lines []Object) string {
	names := []string{}
	for _, line := range lines {
		if name, is := line["name"].(string); is {
			names = append(names, name)
		} else {
			names = append(names, fmt.Sprint(line["id"]))
		}
	}
	return strings.Join(names, " ")
}

func text(of any) string {
	made, _ := json.Marshal(of)
	return string(made)
}

func TestSubscribeIsAnsweredWithWhatNobodyTook(t *testing.T) {
	lines := played(t, &fake{}, subscribing)
	if got := text(answerTo(t, lines, 1)["ignored"]); got != `["client_id"]` {
		t.Error("ignored is", got)
	}
	if got := named(lines); got != "partitions_assigned callback_done records_consumed startup_complete 1 shutdown_complete" {
		t.Error(got)
	}
}

func TestACommitWithoutOffsetsIsOfWhatWasConsumed(t *testing.T) {
	client := &fake{}
	lines := played(t, client, subscribing+`{"id":2,"command":"commit","mode":"sync"}`)
	if client.committed[Partition{"t", 0}] != 5 || len(client.committed) != 1 {
		t.Error("committed", client.committed)
	}
	if got := text(answerTo(t, lines, 2)["offsets"]); got != `[["t",0,5]]` {
		t.Error(got)
	}
	if got := named(lines); !strings.HasSuffix(got, "offsets_committed 2 shutdown_complete") {
		t.Error("the event comes before the answer:", got)
	}
}

func TestARefusedCommitBearsItsName(t *testing.T) {
	client := &fake{}
	out := newTold()
	h := newHost(NewLines(out), func(m *Member) Client { client.Member = m; return client })
	h.isSubscribed, client.failure = true, fmt.Errorf("commit: %w", Coded(22, "passed"))
	h.handle(command{id: "7", name: "commit", fields: map[string]json.RawMessage{"mode": []byte(`"sync"`), "offsets": []byte(`[["t",1,9]]`)}})
	lines := out.lines(t)
	if lines[0]["success"] != false || lines[0]["error"] != "ILLEGAL_GENERATION" {
		t.Error("the event says", lines[0])
	}
	if lines[1]["error"] != "ILLEGAL_GENERATION" || lines[1]["fatal"] != false {
		t.Error("the answer says", lines[1])
	}
}

func TestAnOutcomeThatNobodyKnowsIsSaidToBeUnknown(t *testing.T) {
	client := &fake{}
	out := newTold()
	h := newHost(NewLines(out), func(m *Member) Client { client.Member = m; return client })
	h.isSubscribed, client.failure = true, ErrOutcomeUnknown
	h.handle(command{id: "7", name: "commit", fields: map[string]json.RawMessage{"mode": []byte(`"sync"`), "offsets": []byte(`[["t",1,9]]`)}})
	lines := out.lines(t)
	if _, told := lines[0]["success"]; told || lines[0]["outcome"] != "unknown" {
		t.Error("the event says", lines[0])
	}
	if lines[1]["outcome"] != "unknown" || lines[1]["ok"] != true {
		t.Error("the answer says", lines[1])
	}
}

func TestAPositionIsWhatWasReadElseWhatIsCommitted(t *testing.T) {
	lines := played(t, &fake{}, subscribing+`{"id":2,"command":"position"}`)
	if got := text(answerTo(t, lines, 2)["offsets"]); got != `[["t",0,5],["t",1,-1]]` {
		t.Error(got)
	}
}

func TestWhatAClientHasNotIsUnimplemented(t *testing.T) {
	lines := played(t, &fake{}, `{"id":9,"command":"position"}`+"\n"+subscribing+
		`{"id":2,"command":"resubscribe","topics":["u"]}`+"\n"+`{"id":3,"command":"unsubscribe"}`+"\n"+
		`{"id":4,"command":"frobnicate"}`+"\n"+`{"id":5,"command":"commit","mode":"async"}`+"\n"+`{"id":6,"command":"close","leave":false}`)
	for id := 2; id <= 6; id++ {
		if answerTo(t, lines, id)["unimplemented"] == nil {
			t.Error(answerTo(t, lines, id))
		}
	}
	if answerTo(t, lines, 9)["error"] != "ILLEGAL_STATE" {
		t.Error("nobody has subscribed yet:", answerTo(t, lines, 9))
	}
}

func TestAMemberClosesOnce(t *testing.T) {
	client := &fake{}
	lines := played(t, client, subscribing+`{"id":2,"command":"close"}`)
	if client.closes != 1 || strings.Count(named(lines), "shutdown_complete") != 1 {
		t.Error(client.closes, named(lines))
	}
}

func TestTheEndDoesNotWaitForACommitThatHangs(t *testing.T) {
	client := &fake{hangs: make(chan struct{})}
	stop := make(chan os.Signal, 1)
	out := newTold()
	h := newHost(NewLines(out), func(m *Member) Client { client.Member = m; return client })
	in, feed := io.Pipe()
	done := make(chan struct{})
	go func() { h.serve(in, stop); close(done) }()
	_, _ = io.WriteString(feed, subscribing+`{"id":2,"command":"commit","mode":"sync"}`+"\n")
	out.until(`"id":1`)
	stop <- syscall.SIGTERM
	<-done
	if got := named(out.lines(t)); !strings.HasSuffix(got, "shutdown_complete") {
		t.Error(got)
	}
	close(client.hangs)
}

func TestALineMayBeAsLongAsItLikes(t *testing.T) {
	lines := played(t, &fake{}, strings.Replace(subscribing, `"g"`, `"`+strings.Repeat("g", 1<<20)+`"`, 1))
	if answerTo(t, lines, 1)["ok"] != true {
		t.Error(lines)
	}
}

func TestNoiseIsNoCommand(t *testing.T) {
	out := newTold()
	h := newHost(NewLines(out), func(m *Member) Client { return &fake{Member: m} })
	h.serve(strings.NewReader("noise\n[1]\n{\"id\":1}\n"), nil)
	if got := named(out.lines(t)); got != "shutdown_complete" {
		t.Error(got)
	}
}

func TestAPausedApplicationWaitsAtTheGate(t *testing.T) {
	var gate Gate
	count := 0
	step := func() { count++ }
	if !gate.Pass(nil, step) || count != 1 {
		t.Error("an open gate holds nobody back")
	}
	gate.Shut()
	gate.Shut()
	if gate.Try(step) || count != 1 {
		t.Error("nothing is done behind a shut gate")
	}
	passed, done := make(chan bool), make(chan struct{})
	go func() { passed <- gate.Pass(nil, func() {}) }()
	go func() { passed <- gate.Pass(done, step) }()
	close(done)
	if <-passed {
		t.Error("done ends the wait, and the gate is shut")
	}
	gate.Open()
	gate.Open()
	if !<-passed || count != 1 {
		t.Error("an open gate lets those through who waited")
	}
}

func TestAGateThatIsShutWaitsForWhoIsInIt(t *testing.T) {
	var gate Gate
	entered, leave, isOut := make(chan struct{}), make(chan struct{}), false
	go gate.Try(func() { close(entered); <-leave; isOut = true })
	<-entered
	go close(leave)
	gate.Shut()
	if !isOut {
		t.Error("what was begun before the pause is told before it is answered")
	}
}

func TestARevocationDoesWhatItsPlanAsks(t *testing.T) {
	out, order := newTold(), []string{}
	m := NewMember(NewLines(out))
	m.onRevoked.Commit = true
	m.Assigned([]Partition{{"t", 0}, {"t", 1}}, Generation{})
	m.Consumed(Range{Partition{"t", 0}, 5, 6, 2})
	m.Revoked([]Partition{{"t", 0}}, Generation{"m-1", 4}, func(offsets Offsets) error {
		order = append(order, text(lists(offsets)))
		return errors.New("refused")
	}, func() { order = append(order, "the author's part") })
	if got := strings.Join(order, " then "); got != `[["t",0,7]] then the author's part` {
		t.Error(got)
	}
	if got := named(out.lines(t)[3:]); got != "partitions_revoked offsets_committed callback_done" {
		t.Error(got)
	}
	if m.Owns(Partition{"t", 0}) || !m.Owns(Partition{"t", 1}) || len(m.Positions()) != 0 {
		t.Error("it still owns", m.Owned(), "and has read", m.Positions())
	}
}

func TestALossForgetsWhatWasRead(t *testing.T) {
	m := NewMember(NewLines(io.Discard))
	m.Assigned([]Partition{{"t", 0}}, Generation{})
	m.Consumed(Range{Partition{"t", 0}, 0, 0, 1})
	m.Lost([]Partition{{"t", 0}}, Generation{})
	m.Consumed(Range{Partition{"t", 0}, 1, 1, 1})
	if len(m.Owned()) != 0 || len(m.Positions()) != 0 {
		t.Error("a record that comes late is of nothing owned:", m.Positions())
	}
}

func TestPollsGoOnAfterAnErrorUntilTheEnd(t *testing.T) {
	out := newTold()
	m, done, polls := NewMember(NewLines(out)), make(chan struct{}), 0
	m.Every(done, 0, func() error {
		if polls++; polls == 3 {
			close(done)
		}
		return Coded(29, "not yours")
	})
	if polls != 3 {
		t.Error("polls:", polls)
	}
	for _, line := range out.lines(t) {
		if line["error"] != "TOPIC_AUTHORIZATION_FAILED" {
			t.Error(line)
		}
	}
}

func TestAfterAFatalErrorAnApplicationPollsNoMoreUntilItIsResumed(t *testing.T) {
	out := newTold()
	m, done, ended, polls := NewMember(NewLines(out)), make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(ended)
		m.Every(done, 0, func() error {
			if polls++; polls == 2 {
				close(done)
			}
			return Refusal{Name: "FENCED_INSTANCE_ID", Message: "there is another", IsFatal: true}
		})
	}()
	for out.until(`"fatal":true`); m.Gate.Waiting() == nil; {
	}
	m.Gate.Open()
	<-ended
	if polls != 2 {
		t.Error("polls:", polls)
	}
	for _, line := range out.lines(t) {
		if line["fatal"] != true || line["error"] != "FENCED_INSTANCE_ID" {
			t.Error(line)
		}
	}
}

func TestErrorsBearKafkasNames(t *testing.T) {
	for code, name := range map[int16]string{25: "UNKNOWN_MEMBER_ID", -1: "UNKNOWN_SERVER_ERROR", 999: "CODE_999"} {
		if got := CodeName(code); got != name {
			t.Error(code, "is", got)
		}
	}
	if got := nameOf(errors.New("a socket")); got != "CLIENT_ERROR" {
		t.Error(got)
	}
}

func TestPartitionsOfBothKindsOfMapsComeInOrder(t *testing.T) {
	if got := text(lists(Offsets{{"t", 10}: 1, {"t", 9}: 2, {"s", 11}: 3})); got != `[["s",11,3],["t",9,2],["t",10,1]]` {
		t.Error(got)
	}
	if got := Partitions(map[string][]int{"t": {1, 0}}); len(got) != 2 || got[0] != (Partition{"t", 0}) {
		t.Error(got)
	}
}

func TestAReleaseIsWhatTheProgramWasBuiltWith(t *testing.T) {
	modules := []*debug.Module{
		{Path: "a", Version: "v1.2.3"},
		{Path: "b", Version: "v1.0.0", Replace: &debug.Module{Path: "c", Version: "v2.0.0"}},
		{Path: "d", Version: "v0.4.51", Replace: &debug.Module{Path: "/tmp/d", Version: "(devel)"}},
	}
	for module, release := range map[string]string{"a": "1.2.3", "b": "2.0.0", "d": "0.4.51+patched", "e": "unknown"} {
		if got := releaseIn(modules, module); got != release {
			t.Error(module, "is", got)
		}
	}
}
