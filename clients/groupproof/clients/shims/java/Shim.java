import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Apache Kafka's Java client behind the shim contract, version 1: kafka-clients 2.2 to 4.x, one consumer and one thread for each member.
 *
 * <p>The file compiles against any of these releases; what only some of them have is reached by reflection. Reading order: the process,
 * Member (commands, then callbacks), Settings, Problem, Json.
 */
public final class Shim {
    static final PrintStream OUT = System.out;
    static final Object GOODBYE = new Object();
    static final Map<String, Target> MEMBERS = Collections.synchronizedMap(new LinkedHashMap<>());
    static final Set<String> COMMANDS = Set.of("subscribe", "resubscribe", "pause", "resume", "commit", "assignment", "position",
            "committed", "unsubscribe", "close");

    /** Makes a member by its name. */
    static Function<String, Target> maker = Member::new;

    /** What the process knows of a member: it takes commands, in order, until it has closed. */
    interface Target {
        /** Queues a command; false once the member has closed. */
        boolean put(Map<String, Object> command);

        void start();

        void awaitEnd();
    }

    public static void main(String[] args) throws Exception {
        serve("java", Settings.RELEASE, Settings.capabilities(), Member::new);
    }

    /** The process of any shim: says hello, hands commands to members that `make` makes, and ends in order. */
    static void serve(String client, String version, List<Object> capabilities, Function<String, Target> make) throws Exception {
        maker = make;
        System.setOut(System.err); // whatever the client prints
        System.setProperty("org.slf4j.simpleLogger.showDateTime", "true");
        System.setProperty("org.slf4j.simpleLogger.dateTimeFormat", "HH:mm:ss.SSS");
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka.clients.consumer.ConsumerConfig", "warn");
        for (String folder : List.of("", "internals.")) { // it moved in 4.4
            System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka.common.utils." + folder + "AppInfoParser", "error");
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(null), "sigterm"));
        write(json("name", "hello", "contract", 1, "client", client, "version", version, "language", "java", "capabilities", capabilities));
        end(read(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))));
    }

    /** Reads commands until the end of stdin, `exit`, or the close of the only, nameless member; returns the `exit` command or null. */
    static Map<String, Object> read(BufferedReader in) throws Exception {
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
    static Map<String, Object> parsed(String line) {
        try {
            Map<String, Object> command = (Map<String, Object>) new Json(line).value();
            if (command.get("command") instanceof String) return command;
        } catch (RuntimeException notJson) {
            System.err.println(notJson);
        }
        System.err.println("not a command: " + line); // it has no id, so nobody waits for an answer
        return null;
    }

    static void dispatch(String name, Map<String, Object> command) {
        String key = (String) command.get("member");
        Target member = MEMBERS.get(key);
        if (!COMMANDS.contains(name)) {
            answer(command, json("unimplemented", "this shim knows no command '" + name + "'"));
        } else if (member != null && member.put(command)) {
            return;
        } else if (name.equals("subscribe")) {
            Target created = maker.apply(key);
            MEMBERS.put(key, created);
            created.put(command);
            created.start();
        } else {
            answer(command, new Problem("ILLEGAL_STATE", "member " + key + " has not subscribed, or has closed", false).fields());
        }
    }

    /** Closes all members and ends the process with status 0, once, whether stdin, `exit` or SIGTERM came first. */
    static void end(Map<String, Object> exit) {
        synchronized (GOODBYE) {
            List<Target> members = new ArrayList<>(MEMBERS.values());
            for (Target member : members) member.put(new HashMap<>(Map.of("command", "close")));
            for (Target member : members) member.awaitEnd();
            if (exit != null) answer(exit, json("ok", true));
            Runtime.getRuntime().halt(0);
        }
    }

    static void answer(Map<String, Object> command, Map<String, Object> fields) {
        if (!command.containsKey("id")) return; // the goodbye at the process's end: nobody waits for an answer
        Map<String, Object> line = json("id", command.get("id"), "member", command.get("member"));
        line.putAll(fields);
        write(line);
    }

    static void write(Map<String, Object> line) {
        byte[] bytes = (Json.text(line) + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (OUT) {
            OUT.write(bytes, 0, bytes.length);
            OUT.flush();
        }
    }

    /** Makes a line from names and values in turn; a null value leaves its name out. */
    static Map<String, Object> json(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) if (pairs[i + 1] != null) made.put((String) pairs[i], pairs[i + 1]);
        return made;
    }

    /** The client, or this shim, has no such feature. */
    static final class Unimplemented extends RuntimeException {
        Unimplemented(String why) {
            super(why);
        }
    }

    /** One consumer in its thread. Commands run between polls, as in any application: the consumer is not thread-safe. */
    static final class Member extends Thread implements ConsumerRebalanceListener, Target {
        final String key;
        final LinkedBlockingQueue<Map<String, Object>> inbox = new LinkedBlockingQueue<>();
        KafkaConsumer<byte[], byte[]> consumer;
        boolean polling;
        boolean closed;
        boolean done;
        boolean isStatic;
        Duration pollTimeout = Duration.ofMillis(100);
        long handlerDelay = 0;
        Map<String, Object> onRevoked = Map.of();

        Member(String key) {
            super("member " + key);
            this.key = key;
            setDaemon(true);
        }

        @Override
        public synchronized boolean put(Map<String, Object> command) {
            return !done && inbox.add(command);
        }

        synchronized void finish() {
            done = true;
        }

        @Override
        public void awaitEnd() {
            try {
                join();
            } catch (InterruptedException interrupted) {
                interrupt();
            }
        }

        @Override
        public void run() {
            while (!done) {
                Map<String, Object> command = polling ? inbox.poll() : next();
                if (command != null) carryOut(command);
                else poll();
            }
            for (Map<String, Object> late : inbox) answer(late, new Problem("ILLEGAL_STATE", "this member has closed", false).fields());
        }

        Map<String, Object> next() {
            try {
                return inbox.take();
            } catch (InterruptedException interrupted) {
                return new HashMap<>(Map.of("command", "close"));
            }
        }

        void poll() {
            try {
                records(consumer.poll(pollTimeout));
            } catch (RuntimeException error) {
                error.printStackTrace();
                Problem problem = Problem.of(error);
                emit("error", problem.fields());
                if (problem.fatal) polling = false; // as an application would end; `resume` makes it go on
                else pause(pollTimeout.toMillis());
            }
        }

        void records(ConsumerRecords<byte[], byte[]> records) {
            if (records.isEmpty()) return;
            List<Object> parts = new ArrayList<>();
            for (TopicPartition partition : records.partitions()) {
                List<ConsumerRecord<byte[], byte[]>> some = records.records(partition);
                parts.add(json("topic", partition.topic(), "partition", partition.partition(), "minOffset", some.get(0).offset(),
                        "maxOffset", some.get(some.size() - 1).offset(), "count", some.size()));
            }
            emit("records_consumed", json("count", records.count(), "partitions", parts));
            if (handlerDelay > 0) pause(handlerDelay); // the application works on them, and polls no more meanwhile
        }

        void carryOut(Map<String, Object> command) {
            Map<String, Object> fields = json("ok", true);
            try {
                fields.putAll(run((String) command.get("command"), command));
            } catch (Unimplemented why) {
                fields = json("unimplemented", why.getMessage());
            } catch (Exception error) {
                error.printStackTrace();
                fields = Problem.of(error).ofCommand(consumer != null).fields();
            }
            if (closed || consumer == null) finish();
            answer(command, fields);
        }

        Map<String, Object> run(String name, Map<String, Object> command) throws Exception {
            switch (name) {
                case "subscribe": return subscribe(command);
                case "resubscribe": return resubscribe(strings(command.get("topics")));
                case "pause": polling = false; return json();
                case "resume": polling = true; return json();
                case "commit": return commit(command);
                case "assignment": return json("partitions", objects(consumer.assignment()));
                case "position": return positions(command);
                case "committed": return committed(command);
                case "unsubscribe": return unsubscribe(command);
                default: return close((Boolean) command.get("leave"));
            }
        }

        @SuppressWarnings("unchecked")
        Map<String, Object> subscribe(Map<String, Object> command) {
            if (consumer != null) throw new IllegalStateException("this member has subscribed already; use resubscribe");
            Settings settings = new Settings(command);
            pollTimeout = Duration.ofMillis(((Number) settings.take("poll_timeout_ms", 100L)).longValue());
            handlerDelay = ((Number) settings.take("handler_delay_ms", 0L)).longValue();
            onRevoked = (Map<String, Object>) settings.take("on_revoked", Map.of());
            isStatic = command.get("instance_id") != null && Settings.CONFIGS.contains("group.instance.id");
            consumer = new KafkaConsumer<>(settings.properties());
            resubscribe(strings(settings.take("topics", List.of())));
            emit("startup_complete", json());
            return json("ignored", new ArrayList<>(settings.ignored));
        }

        Map<String, Object> resubscribe(List<String> topics) {
            consumer.subscribe(topics, this);
            polling = true;
            return json();
        }

        Map<String, Object> unsubscribe(Map<String, Object> command) {
            if (Boolean.FALSE.equals(command.get("leave"))) throw new Unimplemented("the Java client decides by itself whether it leaves");
            polling = false;
            consumer.unsubscribe();
            return json();
        }

        /** KIP-1092 (4.1) lets an application say whether it leaves; before, dynamic members leave and static ones stay. */
        Map<String, Object> close(Boolean leave) throws Exception {
            Object options = leave == null || leave != isStatic ? null : Settings.closeOptions(leave);
            if (leave != null && leave == isStatic && options == null)
                throw new Unimplemented("this release cannot be forced to leave, or to stay; 4.1 can (KIP-1092)");
            polling = false;
            closed = true;
            try {
                if (options == null) consumer.close();
                else KafkaConsumer.class.getMethod("close", options.getClass()).invoke(consumer, options);
            } finally {
                emit("shutdown_complete", json());
            }
            return json();
        }

        Map<String, Object> commit(Map<String, Object> command) {
            Map<TopicPartition, OffsetAndMetadata> offsets = command.get("offsets") == null ? null : offsets(command.get("offsets"));
            Map<TopicPartition, OffsetAndMetadata> told = offsets == null ? consumed() : offsets;
            if (!"async".equals(command.get("mode"))) commitSync(offsets, told);
            else if (offsets == null) consumer.commitAsync(this::committed);
            else consumer.commitAsync(offsets, this::committed);
            return json("offsets", lists(told));
        }

        void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets, Map<TopicPartition, OffsetAndMetadata> told) {
            try {
                if (offsets == null) consumer.commitSync();
                else consumer.commitSync(offsets);
            } catch (RuntimeException error) {
                committed(told, error);
                throw error;
            }
            committed(told, null);
        }

        void committed(Map<TopicPartition, OffsetAndMetadata> offsets, Exception error) {
            emit("offsets_committed", commitFields(offsets, error));
        }

        /** What a commit without offsets commits: the positions that are known without asking a broker. */
        Map<TopicPartition, OffsetAndMetadata> consumed() {
            Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
            for (TopicPartition partition : consumer.assignment()) {
                try {
                    found.put(partition, new OffsetAndMetadata(consumer.position(partition, Duration.ZERO)));
                } catch (RuntimeException unknownYet) {
                    System.err.println("no position of " + partition + " yet: " + unknownYet.getMessage());
                }
            }
            return found;
        }

        Map<String, Object> positions(Map<String, Object> command) {
            List<Object> found = new ArrayList<>();
            for (TopicPartition each : asked(command)) found.add(List.of(each.topic(), each.partition(), consumer.position(each)));
            return json("offsets", found);
        }

        Map<String, Object> committed(Map<String, Object> command) throws Exception {
            List<Object> found = new ArrayList<>();
            for (TopicPartition each : asked(command)) {
                OffsetAndMetadata offset = Settings.committed(consumer, each);
                found.add(List.of(each.topic(), each.partition(), offset == null ? -1L : offset.offset()));
            }
            return json("offsets", found);
        }

        Collection<TopicPartition> asked(Map<String, Object> command) {
            if (command.get("partitions") == null) return sorted(consumer.assignment());
            List<TopicPartition> found = new ArrayList<>();
            for (Object each : (List<?>) command.get("partitions")) found.add(partition((List<?>) each));
            return found;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            rebalanced("partitions_assigned", partitions);
            emit("callback_done", json());
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            rebalanced("partitions_revoked", partitions);
            pause(((Number) onRevoked.getOrDefault("sleep_ms", 0L)).longValue());
            if (Boolean.TRUE.equals(onRevoked.get("commit"))) {
                try {
                    commitSync(null, consumed());
                } catch (RuntimeException told) {
                    told.printStackTrace(); // the event has told it; an application goes on with the rebalance
                }
            }
            emit("callback_done", json());
        }

        /** Overrides the interface's method from 2.4 on; before, a lost partition is a revoked one. */
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            rebalanced("partitions_lost", partitions);
            emit("callback_done", json());
        }

        void rebalanced(String name, Collection<TopicPartition> partitions) {
            Map<String, Object> fields = json("partitions", objects(partitions));
            fields.putAll(Settings.identity(consumer));
            emit(name, fields);
        }

        void emit(String name, Map<String, Object> fields) {
            Map<String, Object> line = json("name", name, "timestamp", System.currentTimeMillis(), "member", key);
            line.putAll(fields);
            write(line);
        }

        static void pause(long ms) {
            try {
                Thread.sleep(ms);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static Map<String, Object> commitFields(Map<TopicPartition, OffsetAndMetadata> offsets, Exception error) {
        List<Object> listed = new ArrayList<>();
        for (List<Object> each : lists(offsets)) listed.add(json("topic", each.get(0), "partition", each.get(1), "offset", each.get(2)));
        Problem problem = error == null ? null : Problem.of(error);
        return json("success", error == null, "error", problem == null ? null : problem.name, "message", problem == null ? null : problem.message,
                "offsets", listed);
    }

    static TopicPartition partition(List<?> each) {
        return new TopicPartition((String) each.get(0), ((Number) each.get(1)).intValue());
    }

    static List<String> strings(Object values) {
        List<String> found = new ArrayList<>();
        for (Object value : (List<?>) values) found.add((String) value);
        return found;
    }

    static List<TopicPartition> sorted(Collection<TopicPartition> partitions) {
        List<TopicPartition> ordered = new ArrayList<>(partitions);
        ordered.sort(Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition));
        return ordered;
    }

    static List<Object> objects(Collection<TopicPartition> partitions) {
        List<Object> found = new ArrayList<>();
        for (TopicPartition each : sorted(partitions)) found.add(json("topic", each.topic(), "partition", each.partition()));
        return found;
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets(Object lists) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (Object each : (List<?>) lists) {
            found.put(partition((List<?>) each), new OffsetAndMetadata(((Number) ((List<?>) each).get(2)).longValue()));
        }
        return found;
    }

    static List<List<Object>> lists(Map<TopicPartition, OffsetAndMetadata> offsets) {
        List<List<Object>> found = new ArrayList<>();
        for (TopicPartition each : sorted(offsets.keySet())) found.add(List.of(each.topic(), each.partition(), offsets.get(each).offset()));
        return found;
    }

    /** The fields of `subscribe` as the client's properties, and what only some releases have. */
    static final class Settings {
        static final Set<String> CONFIGS = ConsumerConfig.configNames();
        static final String RELEASE = release();
        static final String PACKAGE = "org.apache.kafka.clients.consumer.";
        static final Map<String, String> ASSIGNORS = Map.of("range", "RangeAssignor", "roundrobin", "RoundRobinAssignor",
                "sticky", "StickyAssignor", "cooperative-sticky", "CooperativeStickyAssignor");
        static final Map<String, String> NAMES = Map.ofEntries(
                Map.entry("bootstrap", "bootstrap.servers"), Map.entry("group", "group.id"), Map.entry("client_id", "client.id"),
                Map.entry("instance_id", "group.instance.id"), Map.entry("session_timeout_ms", "session.timeout.ms"),
                Map.entry("heartbeat_interval_ms", "heartbeat.interval.ms"), Map.entry("max_poll_interval_ms", "max.poll.interval.ms"),
                Map.entry("auto_commit", "enable.auto.commit"), Map.entry("auto_commit_interval_ms", "auto.commit.interval.ms"),
                Map.entry("auto_offset_reset", "auto.offset.reset"), Map.entry("metadata_max_age_ms", "metadata.max.age.ms"),
                Map.entry("request_timeout_ms", "request.timeout.ms"), Map.entry("retry_backoff_ms", "retry.backoff.ms"),
                Map.entry("reconnect_backoff_ms", "reconnect.backoff.ms"));
        static final Set<String> CLASSIC_ONLY = Set.of("session_timeout_ms", "heartbeat_interval_ms"); // refused with group.protocol=consumer

        final Map<String, Object> fields;
        final Set<String> ignored;

        Settings(Map<String, Object> command) {
            fields = new HashMap<>(command);
            fields.values().removeIf(Objects::isNull);
            ignored = new TreeSet<>(fields.keySet());
            ignored.removeAll(Set.of("id", "command", "member"));
        }

        Object take(String name, Object otherwise) {
            ignored.remove(name);
            return fields.getOrDefault(name, otherwise);
        }

        Map<String, Object> properties() {
            Map<String, Object> made = new HashMap<>();
            made.put("key.deserializer", ByteArrayDeserializer.class);
            made.put("value.deserializer", ByteArrayDeserializer.class);
            take("broker_release", ""); // the client asks its brokers
            boolean classic = take("group_protocol", take("protocol", "classic")).equals("classic");
            if (classic) made.put("partition.assignment.strategy", assignors(strings(take("assignors", List.of("range")))));
            else if (CONFIGS.contains("group.protocol")) made.put("group.protocol", "consumer");
            else throw new Unimplemented("this release has the classic group protocol only");
            NAMES.forEach((field, name) -> {
                if (fields.containsKey(field) && CONFIGS.contains(name) && (classic || !CLASSIC_ONLY.contains(field)))
                    made.put(name, String.valueOf(take(field, null)));
            });
            for (Map.Entry<?, ?> each : ((Map<?, ?>) take("properties", Map.of())).entrySet())
                made.put((String) each.getKey(), String.valueOf(each.getValue()));
            return made;
        }

        static List<String> assignors(List<String> names) {
            List<String> found = new ArrayList<>();
            for (String name : names) {
                if (!has(ASSIGNORS.get(name))) throw new Unimplemented("this release has no assignor " + name);
                found.add(PACKAGE + ASSIGNORS.get(name));
            }
            return found;
        }

        /** The file that AppInfoParser reads; that class is another package's since 4.4. */
        static String release() {
            try (InputStream file = KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
                Properties found = new Properties();
                if (file != null) found.load(file);
                return found.getProperty("version", "unknown").trim();
            } catch (IOException unreadable) {
                return "unknown";
            }
        }

        static boolean has(String consumerClass) {
            try {
                return Class.forName(PACKAGE + consumerClass) != null;
            } catch (ClassNotFoundException notInThisRelease) {
                return false;
            }
        }

        static List<Object> capabilities() {
            List<Object> found = new ArrayList<>(List.of("classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "on-revoked",
                    "resubscribe", "multi"));
            if (CONFIGS.contains("group.instance.id")) found.add("static");
            if (has("CooperativeStickyAssignor")) found.add("cooperative");
            if (CONFIGS.contains("group.protocol") && !Settings.RELEASE.startsWith("3.")) found.add("consumer"); // a preview in 3.7-3.9
            return found;
        }

        /** committed(Set) came with 2.4 and committed(TopicPartition) went with 4.0. */
        static OffsetAndMetadata committed(Consumer<?, ?> consumer, TopicPartition partition) throws Exception {
            try {
                Object found = Consumer.class.getMethod("committed", Set.class).invoke(consumer, Set.of(partition));
                return (OffsetAndMetadata) ((Map<?, ?>) found).get(partition);
            } catch (NoSuchMethodException before24) {
                return (OffsetAndMetadata) Consumer.class.getMethod("committed", TopicPartition.class).invoke(consumer, partition);
            }
        }

        /** groupMetadata() came with 2.5. */
        static Map<String, Object> identity(Consumer<?, ?> consumer) {
            try {
                Object metadata = Consumer.class.getMethod("groupMetadata").invoke(consumer);
                String memberId = (String) metadata.getClass().getMethod("memberId").invoke(metadata);
                return json("member_id", memberId.isEmpty() ? null : memberId,
                        "generation", metadata.getClass().getMethod("generationId").invoke(metadata));
            } catch (ReflectiveOperationException notTold) {
                return json();
            }
        }

        @SuppressWarnings({"unchecked", "rawtypes"})
        static Object closeOptions(boolean leave) throws Exception {
            if (!has("CloseOptions")) return null;
            Class<?> operations = Class.forName(PACKAGE + "CloseOptions$GroupMembershipOperation");
            Object operation = Enum.valueOf((Class<Enum>) operations, leave ? "LEAVE_GROUP" : "REMAIN_IN_GROUP");
            return Class.forName(PACKAGE + "CloseOptions").getMethod("groupMembershipOperation", operations).invoke(null, operation);
        }
    }

    /** An error as the application sees it: Kafka's name for it, or that of the exception. */
    static final class Problem {
        static final Set<String> FATAL_TO_A_MEMBER = Set.of("FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED",
                "TOPIC_AUTHORIZATION_FAILED", "INVALID_GROUP_ID", "UNSUPPORTED_VERSION");
        final String name;
        final String message;
        final boolean fatal;

        Problem(String name, String message, boolean fatal) {
            this.name = name;
            this.message = message;
            this.fatal = fatal;
        }

        static Problem of(Throwable thrown) {
            Throwable error = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
            Errors code = Errors.forException(error);
            String type = error.getClass().getSimpleName();
            String own = type.equals("KafkaException") ? type : type.replaceAll("Exception$", "");
            boolean named = code != Errors.UNKNOWN_SERVER_ERROR || type.equals("UnknownServerException");
            String message = error.getCause() == null ? error.getMessage() : error.getMessage() + " (" + error.getCause() + ")";
            return new Problem(named ? code.name() : own.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toUpperCase(), String.valueOf(message),
                    !(error instanceof RetriableException));
        }

        /** A failed command is fatal only when it shows that the member cannot go on, or never began. */
        Problem ofCommand(boolean opened) {
            return new Problem(name, message, fatal && (!opened || FATAL_TO_A_MEMBER.contains(name)));
        }

        Map<String, Object> fields() {
            return json("error", name, "message", message, "fatal", fatal);
        }
    }

    /** As much JSON as the contract needs. */
    static final class Json {
        final String text;
        int at;

        Json(String text) {
            this.text = text;
        }

        Object value() {
            switch (peek()) {
                case '{': return object();
                case '[': return array();
                case '"': return string();
                case 't': return word("true", true);
                case 'f': return word("false", false);
                case 'n': return word("null", null);
                default: return number();
            }
        }

        char peek() {
            while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
            return at < text.length() ? text.charAt(at) : '\0';
        }

        boolean skip(char wanted) {
            boolean found = peek() == wanted;
            if (found) at++;
            return found;
        }

        void expect(char wanted) {
            if (!skip(wanted)) throw new IllegalArgumentException("expected " + wanted + " at " + at);
        }

        Object word(String word, Object meaning) {
            if (!text.startsWith(word, at)) throw new IllegalArgumentException("unknown word at " + at);
            at += word.length();
            return meaning;
        }

        Map<String, Object> object() {
            Map<String, Object> made = new LinkedHashMap<>();
            expect('{');
            if (skip('}')) return made;
            do {
                peek();
                String name = string();
                expect(':');
                made.put(name, value());
            } while (skip(','));
            expect('}');
            return made;
        }

        List<Object> array() {
            List<Object> made = new ArrayList<>();
            expect('[');
            if (skip(']')) return made;
            do made.add(value());
            while (skip(','));
            expect(']');
            return made;
        }

        String string() {
            StringBuilder made = new StringBuilder();
            expect('"');
            for (char next = text.charAt(at++); next != '"'; next = text.charAt(at++)) made.append(next == '\\' ? escaped() : next);
            return made.toString();
        }

        char escaped() {
            char kind = text.charAt(at++);
            if (kind == 'u') return (char) Integer.parseInt(text.substring(at, at += 4), 16);
            int place = "bfnrt".indexOf(kind);
            return place < 0 ? kind : "\b\f\n\r\t".charAt(place);
        }

        Number number() {
            int from = at;
            while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) at++;
            String digits = text.substring(from, at);
            return digits.matches("-?\\d+") ? (Number) Long.valueOf(digits) : (Number) Double.valueOf(digits);
        }

        static String text(Object value) {
            if (value instanceof Map) return joined(((Map<?, ?>) value).entrySet(), "{", "}");
            if (value instanceof Collection) return joined((Collection<?>) value, "[", "]");
            if (value instanceof Map.Entry) return text(((Map.Entry<?, ?>) value).getKey()) + ":" + text(((Map.Entry<?, ?>) value).getValue());
            return value instanceof String ? quoted((String) value) : String.valueOf(value);
        }

        static String joined(Collection<?> values, String open, String close) {
            StringBuilder made = new StringBuilder(open);
            for (Object value : values) made.append(made.length() > 1 ? "," : "").append(text(value));
            return made.append(close).toString();
        }

        static String quoted(String value) {
            StringBuilder made = new StringBuilder("\"");
            for (char each : value.toCharArray()) {
                if (each == '"' || each == '\\') made.append('\\').append(each);
                else if (each < ' ') made.append(String.format("\\u%04x", (int) each));
                else made.append(each);
            }
            return made.append('"').toString();
        }
    }
}
