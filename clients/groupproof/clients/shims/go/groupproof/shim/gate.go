package shim

import "sync"

// Gate holds an application back while it is paused. It goes through with each poll, or with the records that a handler was given.
type Gate struct {
	mutex   sync.Mutex
	shut    chan struct{} // nil while the gate is open; closed by Open
	through sync.RWMutex  // held for reading by those who are in the gate
}

// Shut makes those who come wait, and waits for those who are through to be done: once it returns, nothing more is read.
func (g *Gate) Shut() {
	g.mutex.Lock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
	g.mutex.Unlock()
	g.through.Lock()
	defer g.through.Unlock()
}

// Open lets those who wait, and those who come, through.
func (g *Gate) Open() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// Try does something in the gate if it is open, and returns whether it was.
func (g *Gate) Try(do func()) bool { return g.try(do) == nil }

// Pass waits for the gate to be open, does something in it, and returns true; or false when done was first.
func (g *Gate) Pass(done <-chan struct{}, do func()) bool {
	for shut := g.try(do); shut != nil; shut = g.try(do) {
		select {
		case <-shut:
		case <-done:
			return false
		}
	}
	return true
}

// try returns nil where the gate was open and it is done, else what is closed when the gate opens.
func (g *Gate) try(do func()) <-chan struct{} {
	g.through.RLock()
	defer g.through.RUnlock()
	shut := g.waiting()
	if shut == nil {
		do()
	}
	return shut
}

func (g *Gate) waiting() <-chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.shut
}

// Deliver takes what a client pushes into a channel, through the gate, until the channel is closed or done. A paused application holds one
// in its hand and reads no more; take may take those that are there behind the one that it is given.
func Deliver[T any](gate *Gate, from <-chan T, done <-chan struct{}, take func(T)) {
	for {
		var held T
		var isOpen bool
		select {
		case held, isOpen = <-from:
		case <-done:
		}
		if !isOpen || !gate.Pass(done, func() { take(held) }) {
			return
		}
	}
}
