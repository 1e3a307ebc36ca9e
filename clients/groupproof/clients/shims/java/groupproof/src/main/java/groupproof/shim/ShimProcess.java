package groupproof.shim;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** The process of a shim: says hello, hands commands to members, which are told apart by their names, and ends in order. */
public final class ShimProcess {
    private static final Set<String> COMMANDS = Set.of("subscribe", "resubscribe", "pause", "resume", "commit", "assignment", "position",
            "committed", "unsubscribe", "close");
    private final PrintStream out;
    private final Set<String> capabilities;
    private final Function<String, Member> make;
    private final Map<String, Member> members = Collections.synchronizedMap(new LinkedHashMap<>());

    ShimProcess(PrintStream out, Collection<String> capabilities, Function<String, Member> make) {
        this.out = out;
        this.capabilities = Set.copyOf(capabilities);
        this.make = make;
    }

    /** Serves commands from stdin until its end, SIGTERM, `exit`, or the close of the only, nameless member; `make` gives a member by its name. */
    public static void serve(String client, String version, Collection<String> capabilities, Function<String, Member> make) throws Exception {
        List<String> claimed = new ArrayList<>(capabilities);
        if (!claimed.contains("multi")) claimed.add("multi");
        ShimProcess process = new ShimProcess(System.out, claimed, make);
        System.setOut(System.err); // whatever the client prints
        quietLog();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> process.end(null), "sigterm"));
        process.write(Json.of("name", "hello", "contract", 1, "client", client, "version", version, "language", "java", "capabilities", claimed));
        process.end(process.read(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))));
    }

    /** Where slf4j-simple logs for Kafka's client: with times, without the list of each consumer's settings. */
    private static void quietLog() {
        System.setProperty("org.slf4j.simpleLogger.showDateTime", "true");
        System.setProperty("org.slf4j.simpleLogger.dateTimeFormat", "HH:mm:ss.SSS");
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka.clients.consumer.ConsumerConfig", "warn");
        for (String folder : List.of("", "internals.")) { // it moved in 4.4
            System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka.common.utils." + folder + "AppInfoParser", "error");
        }
    }

    /** Reads commands; returns the `exit` command or null. */
    Map<String, Object> read(BufferedReader in) throws Exception {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> command = parsed(line);
            if (command == null) continue;
            String name = (String) command.get("command");
            if (name.equals("exit")) return command;
            dispatch(name, command);
            if (name.equals("close") && !command.containsKey("member")) return null;
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> parsed(String line) {
        try {
            Map<String, Object> command = (Map<String, Object>) new Json(line).value();
            if (command.get("command") instanceof String) return command;
        } catch (RuntimeException notJson) {
            System.err.println(notJson);
        }
        System.err.println("not a command: " + line); // it has no id, so nobody waits for an answer
        return null;
    }

    private void dispatch(String name, Map<String, Object> command) {
        String key = (String) command.get("member");
        Member member = members.get(key);
        if (!COMMANDS.contains(name)) {
            answer(command, Json.of("unimplemented", "this shim knows no command '" + name + "'"));
        } else if (member != null && member.put(command)) {
            return;
        } else if (name.equals("subscribe")) {
            members.put(key, begin(key, command));
        } else {
            answer(command, new Problem("ILLEGAL_STATE", "member " + key + " has not subscribed, or has closed", false).fields());
        }
    }

    private Member begin(String key, Map<String, Object> command) {
        Member member = make.apply(key);
        member.put(command);
        member.start(this);
        return member;
    }

    /** Closes all members and ends the process with status 0, once, whether stdin, `exit` or SIGTERM came first. */
    private synchronized void end(Map<String, Object> exit) {
        closeAll();
        if (exit != null) answer(exit, Json.of("ok", true));
        Runtime.getRuntime().halt(0);
    }

    void closeAll() {
        List<Member> all = new ArrayList<>(members.values());
        for (Member member : all) member.put(new HashMap<>(Map.of("command", "close")));
        for (Member member : all) member.awaitEnd();
    }

    boolean claims(String capability) {
        return capabilities.contains(capability);
    }

    void answer(Map<String, Object> command, Map<String, Object> fields) {
        if (!command.containsKey("id")) return; // the close at the process's end: nobody waits for an answer
        Map<String, Object> line = Json.of("id", command.get("id"), "member", command.get("member"));
        line.putAll(fields);
        write(line);
    }

    /** Writes a line whole, and flushes it, whichever thread writes. */
    void write(Map<String, Object> line) {
        byte[] bytes = (Json.text(line) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (out) {
            out.write(bytes, 0, bytes.length);
            out.flush();
        }
    }
}
