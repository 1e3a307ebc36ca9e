package shim

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Client is one member of a third party's client. A method may return Unimplemented, ErrOutcomeUnknown (of Commit), a Refusal or any error.
//
// What else a client can do it says by more methods: those of Poller, AsyncCommitter, Resubscriber, Unsubscriber and LeaveChooser.
type Client interface {
	// Commit commits these offsets and waits for the end of it.
	Commit(Offsets) error
	// Committed returns what the group has committed of these partitions, -1 or nothing where it has not.
	Committed([]Partition) (Offsets, error)
	// Close ends the client: a dynamic member leaves its group, a static one stays. No Poll runs beside it.
	Close() error
}

// Poller is a Client that is polled: Poll is called over and over, through the member's gate. The context ends after poll_timeout_ms, or
// when the member closes; an error that says so is none. A client that pushes has no Poll; its handler calls Member.Handle, or Deliver, so that `pause` holds it.
type Poller interface{ Poll(context.Context) error }

// AsyncCommitter is a Client that commits without waiting (capability `commit-async`); done is called once.
type AsyncCommitter interface {
	CommitAsync(offsets Offsets, done func(error))
}

// Resubscriber is a Client that can change its topics (capability `resubscribe`).
type Resubscriber interface{ Resubscribe(topics []string) error }

// Unsubscriber is a Client that can leave its group without being closed. Leave is nil unless the member is to leave, or to stay,
// whatever the client would do; Member.CheckLeave refuses what a client that has no choice would not do.
type Unsubscriber interface{ Unsubscribe(leave *bool) error }

// LeaveChooser is a Client that can be closed either way (KIP-1092).
type LeaveChooser interface{ CloseLeaving(leave bool) error }

// Hello is what a shim says first, and how its client's errors are called.
type Hello struct {
	// Client is its name, and Module the Go module it comes in: the release is read from the program itself.
	Client, Module string
	Capabilities   []string
	// NameError returns Kafka's name of an error of the client's, else the client's own in capitals; "" where it has none. After one
	// that is fatal the application polls no more. It may be nil.
	NameError func(error) (name string, isFatal bool)
}

// Run is the main function of a shim: it answers commands until `close`, `exit`, SIGTERM or the end of stdin. Subscribe makes the client
// out of the fields of that command; it returns when the client has its settings, and never waits for the join.
func Run(hello Hello, subscribe func(*Member, *Subscribe) (Client, error)) {
	out := &lines{out: os.Stdout}
	os.Stdout = os.Stderr // whatever a client prints
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	h := newHost(out, hello, subscribe)
	h.write(Object{"name": "hello", "contract": 1, "client": hello.Client, "version": builtRelease(hello.Module), "language": "go",
		"capabilities": hello.Capabilities})
	h.serve(os.Stdin, stop)
}
