// Package groupproof makes the conformance cases of groupproof subtests of `go test`.
//
// groupproof is asked once for all cases; its junit.xml says what passed, failed or is skipped, and why.
package groupproof

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inOrder is how long before the deadline of `go test` a run is interrupted, so that no process is left and its report is written.
const inOrder = 20 * time.Second

// Certify says which cases are run, and how. The zero value runs all.
type Certify struct {
	// Only and Skip are ids of cases or requirements, prefixes and globs. `go test -run TestClient/heartbeat/classic` does the same by hand.
	Only, Skip []string
	// Options are further ones of `groupproof certify client`, such as "--expect", "known.toml".
	Options []string
	// Output is the folder of the report; reports/NAME-OF-THE-TEST where it is empty.
	Output string
	// Program is the command that runs groupproof: by default what the environment's GROUPPROOF says, else `groupproof`.
	Program []string
}

// Run certifies the client behind a shim, or a registered client by its name, and makes a subtest of each case.
func Run(t *testing.T, command ...string) {
	t.Helper()
	Certify{}.Run(t, command...)
}

// Build builds the shim in a package of this module, and returns the program.
func Build(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "shim")
	if said, err := exec.Command("go", "build", "-o", program, folder).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", folder, err, said)
	}
	return program
}

// Run does what the function of this name does, as c says.
func (c Certify) Run(t *testing.T, command ...string) {
	t.Helper()
	c = c.complete(t)
	isSelection := len(c.Only) > 0
	said, code := c.certify(t, command)
	cases, err := readCases(filepath.Join(c.Output, "junit.xml"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("groupproof could judge nothing, and ended with %d:\n%s", code, said)
	}
	for _, each := range cases {
		t.Run(each.id(), each.report)
	}
	switch {
	case code == 0, code == 2 && isSelection: // a part is no grade
	case !t.Failed():
		t.Errorf("no case failed, and groupproof ended with %d:\n%s", code, said)
	case code == 130:
		t.Errorf("the run was interrupted:\n%s", said)
	}
}

func (c Certify) complete(t *testing.T) Certify {
	t.Helper()
	if len(c.Program) == 0 {
		c.Program = strings.Fields(cmp.Or(os.Getenv("GROUPPROOF"), "groupproof"))
	}
	if c.Output == "" {
		c.Output = filepath.Join("reports", t.Name())
	}
	output, err := filepath.Abs(c.Output)
	if err != nil {
		t.Fatal(err)
	}
	c.Output = output
	if asked := asksFor(t.Name()); len(asked) > 0 {
		c.Only = c.matching(t, asked)
	}
	return c
}

// certify has groupproof judge the client, and returns its last lines and its exit code.
func (c Certify) certify(t *testing.T, command []string) (said string, code int) {
	t.Helper()
	// What an earlier run left must not be read for this one's.
	if err := os.Remove(filepath.Join(c.Output, "junit.xml")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	arguments := append([]string{"certify", "client", "--output", c.Output}, c.Options...)
	for _, each := range c.Only {
		arguments = append(arguments, "--only", each)
	}
	for _, each := range c.Skip {
		arguments = append(arguments, "--skip", each)
	}
	if len(command) != 1 || strings.ContainsAny(command[0], `/\`) {
		arguments = append(arguments, "--")
	}
	ctx, cancel := untilTheEnd(t)
	defer cancel()
	var lines bytes.Buffer
	running := c.asked(ctx, append(arguments, command...))
	running.Stdout, running.Stderr = &lines, &lines
	if testing.Verbose() {
		running.Stdout = io.MultiWriter(&lines, os.Stderr)
		running.Stderr = running.Stdout
	}
	running.Cancel = func() error { return running.Process.Signal(os.Interrupt) }
	running.WaitDelay = inOrder / 2
	if err := running.Run(); err != nil && running.ProcessState == nil {
		t.Fatalf("%v; install groupproof, or say in GROUPPROOF how it is run", err)
	}
	return last(lines.String()), running.ProcessState.ExitCode()
}

func (c Certify) asked(ctx context.Context, arguments []string) *exec.Cmd {
	return exec.CommandContext(ctx, c.Program[0], append(c.Program[1:len(c.Program):len(c.Program)], arguments...)...)
}

func untilTheEnd(t *testing.T) (context.Context, context.CancelFunc) {
	if deadline, has := t.Deadline(); has {
		return context.WithDeadline(context.Background(), deadline.Add(-inOrder))
	}
	return context.WithCancel(context.Background())
}

func last(said string) string {
	const linesMax = 20
	lines := strings.Split(strings.TrimRight(said, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-linesMax):], "\n")
}
