package groupproof.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

class ConformanceTest {
    @TempDir
    Path folder;

    /** A program that stands for groupproof: notes how it was called, says a word, prints a report, ends with a status. */
    private Conformance by(int status, String... cases) throws IOException {
        String report = cases.length == 0 ? "" : "{\"cases\":[" + String.join(",", cases) + "]}";
        Path kit = folder.resolve("kit");
        Files.writeString(kit, "echo \"$@\" > " + folder.resolve("called") + "\necho 'a word to say' >&2\ncat <<'END'\n" + report + "\nEND\nexit " + status + "\n");
        return Conformance.ofProgram("java", "Shim").by("sh", kit.toString());
    }

    private static String result(String id, String verdict, String more) {
        return "{\"id\":\"" + id + "\",\"verdict\":\"" + verdict + "\",\"title\":\"A title.\",\"observed\":\"That.\",\"trace\":\"cases/c/trace.ndjson\",\"goodbye\":\"CLEAN\"" + more + "}";
    }

    private static String result(String id, String verdict) {
        return result(id, verdict, "");
    }

    private static List<String> outcomes(Conformance conformance) {
        List<String> found = new ArrayList<>();
        for (DynamicTest test : conformance.tests().collect(Collectors.toList())) {
            try {
                test.getExecutable().execute();
                found.add(test.getDisplayName() + " passed");
            } catch (TestAbortedException skipped) {
                found.add(test.getDisplayName() + " skipped: " + skipped.getMessage());
            } catch (Throwable failed) {
                found.add(test.getDisplayName() + " failed: " + failed.getMessage().lines().findFirst().orElse(""));
            }
        }
        return found;
    }

    @Test
    void eachCaseIsATestAndTheKitIsCalledAsOnACommandLine() throws IOException {
        List<String> found = outcomes(by(0, result("a/b/c", "OK"), result("a/b/d", "INFORMATIONAL")).with("--only", "x").to("out"));

        assertEquals(List.of("a/b/c passed", "a/b/d passed"), found);
        assertEquals("certify client --json --output out --only x -- java Shim\n", Files.readString(folder.resolve("called")));
    }

    @Test
    void whatIsNotOkFailsOrIsSkippedWithItsReason() throws IOException {
        List<String> found = outcomes(by(1, result("a", "FAILED"), result("b", "UNIMPLEMENTED"), result("c", "EXCUSED", ",\"excused\":{\"reason\":\"drops it\",\"source\":\"page.md\"}"),
                result("d", "FAILED", ",\"preview\":true"), result("e", "INCONCLUSIVE"), result("f", "BROKEN"), result("g", "NON_STRICT")));

        assertEquals(List.of("a failed: FAILED: That.", "b skipped: That.", "c skipped: known: drops it (page.md)",
                "d skipped: preview, not counted: FAILED: That.", "e failed: no verdict, which is not laid at the client's door: That.",
                "f failed: the shim is broken, which says nothing of the client: That.", "g passed"), found);
    }

    @Test
    void aFailureNamesTheTrace() throws IOException {
        DynamicTest test = by(1, result("a", "FAILED")).to("out").tests().findFirst().orElseThrow();
        Throwable failure = assertThrows(AssertionError.class, () -> test.getExecutable().execute());

        assertTrue(failure.getMessage().contains("out/cases/c/trace.ndjson"), failure.getMessage());
        assertTrue(failure.getMessage().contains("A title."), failure.getMessage());
    }

    @Test
    void whatElseFailsACaseIsChosenByAnOption() throws IOException {
        assertEquals(List.of("a failed: NON_STRICT: That."), outcomes(by(1, result("a", "NON_STRICT")).with("--fail-on", "non-strict")));
        String unclean = result("a", "OK").replace("CLEAN", "UNCLEAN");
        assertEquals(List.of("a failed: UNCLEAN: it did not end in order"), outcomes(by(1, unclean).with("--fail-on", "unclean")));
        assertEquals(List.of("a passed"), outcomes(by(0, unclean)));
    }

    @Test
    void aStaleExpectationFailsATestOfItsOwn() throws IOException {
        assertEquals(List.of("a passed", "groupproof failed: a word to say"), outcomes(by(1, result("a", "OK"))));
        assertEquals("groupproof failed: nothing was judged", outcomes(by(2, result("a", "UNIMPLEMENTED"))).get(1));
    }

    @Test
    void anEnvironmentThatLacksSomethingFailsTheWholeInTheKitsWords() throws IOException {
        for (int status : List.of(3, 4, 5, 130)) {
            Conformance conformance = by(status);
            assertEquals("a word to say", assertThrows(IllegalStateException.class, conformance::tests).getMessage());
        }
        Conformance absent = Conformance.ofClient("java").by("no-such-program");
        assertTrue(assertThrows(IllegalStateException.class, absent::tests).getMessage().startsWith("no-such-program cannot be started: install groupproof"));
    }
}
