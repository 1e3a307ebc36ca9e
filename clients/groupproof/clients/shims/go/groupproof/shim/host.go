package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// host carries commands out for one member.
type host struct {
	*Member
	make    func(*Member, *Subscribe) (Client, error)
	closing sync.Mutex // held while the member closes: who asks again waits, and has it closed

	state    sync.Mutex
	client   Client // nil until it has subscribed
	polling  chan struct{}
	hasEnded bool
}

func newHost(out *lines, hello Hello, make func(*Member, *Subscribe) (Client, error)) *host {
	return &host{Member: newMember(out, hello), make: make}
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

// handle carries a command out, answers it, and returns whether it was the last one.
func (h *host) handle(c command) bool {
	var answer Object
	err := caught(func() (err error) {
		answer, err = h.carryOut(c)
		return err
	})
	if answer == nil {
		answer = Object{}
	}
	answer["id"] = json.RawMessage(c.id)
	switch {
	case isUnimplemented(err):
		answer["unimplemented"] = err.Error()
	case err == ErrOutcomeUnknown:
		answer["ok"], answer["outcome"] = true, "unknown"
	case err != nil:
		name, isFatal := h.hello.nameOf(err)
		answer["error"], answer["message"], answer["fatal"] = name, err.Error(), isFatal
	default:
		answer["ok"] = true
	}
	h.write(answer)
	return err == nil && (c.name == "exit" || c.name == "close")
}

func (h *host) carryOut(c command) (Object, error) {
	switch c.name {
	case "subscribe":
		return h.subscribe(c)
	case "exit":
		return nil, h.close(nil)
	case "resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close":
		if client := h.subscribed(); client != nil {
			return h.ofMember(client, c)
		}
		return nil, Refusal{Name: "ILLEGAL_STATE", Message: "not subscribed"}
	}
	return nil, Unimplemented(fmt.Sprintf("this shim knows no command %q", c.name))
}

func (h *host) subscribed() Client {
	h.state.Lock()
	defer h.state.Unlock()
	return h.client
}

func (h *host) subscribe(c command) (Object, error) {
	if h.subscribed() != nil {
		return nil, Refusal{Name: "ILLEGAL_STATE", Message: "subscribed already; use resubscribe"}
	}
	fields := newSubscribe(c.fields)
	h.Fields = fields
	protocol := fields.Text("protocol")
	if fields.Has("group_protocol") { // Kafka's name for it, which wins
		protocol = fields.Text("group_protocol")
	}
	if protocol != "" && !slices.Contains(h.hello.Capabilities, protocol) {
		return nil, Unimplemented(fmt.Sprintf("protocol %q", protocol))
	}
	h.plan = plan{isStatic: fields.Has("instance_id"), handlerDelay: fields.Millis("handler_delay_ms")}
	if text := fields.fields["on_revoked"]; text != nil && json.Unmarshal(text, &h.plan.onRevoked) == nil {
		fields.taken["on_revoked"] = true
	}
	client, err := h.make(h.Member, fields)
	if err != nil {
		return nil, err
	}
	h.begin(client, fields)
	h.write(Object{"name": "startup_complete"})
	return Object{"ignored": fields.Ignored()}, nil
}

// begin has the member's client, and polls it where it is one to be polled.
func (h *host) begin(client Client, fields *Subscribe) {
	h.state.Lock()
	defer h.state.Unlock()
	h.client = client
	if poller, is := client.(Poller); is {
		h.plan.pollTimeout = fields.Millis("poll_timeout_ms")
		h.polling = make(chan struct{})
		go func() {
			defer close(h.polling)
			h.poll(poller)
		}()
	}
}

// poll calls Poll over and over, through the gate, until the member closes; an error of it is reported, and the next poll comes a little
// later. After a fatal one the application polls no more, until it is resumed.
func (h *host) poll(poller Poller) {
	for h.ctx.Err() == nil {
		var err error
		h.Gate.Pass(h.ctx.Done(), func() { err = h.pollOnce(poller) })
		if err == nil {
			continue
		}
		h.Problem(err)
		if _, isFatal := h.hello.nameOf(err); isFatal {
			h.Gate.Shut()
		}
		h.Sleep(h.plan.pollTimeout)
	}
}

func (h *host) pollOnce(poller Poller) error {
	ctx, cancel := context.WithTimeout(h.ctx, max(h.plan.pollTimeout, time.Millisecond))
	defer cancel()
	err := caught(func() error { return poller.Poll(ctx) })
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // no record came in that time
	}
	return err
}

func (h *host) ofMember(client Client, c command) (Object, error) {
	switch c.name {
	case "pause":
		h.Gate.Shut()
	case "resume":
		h.Gate.Open()
	case "assignment":
		return Object{"partitions": partitionObjects(h.Owned())}, nil
	case "commit":
		return h.commit(client, c)
	case "position", "committed":
		return h.lookUp(client, c)
	case "resubscribe":
		if can, is := client.(Resubscriber); is {
			return nil, can.Resubscribe(field[[]string](c, "topics"))
		}
		return nil, Unimplemented("this client keeps its topics")
	case "unsubscribe":
		if can, is := client.(Unsubscriber); is {
			return nil, can.Unsubscribe(field[*bool](c, "leave"))
		}
		return nil, Unimplemented("this client leaves its group when it is closed")
	case "close":
		return nil, h.close(field[*bool](c, "leave"))
	}
	return nil, nil
}

func field[T any](c command, name string) T {
	var value T
	_ = json.Unmarshal(c.fields[name], &value)
	return value
}

func (h *host) commit(client Client, c command) (Object, error) {
	offsets := h.Positions()
	if c.fields["offsets"] != nil {
		offsets = offsetsOf(c.fields["offsets"])
	}
	if field[string](c, "mode") == "async" {
		can, is := client.(AsyncCommitter)
		if !is {
			return nil, Unimplemented("this client's commits wait for their end")
		}
		can.CommitAsync(offsets, func(err error) { h.Committed(offsets, err) })
		return Object{"offsets": offsetLists(offsets)}, nil
	}
	var err error
	if len(offsets) > 0 { // nothing was read: a commit of nothing is a success
		err = caught(func() error { return client.Commit(offsets) })
	}
	if isUnimplemented(err) {
		return nil, err
	}
	h.Committed(offsets, err)
	if err != nil && err != ErrOutcomeUnknown {
		return nil, err
	}
	return Object{"offsets": offsetLists(offsets)}, err
}

// lookUp answers what is committed, or how far the application is: where it has read nothing it begins at what is committed.
func (h *host) lookUp(client Client, c command) (Object, error) {
	asked := h.Owned()
	if text := c.fields["partitions"]; text != nil {
		asked = sortedPartitions(offsetsOf(text))
	}
	offsets := Offsets{}
	if c.name == "position" {
		offsets = h.positionsOf(asked)
	}
	unread := []Partition{}
	for _, each := range asked {
		if _, known := offsets[each]; !known {
			unread = append(unread, each)
		}
	}
	if len(unread) == 0 {
		return Object{"offsets": offsetLists(offsets)}, nil
	}
	committed, err := client.Committed(unread)
	if err != nil {
		return nil, err
	}
	for _, each := range unread {
		offsets[each] = -1
		if offset, known := committed[each]; known {
			offsets[each] = offset
		}
	}
	return Object{"offsets": offsetLists(offsets)}, nil
}

// close ends the member once; who asks again has it closed.
func (h *host) close(leave *bool) error {
	h.closing.Lock()
	defer h.closing.Unlock()
	if h.hasEnded {
		return nil
	}
	client := h.subscribed()
	chooser, mayChoose := client.(LeaveChooser)
	if !mayChoose {
		if err := h.CheckLeave(leave); err != nil {
			return err // the member stays open
		}
	}
	h.hasEnded = true
	h.cancel()
	if h.polling != nil {
		<-h.polling
	}
	err := caught(func() error {
		switch {
		case client == nil:
			return nil
		case mayChoose && leave != nil:
			return chooser.CloseLeaving(*leave)
		default:
			return client.Close()
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "close:", err)
	}
	h.write(Object{"name": "shutdown_complete"})
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
