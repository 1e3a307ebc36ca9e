package groupproof

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// testCase is one of junit.xml.
type testCase struct {
	Area    string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *outcome `xml:"failure"`
	Error   *outcome `xml:"error"`
	Skipped *outcome `xml:"skipped"`
	Output  string   `xml:"system-out"`
}

// outcome is what became of a case that did not just pass. The text of one that failed names the trace, and the command that replays it.
type outcome struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func readCases(path string) ([]testCase, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var report struct {
		Cases []testCase `xml:"testsuite>testcase"`
	}
	return report.Cases, xml.Unmarshal(text, &report)
}

func (c testCase) id() string { return strings.ReplaceAll(c.Area, ".", "/") + "/" + c.Name }

// report is the case as a test.
func (c testCase) report(t *testing.T) {
	switch {
	case c.Failure != nil:
		t.Error(c.Failure)
	case c.Error != nil:
		t.Error(c.Error)
	case c.Skipped != nil:
		t.Skip(c.Skipped)
	case c.Output != "":
		t.Log(strings.TrimSpace(c.Output))
	}
}

func (o *outcome) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s\n%s", o.Type, o.Message, strings.TrimSpace(o.Text)))
}

// asksFor returns what `go test -run` says of the cases below this test, one pattern for each part of an id. Alternatives are left alone:
// then all cases are run, and Go shows those that it was asked for.
func asksFor(test string) []string {
	run := flag.Lookup("test.run")
	if run == nil || strings.ContainsAny(run.Value.String(), "|()[]") {
		return nil
	}
	parts := strings.Split(run.Value.String(), "/")
	return parts[min(len(parts), strings.Count(test, "/")+1):]
}

// matching returns the ids of the cases that match these patterns, part by part, as Go matches the names of subtests.
func (c Certify) matching(t *testing.T, patterns []string) []string {
	t.Helper()
	arguments := []string{"list", "cases", "--side", "client", "--json"}
	for _, each := range c.Only {
		arguments = append(arguments, "--only", each)
	}
	text, err := c.asked(context.Background(), arguments).Output()
	var listed []struct{ ID string }
	if err == nil {
		err = json.Unmarshal(text, &listed)
	}
	if err != nil {
		t.Fatalf("groupproof lists no cases: %v", err)
	}
	found := []string{}
	for _, each := range listed {
		if matches(patterns, strings.Split(each.ID, "/")) {
			found = append(found, each.ID)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no case is called %s", strings.Join(patterns, "/"))
	}
	return found
}

func matches(patterns, parts []string) bool {
	for place, part := range parts {
		if place < len(patterns) {
			if is, err := regexp.MatchString(patterns[place], part); !is || err != nil {
				return false
			}
		}
	}
	return true
}
