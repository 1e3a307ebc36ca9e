package groupproof.shim;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** A process of which stdin is a text and stdout is kept. */
final class ScriptedProcess {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    final ShimProcess process;

    ScriptedProcess(List<String> capabilities, Function<String, Member> make) {
        process = new ShimProcess(new PrintStream(out, true, StandardCharsets.UTF_8), capabilities, make);
    }

    /** Gives lines as commands, closes all members, and returns what was written. */
    List<Map<String, Object>> run(String... lines) throws Exception {
        process.read(new BufferedReader(new StringReader(String.join("\n", lines))));
        process.closeAll();
        return lines();
    }

    @SuppressWarnings("unchecked")
    List<Map<String, Object>> lines() {
        List<Map<String, Object>> found = new ArrayList<>();
        for (String line : out.toString(StandardCharsets.UTF_8).split("\n")) {
            if (!line.isEmpty()) found.add((Map<String, Object>) new Json(line).value());
        }
        return found;
    }

    static Object name(Map<String, Object> line) {
        return line.getOrDefault("name", "answer");
    }
}
