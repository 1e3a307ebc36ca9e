// Package shim is what a Go client's shim stands on: the lines of the shim contract, version 1, and what an application keeps beside its client.
//
// An author writes a Client and calls Run. Reading order: Client and Run (host.go), Member (member.go), Subscribe, Gate, Lines, the names of errors.
package shim

import (
	"encoding/json"
	"io"
	"sync"
)

// Object is a line of the contract, or a part of one.
type Object = map[string]any

// Lines is the shim's stdout: one JSON object a line, whole, whichever goroutine writes.
type Lines struct {
	mutex sync.Mutex
	out   io.Writer
}

// NewLines returns the lines that go to out.
func NewLines(out io.Writer) *Lines { return &Lines{out: out} }

// Write puts one line out, in a single write.
func (l *Lines) Write(line Object) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // a shim writes texts, numbers and lists of them
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, _ = l.out.Write(append(text, '\n')) // who listens no more ends stdin too
}
