package shim

import "sync"

// Gate holds an application back while it is paused: a loop that polls passes it before each poll, a handler before each record.
type Gate struct {
	mutex sync.Mutex
	shut  chan struct{} // nil while the gate is open; closed by Open
}

// Shut makes those who come wait.
func (g *Gate) Shut() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
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

// Pass waits for the gate to be open, or for done; it tells whether the gate was.
func (g *Gate) Pass(done <-chan struct{}) bool {
	for {
		waiting := g.Waiting()
		if waiting == nil {
			return true
		}
		select {
		case <-waiting:
		case <-done:
			return false
		}
	}
}
