package shim

import "sync"

// Repeat calls a client's loop over and over until the member closes; an error is reported, and the next call comes a little later. It is
// for a goroutine of its own.
func (m *Member) Repeat(do func() error) {
	for m.ctx.Err() == nil {
		if err := do(); err != nil && m.ctx.Err() == nil {
			m.Problem(err)
			m.Sleep(m.backsOff)
		}
	}
}

// Current holds what a client hands to its application for a while, such as a session: a commit may come when there is none.
type Current[T any] struct {
	mutex sync.Mutex
	value *T
}

// Set puts a value in place of the one before.
func (c *Current[T]) Set(value T) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.value = &value
}

// Clear says that there is none now.
func (c *Current[T]) Clear() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.value = nil
}

// Get returns the value; where there is none it ends the command as Must does.
func (c *Current[T]) Get() T {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.value == nil {
		Check(Refusal{Name: "ILLEGAL_STATE", Message: "the client is in no session now"})
	}
	return *c.value
}
