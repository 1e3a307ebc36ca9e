package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Client is one member of a third party's client. A method may return Unimplemented, ErrOutcomeUnknown (of Commit), a Refusal or any error.
type Client interface {
	// Subscribe makes the client and subscribes. It returns when the client was told, not when it has joined.
	Subscribe(*Subscribe) error
	// Commit commits these offsets and waits for the end of it.
	Commit(Offsets) error
	// Committed returns what the group has committed of these partitions, -1 where nothing.
	Committed([]Partition) (Offsets, error)
	// Close ends the client. Leave is nil unless the member is to leave, or to stay, whatever the client would do.
	Close(leave *bool) error
}

// Resubscriber is a Client that can change its topics (capability `resubscribe`).
type Resubscriber interface{ Resubscribe(topics []string) error }

// Unsubscriber is a Client that can leave its group without being closed.
type Unsubscriber interface{ Unsubscribe(leave *bool) error }

// Committer is a Client that commits without waiting (capability `commit-async`); done is called once.
type Committer interface {
	CommitAsync(offsets Offsets, done func(error))
}

// Hello is what a shim says first. Module is the Go module of the client, whose release is read from the program itself.
type Hello struct {
	Client, Module string
	Capabilities   []string
}

// Run is the main function of a shim: it answers commands until `close`, `exit`, SIGTERM or the end of stdin.
func Run(hello Hello, make func(*Member) Client) {
	lines := NewLines(os.Stdout)
	os.Stdout = os.Stderr // whatever a client prints
	stop := newSignal()
	h := newHost(lines, make)
	h.Write(Object{"name": "hello", "contract": 1, "client": hello.Client, "version": builtRelease(hello.Module), "language": "go",
		"capabilities": hello.Capabilities})
	h.serve(os.Stdin, stop)
}

func newSignal() <-chan os.Signal {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	return stop
}

type host struct {
	*Member
	client       Client
	isSubscribed bool
	closing      sync.Once
}

func newHost(lines *Lines, make func(*Member) Client) *host {
	member := NewMember(lines)
	return &host{Member: member, client: make(member)}
}

type command struct {
	id, name string
	fields   map[string]json.RawMessage
}

// serve reads commands and carries them out, one after the other, beside whatever the client does meanwhile.
func (h *host) serve(in io.Reader, stop <-chan os.Signal) {
	commands, ended := make(chan command), make(chan struct{})
	go read(in, commands, ended)
	for {
		select {
		case next := <-commands:
			done := make(chan bool, 1)
			go func() { done <- h.handle(next) }()
			// A commit may hang for long, and the end must not wait for it.
			select {
			case isLast := <-done:
				if isLast {
					return
				}
			case <-ended:
				h.end(next.name, done)
				return
			case <-stop:
				h.end(next.name, done)
				return
			}
		case <-ended:
			h.end("", nil)
			return
		case <-stop:
			h.end("", nil)
			return
		}
	}
}

func (h *host) end(name string, done <-chan bool) {
	if name == "close" || name == "exit" {
		<-done
		return
	}
	_ = h.close(nil)
}

func read(in io.Reader, commands chan<- command, ended chan<- struct{}) {
	defer close(ended)
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		fields := map[string]json.RawMessage{}
		var name string
		if json.Unmarshal(line, &fields) != nil || json.Unmarshal(fields["command"], &name) != nil {
			fmt.Fprintf(os.Stderr, "not a command: %s", line) // it has no id, so nobody waits for an answer
			continue
		}
		commands <- command{id: string(fields["id"]), name: name, fields: fields}
	}
}

// handle carries a command out, answers it, and tells whether it was the last one.
func (h *host) handle(c command) bool {
	answer, err := h.carryOut(c)
	if answer == nil {
		answer = Object{}
	}
	answer["id"] = json.RawMessage(c.id)
	var lacking Unimplemented
	switch {
	case errors.As(err, &lacking):
		answer["unimplemented"] = string(lacking)
	case err == ErrOutcomeUnknown:
		answer["ok"], answer["outcome"] = true, "unknown"
	case err != nil:
		answer["error"], answer["message"], answer["fatal"] = nameOf(err), err.Error(), false
	default:
		answer["ok"] = true
	}
	h.Write(answer)
	return err == nil && (c.name == "exit" || c.name == "close")
}

var errNotSubscribed = Refusal{Name: "ILLEGAL_STATE", Message: "not subscribed"}

func (h *host) carryOut(c command) (Object, error) {
	switch c.name {
	case "subscribe":
		return h.subscribe(c)
	case "exit":
		return nil, h.close(nil)
	case "resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close":
		if !h.isSubscribed {
			return nil, errNotSubscribed
		}
		return h.ofMember(c)
	}
	return nil, Unimplemented(fmt.Sprintf("this shim knows no command %q", c.name))
}

func (h *host) subscribe(c command) (Object, error) {
	if h.isSubscribed {
		return nil, Refusal{Name: "ILLEGAL_STATE", Message: "subscribed already; use resubscribe"}
	}
	fields := newSubscribe(c.fields)
	if protocol := fields.Text("protocol"); protocol != "classic" {
		return nil, Unimplemented(fmt.Sprintf("protocol %q", protocol))
	}
	h.handlerDelay = fields.Millis("handler_delay_ms")
	if text := fields.fields["on_revoked"]; text != nil && json.Unmarshal(text, &h.onRevoked) == nil {
		fields.taken["on_revoked"] = true
	}
	if err := h.client.Subscribe(fields); err != nil {
		return nil, err
	}
	h.isSubscribed = true
	h.Write(Object{"name": "startup_complete"})
	return Object{"ignored": fields.Ignored()}, nil
}

func (h *host) ofMember(c command) (Object, error) {
	switch c.name {
	case "pause":
		h.Gate.Shut()
	case "resume":
		h.Gate.Open()
	case "assignment":
		return Object{"partitions": listed(h.Owned())}, nil
	case "commit":
		return h.commit(c)
	case "position", "committed":
		return h.tell(c)
	case "resubscribe":
		if client, can := h.client.(Resubscriber); can {
			var topics []string
			_ = json.Unmarshal(c.fields["topics"], &topics)
			return nil, client.Resubscribe(topics)
		}
		return nil, Unimplemented("this client keeps its topics")
	case "unsubscribe":
		if client, can := h.client.(Unsubscriber); can {
			return nil, client.Unsubscribe(leaveOf(c))
		}
		return nil, Unimplemented("this client leaves its group when it is closed")
	case "close":
		return nil, h.close(leaveOf(c))
	}
	return nil, nil
}

func leaveOf(c command) *bool {
	var leave *bool
	_ = json.Unmarshal(c.fields["leave"], &leave)
	return leave
}

func (h *host) commit(c command) (Object, error) {
	offsets := h.Positions()
	if c.fields["offsets"] != nil {
		offsets = offsetsOf(c.fields["offsets"])
	}
	var mode string
	_ = json.Unmarshal(c.fields["mode"], &mode)
	if client, can := h.client.(Committer); can && mode == "async" {
		client.CommitAsync(offsets, func(err error) { h.Committed(offsets, err) })
		return Object{"offsets": lists(offsets)}, nil
	}
	if mode == "async" {
		return nil, Unimplemented("this client's commits wait for their end")
	}
	err := h.client.Commit(offsets)
	var lacking Unimplemented
	if errors.As(err, &lacking) {
		return nil, err
	}
	h.Committed(offsets, err)
	if err != nil && err != ErrOutcomeUnknown {
		return nil, err
	}
	return Object{"offsets": lists(offsets)}, err
}

// tell answers what is committed, or how far the application is: where it has read nothing it begins at what is committed.
func (h *host) tell(c command) (Object, error) {
	asked := h.Owned()
	if text := c.fields["partitions"]; text != nil {
		asked = sortedPartitions(offsetsOf(text))
	}
	offsets := Offsets{}
	if c.name == "position" {
		offsets = h.consumedOf(asked)
	}
	unread := []Partition{}
	for _, each := range asked {
		if _, known := offsets[each]; !known {
			unread = append(unread, each)
		}
	}
	if len(unread) > 0 {
		committed, err := h.client.Committed(unread)
		if err != nil {
			return nil, err
		}
		for _, each := range unread {
			offsets[each] = committed[each]
		}
	}
	return Object{"offsets": lists(offsets)}, nil
}

// close ends the member once; who asks again has it closed.
func (h *host) close(leave *bool) error {
	var err error
	h.closing.Do(func() {
		if h.isSubscribed {
			err = h.client.Close(leave)
		}
		var lacking Unimplemented
		if errors.As(err, &lacking) {
			return
		}
		h.Write(Object{"name": "shutdown_complete"})
	})
	var lacking Unimplemented
	if errors.As(err, &lacking) {
		h.closing = sync.Once{} // the member stays open
		return err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "close:", err)
	}
	return nil
}

// offsetsOf reads [[topic, partition, offset]] or [[topic, partition]].
func offsetsOf(text json.RawMessage) Offsets {
	var rows [][]json.RawMessage
	_ = json.Unmarshal(text, &rows)
	found := Offsets{}
	for _, row := range rows {
		var partition Partition
		offset := int64(-1)
		for place, target := range []any{&partition.Topic, &partition.Number, &offset} {
			if place < len(row) {
				_ = json.Unmarshal(row[place], target)
			}
		}
		found[partition] = offset
	}
	return found
}

func lists(offsets Offsets) [][]any {
	made := [][]any{}
	for _, each := range sortedPartitions(offsets) {
		made = append(made, []any{each.Topic, each.Number, offsets[each]})
	}
	return made
}

// Every calls poll over and over, through the member's gate, until done; an error of it is told, and the next poll comes a little later.
// After a fatal one the application polls no more, until it is resumed.
func (m *Member) Every(done <-chan struct{}, pause time.Duration, poll func() error) {
	for {
		select {
		case <-done:
			return
		default:
		}
		var err error
		m.Gate.Pass(done, func() { err = poll() })
		if err == nil {
			continue
		}
		m.Problem(err)
		if isFatal(err) {
			m.Gate.Shut()
		}
		select {
		case <-done:
		case <-time.After(pause):
		}
	}
}
