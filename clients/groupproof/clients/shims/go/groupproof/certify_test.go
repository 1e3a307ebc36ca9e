package groupproof

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The program of these tests is also the groupproof that they ask, and the `go test` that they look at.
const (
	exitCode = "FAKE_EXIT_CODE"
	junit    = "FAKE_JUNIT"
)

func TestMain(m *testing.M) {
	if code, isFake := os.LookupEnv(exitCode); isFake && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		beGroupproof(code)
	}
	os.Exit(m.Run())
}

func beGroupproof(code string) {
	if os.Args[1] == "list" {
		fmt.Println(`[{"id": "join/classic/first"}, {"id": "join/classic/second"}, {"id": "leave/classic/first"}]`)
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "asked:", strings.Join(os.Args[1:], " "))
	if text := os.Getenv(junit); text != "" {
		output := os.Args[slices.Index(os.Args, "--output")+1]
		_ = os.MkdirAll(output, 0o755)
		_ = os.WriteFile(filepath.Join(output, "junit.xml"), []byte("<testsuites><testsuite>"+text+"</testsuite></testsuites>"), 0o644)
	}
	status, _ := strconv.Atoi(code)
	os.Exit(status)
}

// TestInner is run by the others, as a user's `go test` runs his.
func TestInner(t *testing.T) {
	if _, isFake := os.LookupEnv(exitCode); !isFake {
		t.Skip("it is for the tests beside it")
	}
	Certify{Options: []string{"--seed", "7"}, Skip: []string{"slow"}}.Run(t, "./shim", "argument")
}

// inner returns what `go test` says when groupproof ends so.
func inner(t *testing.T, folder, run, code, cases string) (string, bool) {
	t.Helper()
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	test := exec.Command(program, "-test.v", "-test.run", run)
	test.Dir = folder
	test.Env = append(os.Environ(), "GROUPPROOF="+program, exitCode+"="+code, junit+"="+cases)
	said, err := test.CombinedOutput()
	return string(said), err == nil
}

const (
	passed  = `<testcase classname="join.classic" name="first" time="1.000"><system-out>` + "\nOK\n" + `</system-out></testcase>`
	failed  = `<testcase classname="join.classic" name="second" time="1.000"><failure type="FAILED" message="It left.">` + "\ntrace: a/trace.ndjson\n" + `</failure></testcase>`
	broken  = `<testcase classname="join.classic" name="second" time="1.000"><error type="BROKEN" message="It lied."/></testcase>`
	lacking = `<testcase classname="static.classic" name="first" time="0.000"><skipped type="UNIMPLEMENTED" message="it does not declare static"/></testcase>`
	stale   = `<testcase classname="expectations" name="known.toml, entry 1" time="0.000"><failure type="STALE" message="it passes"/></testcase>`
)

func TestACaseIsASubtest(t *testing.T) {
	for _, each := range []struct {
		name, code, cases string
		passes            bool
		says              []string
	}{
		{"all is well", "0", passed + lacking, true, []string{
			"--- PASS: TestInner/join/classic/first", "--- SKIP: TestInner/static/classic/first", "UNIMPLEMENTED: it does not declare static",
			"certify client --output", "--seed 7", "--skip slow -- ./shim argument",
		}},
		{"a failure", "1", passed + failed, false, []string{"--- FAIL: TestInner/join/classic/second", "FAILED: It left.", "trace: a/trace.ndjson", "--- PASS: TestInner/join"}},
		{"a broken shim", "4", broken, false, []string{"--- FAIL: TestInner/join/classic/second", "BROKEN: It lied."}},
		{"a stale expectation", "1", passed + stale, false, []string{"--- FAIL: TestInner/expectations/known.toml,_entry_1", "STALE: it passes"}},
		{"a grade that is none", "2", passed, false, []string{"no case failed, and groupproof ended with 2"}},
		{"no report", "4", "", false, []string{"groupproof could judge nothing, and ended with 4", "asked: certify client"}},
		{"no case", "3", " ", false, []string{"groupproof could judge nothing, and ended with 3"}},
		{"interrupted", "130", passed + failed, false, []string{"the run was interrupted"}},
	} {
		t.Run(each.name, func(t *testing.T) {
			said, passes := inner(t, t.TempDir(), "^TestInner$", each.code, each.cases)
			if passes != each.passes {
				t.Errorf("it passes: %v", passes)
			}
			for _, part := range each.says {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q", part)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

func TestWhatAnEarlierRunLeftIsNotRead(t *testing.T) {
	folder := t.TempDir()
	inner(t, folder, "^TestInner$", "0", passed)
	if said, passes := inner(t, folder, "^TestInner$", "4", ""); passes || !strings.Contains(said, "could judge nothing") {
		t.Error(said)
	}
}

func TestAPatternChoosesCases(t *testing.T) {
	for run, only := range map[string]string{
		"TestInner/join":          "--only join/classic/first --only join/classic/second --skip",
		"TestInner/./classic/fir": "--only join/classic/first --only leave/classic/first --skip",
		"TestInner":               "--seed 7 --skip",
		"TestInner/join|leave":    "--seed 7 --skip",
	} {
		if said, passes := inner(t, t.TempDir(), run, "2", passed); !strings.Contains(said, only) || passes != strings.Contains(only, "--only") {
			t.Errorf("%s: %s", run, said)
		}
	}
	if said, _ := inner(t, t.TempDir(), "TestInner/dance", "0", passed); !strings.Contains(said, "no case is called dance") {
		t.Error(said)
	}
}

func TestWithoutGroupproofTheErrorSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if os.Getenv("GROUPPROOF_ABSENT") != "" {
		Run(t, "./shim")
		return
	}
	test := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	test.Env = append(os.Environ(), "GROUPPROOF_ABSENT=1")
	if said, err := test.CombinedOutput(); err == nil || !strings.Contains(string(said), "install groupproof") {
		t.Error(string(said))
	}
}

func TestAShimIsBuilt(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not here")
	}
	folder := t.TempDir()
	source := filepath.Join(folder, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"built\") }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(Build(t, source)).CombinedOutput(); err != nil || string(said) != "built\n" {
		t.Error(string(said), err)
	}
}
