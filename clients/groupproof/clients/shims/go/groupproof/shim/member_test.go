package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

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
		t.Error("what was begun before the pause is reported before it is answered")
	}
}

func TestWhatIsPushedIsTakenUntilItsEnd(t *testing.T) {
	var gate Gate
	from, took := make(chan int, 3), []int{}
	from <- 1
	from <- 2
	close(from)
	Deliver(&gate, from, nil, func(record int) { took = append(took, record) })
	if text(took) != "[1,2]" {
		t.Error(took)
	}
}

func TestAPausedApplicationHoldsOneThatWasPushed(t *testing.T) {
	var gate Gate
	gate.Shut()
	from, took, ended := make(chan int), make(chan int), make(chan struct{})
	go func() {
		Deliver(&gate, from, ended, func(record int) { took <- record })
		close(took)
	}()
	from <- 1 // it is in its hand
	select {
	case from <- 2:
		t.Error("it took another")
	case record := <-took:
		t.Error("it read", record)
	default:
	}
	gate.Open()
	if record := <-took; record != 1 {
		t.Error("it read", record)
	}
	gate.Shut()
	from <- 3
	close(ended)
	if record, more := <-took; more {
		t.Error("the session has ended, and it read", record)
	}
}

func TestAHandlerIsThroughTheGateOrWasNotCalled(t *testing.T) {
	out := newPrinted()
	m := newMember(&lines{out: out}, Hello{})
	m.Assigned([]Partition{{"t", 0}}, Generation{})
	if !m.Handle(nil, "t", 0, 7) || !strings.Contains(out.text.String(), `"minOffset":7`) {
		t.Error(out.text.String())
	}
	m.Gate.Shut()
	m.cancel()
	if m.Handle(m.Context().Done(), "t", 0, 8) || strings.Contains(out.text.String(), `"minOffset":8`) {
		t.Error(out.text.String())
	}
}

func TestARecordWaitsForTheNewsThatItsPartitionIsAssigned(t *testing.T) {
	out, handled := newPrinted(), make(chan bool)
	m := newMember(&lines{out: out}, Hello{})
	m.overtakes = time.Hour
	go func() { handled <- m.Handle(nil, "t", 1, 7) }()
	m.Assigned([]Partition{{"t", 0}}, Generation{})
	m.Assigned([]Partition{{"t", 1}}, Generation{})
	if !<-handled || text(offsetLists(m.Positions())) != `[["t",1,8]]` {
		t.Error(out.text.String())
	}
	if names := namesOf(out.lines(t)); !strings.HasSuffix(names, "partitions_assigned callback_done records_consumed") {
		t.Error("it came before its assignment:", names)
	}
	go func() { handled <- m.Handle(nil, "t", 2, 0) }()
	m.cancel()
	if <-handled {
		t.Error("the member has closed, and it was read")
	}
}

func TestARecordOfAPartitionThatIsNotAssignedIsReportedInTheEnd(t *testing.T) {
	out := newPrinted()
	m := newMember(&lines{out: out}, Hello{})
	m.overtakes = 0
	if !m.Handle(nil, "t", 0, 7) || len(m.Positions()) != 0 {
		t.Error("what a client delivers is not hidden, and is nothing that the application owns:", m.Positions())
	}
	m.overtakes = time.Hour
	if !m.Handle(nil, "t", 0, 8) || strings.Count(out.text.String(), "records_consumed") != 2 {
		t.Error("it is waited for once:", out.text.String())
	}
}

func TestWhatComesByAChannelOfErrorsIsReported(t *testing.T) {
	out, from := newPrinted(), make(chan *Refusal, 2)
	from <- &Refusal{Name: "A"}
	from <- &Refusal{Name: "B"}
	close(from)
	Problems(newMember(&lines{out: out}, Hello{}), from)
	if got := namesOf(out.lines(t)); got != "error error" {
		t.Error(got)
	}
}

func TestABatchKnowsItsEnds(t *testing.T) {
	out, batch := newPrinted(), Batch{}
	m := newMember(&lines{out: out}, Hello{})
	m.Consumed(batch)
	if out.text.Len() > 0 {
		t.Error("of nothing it says nothing:", out.text.String())
	}
	for _, offset := range []int64{4, 3, 9} {
		batch.Add("t", 0, offset)
	}
	batch.Add("t", 1, 0)
	m.Consumed(batch)
	want := `{"count":4,"name":"records_consumed","partitions":[{"count":3,"maxOffset":9,"minOffset":3,"partition":0,"topic":"t"},` +
		`{"count":1,"maxOffset":0,"minOffset":0,"partition":1,"topic":"t"}]}`
	if got := strings.TrimSpace(out.text.String()); got != want || batch.Count() != 4 {
		t.Error(got)
	}
}

func TestABatchOfOneRecordIsMadeOfEitherKindOfNumber(t *testing.T) {
	for _, batch := range []Batch{Record("t", 7, 5), Record("t", int32(7), 5)} {
		out := newPrinted()
		newMember(&lines{out: out}, Hello{}).Consumed(batch)
		want := `{"count":1,"name":"records_consumed","partitions":[{"count":1,"maxOffset":5,"minOffset":5,"partition":7,"topic":"t"}]}`
		if got := strings.TrimSpace(out.text.String()); got != want {
			t.Error(got)
		}
	}
}

func consumed(m *Member, partition int32, offsets ...int64) {
	var batch Batch
	for _, offset := range offsets {
		batch.Add("t", partition, offset)
	}
	m.Consumed(batch)
}

func TestARevocationDoesWhatItsPlanAsks(t *testing.T) {
	out, order := newPrinted(), []string{}
	m := newMember(&lines{out: out}, Hello{})
	m.plan.onRevoked.Commit = true
	m.Assigned([]Partition{{"t", 0}, {"t", 1}}, Generation{})
	consumed(m, 0, 5, 6)
	m.Revoked([]Partition{{"t", 0}}, Generation{"m-1", 4}, func(offsets Offsets) error {
		order = append(order, text(offsetLists(offsets)))
		return errors.New("refused")
	}, func() { order = append(order, "the author's part") })
	if got := strings.Join(order, " then "); got != `[["t",0,7]] then the author's part` {
		t.Error(got)
	}
	if got := namesOf(out.lines(t)[3:]); got != "partitions_revoked offsets_committed callback_done" {
		t.Error(got)
	}
	if got := text(m.Own([]Partition{{"t", 0}, {"t", 1}})); got != `[{"Topic":"t","Number":1}]` || len(m.Positions()) != 0 {
		t.Error("it still owns", got, "and has read", m.Positions())
	}
}

func TestALossForgetsWhatWasRead(t *testing.T) {
	m := newMember(&lines{out: io.Discard}, Hello{})
	m.Assigned([]Partition{{"t", 0}}, Generation{})
	consumed(m, 0, 0)
	m.Lost([]Partition{{"t", 0}}, Generation{})
	consumed(m, 0, 1)
	if len(m.Owned()) != 0 || len(m.Positions()) != 0 {
		t.Error("a record that comes late is of nothing owned:", m.Positions())
	}
}

func TestFieldsAreTakenAsWhatTheyAre(t *testing.T) {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(`{"id":1,"group":7,"topics":["a"],"bootstrap":"a:1,b:2","auto_commit":true,"session_timeout_ms":6000,"rack":"r","offset":1,
		"properties":{"a":"b","c":3}}`), &fields)
	s := newSubscribe(fields)
	for name, is := range map[string]bool{
		"a text":      s.Text("group") == "",
		"texts":       text(s.Texts("topics")) == `["a"]`,
		"brokers":     text(s.Brokers()) == `["a:1","b:2"]`,
		"a flag":      s.Flag("auto_commit"),
		"a time":      s.Millis("session_timeout_ms").Seconds() == 6 && s.Millis("max_poll_interval_ms") == 0,
		"properties":  text(s.Properties()) == `{"a":"b","c":"3"}`,
		"a field":     s.Has("rack") && !s.Has("instance_id"),
		"taken, once": s.Text("offset") == "",
	} {
		if !is {
			t.Error(name)
		}
	}
	s.Text("rack")
	s.Ignore("rack")
	if got := text(s.Ignored()); got != `["group","offset","rack"]` {
		t.Error("ignored is", got)
	}
}

func TestErrorsBearKafkasNames(t *testing.T) {
	for code, name := range map[int16]string{25: "UNKNOWN_MEMBER_ID", -1: "UNKNOWN_SERVER_ERROR", 999: "CODE_999"} {
		if got := CodeName(code); got != name {
			t.Error(code, "is", got)
		}
	}
}

func TestAnErrorIsNamedByItsNumberOrByItself(t *testing.T) {
	wrapped := fmt.Errorf("commit: %w", kafkaCode(27))
	for want, by := range map[string]func(error) (string, bool){
		"REBALANCE_IN_PROGRESS": Coded[kafkaCode],
		"27":                    Named(func(code kafkaCode) string { return fmt.Sprint(int(code)) }),
	} {
		if got, isFatal := by(wrapped); got != want || isFatal {
			t.Error(got)
		}
		if got, _ := by(errors.New("another")); got != "" {
			t.Error("it is none of the client's:", got)
		}
	}
}

func TestOffsetsAreReadOutOfAnAnswer(t *testing.T) {
	offsets := OffsetsOf([]int64{5, -1}, func(offset int64) (string, int32, int64) { return "t", int32(offset), offset })
	if got := text(offsetLists(offsets)); got != `[["t",-1,-1],["t",5,5]]` {
		t.Error(got)
	}
}

func TestOffsetsAreReadOutOfRowsUnderTheirTopics(t *testing.T) {
	rows := map[string][]int{"t": {5, -1}, "s": {0}}
	if got := text(offsetLists(OffsetsUnder(rows, func(row int) (int, int64) { return row + 1, int64(row) }))); got != `[["s",1,0],["t",0,-1],["t",6,5]]` {
		t.Error(got)
	}
}

func TestPartitionsComeInOrderAndGoBackByTopic(t *testing.T) {
	if got := text(offsetLists(Offsets{{"t", 10}: 1, {"t", 9}: 2, {"s", 11}: 3})); got != `[["s",11,3],["t",9,2],["t",10,1]]` {
		t.Error(got)
	}
	got := Partitions(map[string][]int{"t": {1, 0}})
	if len(got) != 2 || got[0] != (Partition{"t", 0}) || text(ByTopic[int32](got)) != `{"t":[0,1]}` {
		t.Error(got)
	}
	heads := OffsetsByTopic[int](Offsets{{"t", 1}: 5}, func(offset int64) string { return text(offset) })
	if text(heads) != `{"t":{"1":"5"}}` {
		t.Error(heads)
	}
	back := OffsetsFrom(heads, func(head string) int64 { return int64(len(head)) })
	if text(offsetLists(back)) != `[["t",1,1]]` {
		t.Error(back)
	}
}

func TestWhatAClientHasIsChosenInOrder(t *testing.T) {
	has := map[string]int{"range": 1, "sticky": 2}
	if got, err := Choose("assignor", []string{"sticky", "range"}, has); text(got) != "[2,1]" || err != nil {
		t.Error(got, err)
	}
	if got, err := Choose("assignor", []string{"range", "best"}, has); !isUnimplemented(err) || err.Error() != `this client has no assignor "best"` {
		t.Error(got, err)
	}
}

func TestAReleaseIsWhatTheProgramWasBuiltWith(t *testing.T) {
	modules := []*debug.Module{
		{Path: "a", Version: "v1.2.3"},
		{Path: "b", Version: "v1.0.0", Replace: &debug.Module{Path: "c", Version: "v2.0.0"}},
		{Path: "d", Version: "v0.4.51", Replace: &debug.Module{Path: "/tmp/d", Version: "(devel)"}},
		{Path: "f", Version: "v2.1.15+incompatible"},
	}
	for module, release := range map[string]string{"a": "1.2.3", "f": "2.1.15", "b": "2.0.0", "d": "0.4.51+patched", "e": "unknown"} {
		if got := releaseIn(modules, module); got != release {
			t.Error(module, "is", got)
		}
	}
}
