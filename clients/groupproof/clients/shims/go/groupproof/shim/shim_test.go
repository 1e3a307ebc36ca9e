package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fake is a client in memory that pushes: it owns partitions 0 and 1 of t, has read five records, and fails or hangs as it is asked to.
type fake struct {
	*Member
	failure   error
	mustFail  bool // by Must, not by what it returns
	hangs     chan struct{}
	committed Offsets
	closes    int
}

func (f *fake) Commit(offsets Offsets) error {
	if f.hangs != nil {
		<-f.hangs
	}
	f.committed = offsets
	if f.mustFail {
		Must(1, f.failure)
	}
	return f.failure
}

func (f *fake) Committed([]Partition) (Offsets, error) { return Offsets{}, f.failure }

func (f *fake) Close() error {
	f.closes++
	return nil
}

// able can do what a client may lack, and notes it.
type able struct {
	fake
	did []string
}

func (a *able) Resubscribe(topics []string) error {
	a.did = append(a.did, "resubscribe "+text(topics))
	return nil
}

func (a *able) Unsubscribe(leave *bool) error {
	a.did = append(a.did, "unsubscribe "+text(leave))
	return nil
}

func (a *able) CommitAsync(offsets Offsets, done func(error)) {
	a.committed = offsets
	done(a.failure)
}

func (a *able) CloseLeaving(leave bool) error {
	a.did = append(a.did, fmt.Sprint("close ", leave))
	return nil
}

// polled is a client that is polled: its polls fail as they are listed, and the last one ends the member.
type polled struct {
	fake
	failures []error
	atEnd    error
	polls    int
	last     func()
}

func (p *polled) Poll(ctx context.Context) error {
	if _, isBounded := ctx.Deadline(); !isBounded {
		panic("a poll ends after poll_timeout_ms")
	}
	if p.polls++; p.polls > len(p.failures) {
		p.last()
		<-ctx.Done()
		return p.atEnd
	}
	return p.failures[p.polls-1]
}

// printed is what a shim prints; a test waits for a line of it.
type printed struct {
	mutex sync.Mutex
	come  *sync.Cond
	text  bytes.Buffer
}

func newPrinted() *printed {
	p := &printed{}
	p.come = sync.NewCond(&p.mutex)
	return p
}

func (p *printed) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	defer p.come.Broadcast()
	return p.text.Write(text)
}

func (p *printed) until(part string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for !strings.Contains(p.text.String(), part) {
		p.come.Wait()
	}
}

func (p *printed) lines(t *testing.T) []Object {
	t.Helper()
	found := []Object{}
	for _, text := range strings.Split(strings.TrimSpace(p.text.String()), "\n") {
		line := Object{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%q is no line: %v", text, err)
		}
		found = append(found, line)
	}
	return found
}

const subscribing = `{"id":1,"command":"subscribe","protocol":"classic","group":"g","client_id":"c","instance_id":null}` + "\n"

var hello = Hello{Capabilities: []string{"classic"}, NameError: func(err error) (string, bool) {
	var code kafkaCode
	if errors.As(err, &code) {
		return CodeName(int16(code)), code == 82
	}
	return "", false
}}

type kafkaCode int16

func (c kafkaCode) Error() string { return "the broker said so" }

// hosting returns a host that makes this client, and the member of it.
func hosting(client Client, member **Member) (*host, *printed) {
	out := newPrinted()
	return newHost(&lines{out: out}, hello, func(m *Member, s *Subscribe) (Client, error) {
		*member = m
		s.Text("group")
		m.Assigned([]Partition{{"t", 0}, {"t", 1}}, Generation{"m-1", 3})
		var records Batch
		for offset := range int64(5) {
			records.Add("t", 0, offset)
		}
		m.Consumed(records)
		return client, nil
	}), out
}

// played has a host read these lines to their end, and returns what it said.
func played(t *testing.T, client Client, member **Member, text string) []Object {
	t.Helper()
	h, out := hosting(client, member)
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
	return out.lines(t)
}

func playedBy(t *testing.T, client *fake, text string) []Object {
	t.Helper()
	return played(t, client, &client.Member, text)
}

func answerTo(t *testing.T, lines []Object, id int) Object {
	t.Helper()
	for _, line := range lines {
		if line["id"] == float64(id) {
			return line
		}
	}
	t.Fatalf("no answer to %d in %v", id, lines)
	return nil
}

func namesOf(lines []Object) string {
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
	lines := playedBy(t, &fake{}, subscribing)
	if got := text(answerTo(t, lines, 1)["ignored"]); got != `["client_id"]` {
		t.Error("ignored is", got)
	}
	if got := namesOf(lines); got != "partitions_assigned callback_done records_consumed startup_complete 1 shutdown_complete" {
		t.Error(got)
	}
}

func TestACommandIsAnsweredWithWhatTheClientSaysOrHasNot(t *testing.T) {
	asked := []struct{ command, member, want string }{
		{`"frobnicate"`, "", `this shim knows no command "frobnicate"`},
		{`"resubscribe","topics":["u"]`, "", "this client keeps its topics"},
		{`"unsubscribe"`, "", "this client leaves its group when it is closed"},
		{`"commit","mode":"async"`, "", "this client's commits wait for their end"},
		{`"close","leave":false`, "", "this client leaves its group as a dynamic member, and stays as a static one"},
		{`"close","leave":true`, `"i"`, "this client leaves its group as a dynamic member, and stays as a static one"},
	}
	for _, each := range asked {
		subscribe := subscribing
		if each.member != "" {
			subscribe = strings.Replace(subscribe, "null", each.member, 1)
		}
		lines := playedBy(t, &fake{}, subscribe+`{"id":2,"command":`+each.command+`}`)
		if got := answerTo(t, lines, 2)["unimplemented"]; got != each.want {
			t.Errorf("%s: %v", each.command, got)
		}
		if got := namesOf(lines); !strings.HasSuffix(got, "2 shutdown_complete") {
			t.Errorf("%s: the member stays open: %s", each.command, got)
		}
	}
}

func TestAProtocolThatNobodyClaimedIsUnimplemented(t *testing.T) {
	for subscribe, want := range map[string]string{
		strings.Replace(subscribing, `"classic"`, `"consumer"`, 1):                            `protocol "consumer"`,
		strings.Replace(subscribing, `"classic"`, `"classic","group_protocol":"consumer"`, 1): `protocol "consumer"`,
	} {
		if got := answerTo(t, playedBy(t, &fake{}, subscribe), 1)["unimplemented"]; got != want {
			t.Errorf("%s: %v", subscribe, got)
		}
	}
}

func TestBeforeItSubscribesAMemberIsNone(t *testing.T) {
	for _, name := range []string{"pause", "commit", "position", "assignment", "close"} {
		lines := playedBy(t, &fake{}, `{"id":1,"command":"`+name+`"}`)
		if got := answerTo(t, lines, 1)["error"]; got != "ILLEGAL_STATE" {
			t.Errorf("%s: %v", name, got)
		}
	}
	lines := playedBy(t, &fake{}, subscribing+strings.Replace(subscribing, `"id":1`, `"id":2`, 1))
	if got := answerTo(t, lines, 2)["error"]; got != "ILLEGAL_STATE" {
		t.Error("it subscribes once:", got)
	}
}

func TestWhatAClientCanDoItIsAskedFor(t *testing.T) {
	client := &able{}
	lines := played(t, client, &client.Member, subscribing+`{"id":2,"command":"resubscribe","topics":["u"]}`+"\n"+
		`{"id":3,"command":"unsubscribe","leave":true}`+"\n"+`{"id":4,"command":"commit","mode":"async"}`+"\n"+`{"id":5,"command":"close","leave":false}`)
	if got := text(client.did); got != `["resubscribe [\"u\"]","unsubscribe true","close false"]` {
		t.Error(got)
	}
	if got := namesOf(lines); !strings.HasSuffix(got, "2 3 offsets_committed 4 shutdown_complete 5") {
		t.Error(got)
	}
	if client.closes != 0 {
		t.Error("it is closed once")
	}
}

func TestACommitWithoutOffsetsIsOfWhatWasConsumed(t *testing.T) {
	client := &fake{}
	lines := playedBy(t, client, subscribing+`{"id":2,"command":"commit","mode":"sync"}`)
	if client.committed[Partition{"t", 0}] != 5 || len(client.committed) != 1 {
		t.Error("committed", client.committed)
	}
	if got := text(answerTo(t, lines, 2)["offsets"]); got != `[["t",0,5]]` {
		t.Error(got)
	}
	if got := namesOf(lines); !strings.HasSuffix(got, "offsets_committed 2 shutdown_complete") {
		t.Error("the event comes before the answer:", got)
	}
}

func TestTheEndOfACommitIsSaidTwice(t *testing.T) {
	for _, each := range []struct {
		failure       error
		event, answer string
	}{
		{nil, `"success":true`, `"ok":true`},
		{ErrOutcomeUnknown, `"outcome":"unknown"`, `"ok":true,"outcome":"unknown"`},
		{fmt.Errorf("commit: %w", kafkaCode(22)), `"error":"ILLEGAL_GENERATION"`, `"error":"ILLEGAL_GENERATION","fatal":false`},
		{kafkaCode(82), `"success":false`, `"error":"FENCED_INSTANCE_ID","fatal":true`},
		{Refusal{Name: "ILLEGAL_STATE", Message: "no session"}, `"message":"no session"`, `"error":"ILLEGAL_STATE"`},
		{errors.New("a socket"), `"error":"CLIENT_ERROR"`, `"error":"CLIENT_ERROR"`},
	} {
		returned := playedBy(t, &fake{failure: each.failure}, subscribing+`{"id":2,"command":"commit","mode":"sync","offsets":[["t",1,9]]}`)
		lines := playedBy(t, &fake{failure: each.failure, mustFail: true}, subscribing+`{"id":2,"command":"commit","mode":"sync","offsets":[["t",1,9]]}`)
		if text(lines) != text(returned) {
			t.Errorf("%v: by Must it is %v", each.failure, lines)
		}
		event, answer := text(lines[len(lines)-3]), text(answerTo(t, lines, 2))
		if !strings.Contains(event, `"offsets_committed"`) || !strings.Contains(event, each.event) {
			t.Errorf("%v: the event is %s", each.failure, event)
		}
		answer = strings.Replace(answer, `"id":2,`, "", 1)
		if !strings.Contains(answer, each.answer) && !strings.Contains(answer, strings.Replace(each.answer, `,"outcome"`, `,"offsets":[["t",1,9]],"outcome"`, 1)) {
			t.Errorf("%v: the answer is %s", each.failure, answer)
		}
	}
}

func TestMustEndsItsCommandAndNoOtherPanicIsHidden(t *testing.T) {
	h := newHost(&lines{out: io.Discard}, hello, func(*Member, *Subscribe) (Client, error) {
		Check(nil)
		return Must[Client](nil, Unimplemented("no such client")), nil
	})
	if err := caught(func() error { _, err := h.carryOut(command{name: "subscribe"}); return err }); !isUnimplemented(err) {
		t.Error(err)
	}
	defer func() {
		if reason := recover(); reason != "a mistake" {
			t.Error("a panic of another kind is not hidden:", reason)
		}
	}()
	_ = caught(func() error { panic("a mistake") })
}

func TestAPositionIsWhatWasReadElseWhatIsCommitted(t *testing.T) {
	lines := playedBy(t, &fake{}, subscribing+`{"id":2,"command":"position"}`)
	if got := text(answerTo(t, lines, 2)["offsets"]); got != `[["t",0,5],["t",1,-1]]` {
		t.Error(got)
	}
}

func TestAMemberClosesOnce(t *testing.T) {
	client := &fake{}
	lines := playedBy(t, client, subscribing+`{"id":2,"command":"close"}`)
	if client.closes != 1 || strings.Count(namesOf(lines), "shutdown_complete") != 1 {
		t.Error(client.closes, namesOf(lines))
	}
}

func TestTheEndDoesNotWaitForACommitThatHangs(t *testing.T) {
	client := &fake{hangs: make(chan struct{})}
	h, out := hosting(client, &client.Member)
	stop := make(chan os.Signal, 1)
	in, feed := io.Pipe()
	done := make(chan struct{})
	go func() { h.serve(in, stop); close(done) }()
	_, _ = io.WriteString(feed, subscribing+`{"id":2,"command":"commit","mode":"sync"}`+"\n")
	out.until(`"id":1`)
	stop <- syscall.SIGTERM
	<-done
	if got := namesOf(out.lines(t)); !strings.HasSuffix(got, "shutdown_complete") {
		t.Error(got)
	}
	close(client.hangs)
}

func TestALineMayBeAsLongAsItLikes(t *testing.T) {
	lines := playedBy(t, &fake{}, strings.Replace(subscribing, `"g"`, `"`+strings.Repeat("g", 1<<20)+`"`, 1))
	if answerTo(t, lines, 1)["ok"] != true {
		t.Error(lines)
	}
}

func TestNoiseIsNoCommand(t *testing.T) {
	client := &fake{}
	h, out := hosting(client, &client.Member)
	h.serve(strings.NewReader("noise\n[1]\n{\"id\":1}\n"), nil)
	if got := namesOf(out.lines(t)); got != "shutdown_complete" {
		t.Error(got)
	}
}

func TestPollsGoOnAfterAnErrorUntilTheEnd(t *testing.T) {
	client := &polled{failures: []error{kafkaCode(29), nil, kafkaCode(29)}, atEnd: fmt.Errorf("fetch: %w", context.Canceled)}
	h, out := hosting(client, &client.Member)
	client.last = h.cancel
	h.handle(command{id: "1", name: "subscribe"})
	<-h.polling
	if client.polls != 4 {
		t.Error("polls:", client.polls)
	}
	if got := strings.Count(text(out.lines(t)), "TOPIC_AUTHORIZATION_FAILED"); got != 2 {
		t.Error("errors:", got)
	}
}

func TestAfterAFatalErrorAnApplicationPollsNoMoreUntilItIsResumed(t *testing.T) {
	client := &polled{failures: []error{kafkaCode(82)}}
	h, out := hosting(client, &client.Member)
	client.last = h.cancel
	h.handle(command{id: "1", name: "subscribe"})
	for out.until(`"fatal":true`); h.Gate.waiting() == nil; {
	}
	h.handle(command{id: "2", name: "resume"})
	<-h.polling
	if client.polls != 2 {
		t.Error("polls:", client.polls)
	}
}

// slow notes whether a poll was under way when it was closed.
type slow struct {
	fake
	isPolling, wasPolling bool
}

func (s *slow) Poll(ctx context.Context) error {
	s.isPolling = true
	s.Problem(kafkaCode(7)) // a sign of life
	<-ctx.Done()
	s.isPolling = false
	return nil
}

func (s *slow) Close() error {
	s.wasPolling = s.isPolling
	return nil
}

func TestAPollUnderWayEndsBeforeTheClose(t *testing.T) {
	client := &slow{}
	h, out := hosting(client, &client.Member)
	h.handle(command{id: "1", name: "subscribe"})
	out.until("REQUEST_TIMED_OUT")
	h.handle(command{id: "2", name: "close"})
	if client.wasPolling {
		t.Error("it was closed under a poll")
	}
}

func TestACommitOfNothingIsASuccessThatTheClientIsNotAskedFor(t *testing.T) {
	client := &fake{failure: kafkaCode(22)}
	lines := playedBy(t, client, subscribing+`{"id":2,"command":"commit","mode":"sync","offsets":[]}`)
	if answerTo(t, lines, 2)["ok"] != true || client.committed != nil {
		t.Error(answerTo(t, lines, 2), client.committed)
	}
}

func TestNoPollBeginsBesideTheClose(t *testing.T) {
	client := &polled{last: func() {}}
	lines := played(t, client, &client.Member, subscribing+`{"id":2,"command":"pause"}`+"\n"+`{"id":3,"command":"close"}`)
	if client.closes != 1 || !strings.HasSuffix(namesOf(lines), "2 shutdown_complete 3") {
		t.Error(client.closes, namesOf(lines))
	}
}
