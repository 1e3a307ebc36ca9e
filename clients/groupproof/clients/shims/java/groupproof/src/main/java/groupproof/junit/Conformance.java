package groupproof.junit;

import groupproof.shim.Json;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DynamicTest;

/**
 * The cases of groupproof as tests of JUnit 5: one run of `groupproof certify client`, and a test for each case.
 *
 * <pre>{@code
 * @TestFactory
 * Stream<DynamicTest> keepsTheProtocol() {
 *     return Conformance.ofProgram("java", "-cp", System.getProperty("java.class.path"), "MyShim").with("--only", "heartbeat/classic").tests();
 * }
 * }</pre>
 */
public final class Conformance {
    private static final int LAST_LINES = 12;
    private final List<String> subject;
    private final List<String> options = new ArrayList<>();
    private List<String> kit = List.of(System.getenv().getOrDefault("GROUPPROOF", "groupproof").split(" "));
    private String output = "target/groupproof";

    private Conformance(List<String> subject) {
        this.subject = subject;
    }

    /** The client whose shim this command line starts. */
    public static Conformance ofProgram(String... program) {
        List<String> subject = new ArrayList<>(List.of("--"));
        subject.addAll(Arrays.asList(program));
        return new Conformance(subject);
    }

    /** A client that groupproof has registered: `java@4.1.1`. */
    public static Conformance ofClient(String name) {
        return new Conformance(List.of(name));
    }

    /** Options of `groupproof certify client`, as they stand on its command line. */
    public Conformance with(String... more) {
        options.addAll(Arrays.asList(more));
        return this;
    }

    /** The command that runs groupproof, where it is not what the environment's GROUPPROOF says, nor `groupproof`. */
    public Conformance by(String... command) {
        kit = List.of(command);
        return this;
    }

    /** Where the report goes: target/groupproof unless said otherwise. */
    public Conformance to(String folder) {
        output = folder;
        return this;
    }

    /** Runs groupproof and returns a test for each case. Throws what groupproof says where it could not run; what no case answers for is a test of its own. */
    public Stream<DynamicTest> tests() {
        Ended ended = run();
        List<Outcome> outcomes = new ArrayList<>();
        for (Object found : ended.cases) outcomes.add(new Outcome((Map<?, ?>) found, options, output));
        List<DynamicTest> made = new ArrayList<>();
        for (Outcome outcome : outcomes) made.add(DynamicTest.dynamicTest(outcome.id, outcome::check));
        String rest = ended.whatElse(outcomes);
        if (rest != null) made.add(DynamicTest.dynamicTest("groupproof", () -> Assertions.fail(rest)));
        return made.stream();
    }

    private Ended run() {
        List<String> command = new ArrayList<>(kit);
        command.addAll(List.of("certify", "client", "--json", "--output", output));
        command.addAll(options);
        command.addAll(subject);
        try {
            Process process = new ProcessBuilder(command).redirectInput(ProcessBuilder.Redirect.from(nothing())).start();
            Thread ending = new Thread(process::destroy); // a build that is cancelled leaves no run behind
            Runtime.getRuntime().addShutdownHook(ending);
            Deque<String> said = new ArrayDeque<>();
            Thread reader = new Thread(() -> passOn(process.getErrorStream(), said));
            reader.start();
            String report = text(process.getInputStream());
            reader.join();
            int status = process.waitFor();
            Runtime.getRuntime().removeShutdownHook(ending);
            return new Ended(status, report, String.join("\n", said));
        } catch (IOException cannotStart) {
            throw new IllegalStateException(kit.get(0) + " cannot be started: install groupproof, or say in GROUPPROOF how it is run", cannotStart);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while groupproof ran", interrupted);
        }
    }

    private static File nothing() {
        return new File(System.getProperty("os.name").startsWith("Windows") ? "NUL" : "/dev/null");
    }

    private static String text(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        in.transferTo(all);
        return all.toString(StandardCharsets.UTF_8);
    }

    /** Passes on what groupproof says while it runs, and keeps its last lines. */
    private static void passOn(InputStream in, Deque<String> last) {
        new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8)).lines().forEach(line -> {
            System.err.println(line);
            last.add(line);
            if (last.size() > LAST_LINES) last.remove();
        });
    }

    /** How groupproof ended: its exit status, the cases of its report, its last words. */
    private static final class Ended {
        final int status;
        final String said;
        final List<?> cases;

        Ended(int status, String report, String said) {
            this.status = status;
            this.said = said.isEmpty() ? "groupproof ended with " + status : said;
            if (report.isBlank() || !List.of(0, 1, 2, 4).contains(status)) throw new IllegalStateException(this.said);
            cases = (List<?>) ((Map<?, ?>) new Json(report).value()).get("cases");
        }

        /** What fails the run as a whole, though no case does: an expectation that is stale, nothing judged. */
        String whatElse(List<Outcome> outcomes) {
            if (outcomes.stream().allMatch(outcome -> outcome.verdict.equals("UNIMPLEMENTED"))) return "nothing was judged\n" + said;
            boolean isAdverse = status == 1 || status == 4;
            return isAdverse && outcomes.stream().noneMatch(outcome -> outcome.failure != null) ? said : null;
        }
    }

    /** What becomes of a case: the same as in groupproof's pytest plugin. */
    private static final class Outcome {
        final String id;
        final String verdict;
        String failure;
        String skipped;

        Outcome(Map<?, ?> result, List<String> options, String output) {
            id = (String) result.get("id");
            verdict = (String) result.get("verdict");
            String observed = String.valueOf(result.get("observed"));
            String headline = headline(result, observed, String.join(" ", options));
            if (headline != null) failure = headline + "\n" + evidence(result, output);
        }

        private String headline(Map<?, ?> result, String observed, String options) {
            Map<?, ?> excuse = (Map<?, ?>) result.get("excused");
            if (Boolean.TRUE.equals(result.get("preview")) && !verdict.equals("OK")) return skip("preview, not counted: " + verdict + ": " + observed);
            if (excuse != null) return skip("known: " + excuse.get("reason") + " (" + excuse.get("source") + ")");
            switch (verdict) {
                case "FAILED": return "FAILED: " + observed;
                case "BROKEN": return "the shim is broken, which says nothing of the client: " + observed;
                case "INCONCLUSIVE": return "no verdict, which is not laid at the client's door: " + observed;
                case "UNIMPLEMENTED": return skip(observed);
                case "NON_STRICT": return options.contains("non-strict") ? "NON_STRICT: " + observed : null;
                default: return options.contains("unclean") && "UNCLEAN".equals(result.get("goodbye")) ? "UNCLEAN: it did not end in order" : null;
            }
        }

        private String skip(String why) {
            skipped = why;
            return null;
        }

        private static String evidence(Map<?, ?> result, String output) {
            StringBuilder lines = new StringBuilder();
            for (String name : List.of("title", "requirements", "expected", "observed", "grounds", "replay")) {
                Object value = result.get(name);
                if (value != null && !value.equals("")) lines.append(String.format("  %-12s %s%n", name, value));
            }
            if (result.get("trace") != null) lines.append(String.format("  %-12s %s/%s%n", "trace", output, result.get("trace")));
            return lines.toString();
        }

        void check() {
            if (failure != null) Assertions.fail(failure);
            if (skipped != null) Assumptions.abort(skipped);
        }
    }
}
