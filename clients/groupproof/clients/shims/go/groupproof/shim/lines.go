// Package shim is what a Go client's shim stands on: the lines of the shim contract, version 1, and what an application keeps beside its client.
//
// An author writes a Client and calls Run. Reading order: Client and Run (run.go), Member (member.go), Subscribe, Gate and Deliver, the names
// of errors, Batch and the other values.
package shim

import (
	"encoding/json"
	"io"
	"sync"
)

// Object is a line of the contract, or a part of one.
type Object = map[string]any

// lines is the shim's stdout: one JSON object a line, whole, whichever goroutine writes.
type lines struct {
	mutex sync.Mutex
	out   io.Writer
}

// write puts one line out, in a single write.
func (l *lines) write(line Object) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // a shim writes texts, numbers and lists of them
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, _ = l.out.Write(append(text, '\n')) // who listens no more ends stdin too
}
