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

// Waiting returns nil while the gate is open, else what is closed when it opens.
func (g *Gate) Waiting() <-chan struct{} {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.shut
}

// Try does something in the gate if it is open, and tells whether it was.
func (g *Gate) Try(do func()) bool {
	g.through.RLock()
	defer g.through.RUnlock()
	isOpen := g.Waiting() == nil
	if isOpen {
		do()
	}
	return isOpen
}

// Pass waits for the gate to be open, does something in it, and returns true; or false when done was first.
func (g *Gate) Pass(done <-chan struct{}, do func()) bool {
	for !g.Try(do) {
		select {
		case <-g.Waiting():
		case <-done:
			return false
		}
	}
	return true
}
