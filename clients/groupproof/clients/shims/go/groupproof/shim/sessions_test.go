package shim

import (
	"errors"
	"testing"
)

func TestALoopOfTheClientsIsRepeatedUntilTheMemberCloses(t *testing.T) {
	out, calls := newPrinted(), 0
	m := newMember(&lines{out: out}, Hello{})
	m.backsOff = 0
	m.Repeat(func() error {
		if calls++; calls == 3 {
			m.cancel()
		}
		return []error{nil, errors.New("it ended"), errors.New("closed")}[calls-1]
	})
	if got := namesOf(out.lines(t)); calls != 3 || got != "error" {
		t.Error("an error of the end is none:", calls, got)
	}
}

func TestWhatIsOfASessionIsRefusedWithoutOne(t *testing.T) {
	var session Current[string]
	get := func() (got string, err error) {
		err = caught(func() error { got = session.Get(); return nil })
		return got, err
	}
	session.Set("first")
	session.Set("second")
	if got, err := get(); got != "second" || err != nil {
		t.Error(got, err)
	}
	session.Clear()
	if name, _ := (Hello{}).nameOf(func() error { _, err := get(); return err }()); name != "ILLEGAL_STATE" {
		t.Error(name)
	}
}
