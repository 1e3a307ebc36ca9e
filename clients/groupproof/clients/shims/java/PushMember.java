import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** A member of a framework that owns its consumer and pushes records to its application: its commands are taken in a thread beside the framework's. */
abstract class PushMember extends Thread implements Shim.Target {
    private static final long SAME_PROBLEM_MS = 100;
    final String key;
    private final LinkedBlockingQueue<Map<String, Object>> inbox = new LinkedBlockingQueue<>();
    private boolean done;
    private String problem; // the last that was reported, and when: a framework may meet one thousands of times in a second
    private long problemAt;
    boolean isOpen;
    boolean isStatic;
    long handlerDelay = 0;
    Map<String, Object> onRevoked = Map.of();

    PushMember(String key) {
        super("member " + key);
        this.key = key;
        setDaemon(true);
    }

    /** Carries a command out and returns the fields of its answer. */
    abstract Map<String, Object> run(String name, Map<String, Object> command) throws Exception;

    /** Makes the client, and has it join. */
    abstract void open(Shim.Settings settings);

    /** Ends the client. */
    abstract void stop(boolean forGood) throws Exception;

    @Override
    public final synchronized boolean put(Map<String, Object> command) {
        return !done && inbox.add(command);
    }

    @Override
    public final void awaitEnd() {
        try {
            join();
        } catch (InterruptedException interrupted) {
            interrupt();
        }
    }

    @Override
    public final void run() {
        while (!done) {
            try {
                carryOut(inbox.take());
            } catch (InterruptedException interrupted) {
                return;
            }
        }
        for (Map<String, Object> late : inbox) Shim.answer(late, new Shim.Problem("ILLEGAL_STATE", "this member has closed", false).fields());
    }

    private void carryOut(Map<String, Object> command) {
        Map<String, Object> fields = Shim.json("ok", true);
        boolean isLast = false;
        try {
            String name = (String) command.get("command");
            if (name.equals("subscribe")) fields.putAll(subscribe(command));
            else if (name.equals("unsubscribe")) unsubscribe((Boolean) command.get("leave"));
            else if (name.equals("close")) isLast = close((Boolean) command.get("leave"));
            else fields.putAll(run(name, command));
        } catch (Shim.Unimplemented why) {
            fields = Shim.json("unimplemented", why.getMessage());
        } catch (Exception error) {
            error.printStackTrace();
            fields = Shim.Problem.of(error).ofCommand(isOpen).fields();
        }
        synchronized (this) {
            done = isLast || !isOpen;
        }
        Shim.answer(command, fields);
    }

    @SuppressWarnings("unchecked")
    private Map<String, Object> subscribe(Map<String, Object> command) {
        if (isOpen) throw new IllegalStateException("this member has subscribed already");
        Shim.Settings settings = new Shim.Settings(command);
        handlerDelay = ((Number) settings.take("handler_delay_ms", 0L)).longValue();
        onRevoked = (Map<String, Object>) settings.take("on_revoked", Map.of());
        isStatic = command.get("instance_id") != null;
        open(settings);
        isOpen = true;
        emit("startup_complete", Shim.json());
        return Shim.json("ignored", new ArrayList<>(settings.ignored));
    }

    private void unsubscribe(Boolean leave) throws Exception {
        if (Boolean.FALSE.equals(leave)) throw new Shim.Unimplemented("whether it leaves is decided by the client");
        stop(false);
    }

    private boolean close(Boolean leave) throws Exception {
        if (leave != null && leave == isStatic) throw new Shim.Unimplemented("whether it leaves is decided by the client");
        try {
            if (isOpen) stop(true);
        } finally {
            emit("shutdown_complete", Shim.json());
        }
        return true;
    }

    /** The application's handler: tells what it was given, and is as slow as it was asked to be. */
    final void records(List<? extends ConsumerRecord<byte[], byte[]>> records) {
        Map<TopicPartition, Map<String, Object>> parts = new LinkedHashMap<>();
        for (ConsumerRecord<byte[], byte[]> each : records) {
            TopicPartition partition = new TopicPartition(each.topic(), each.partition());
            Map<String, Object> part = parts.computeIfAbsent(partition, fresh -> Shim.json("topic", each.topic(), "partition", each.partition(),
                    "minOffset", each.offset(), "maxOffset", each.offset(), "count", 0));
            part.put("maxOffset", each.offset());
            part.put("count", (Integer) part.get("count") + 1);
        }
        emit("records_consumed", Shim.json("count", records.size(), "partitions", new ArrayList<>(parts.values())));
        if (handlerDelay > 0) Shim.Member.pause(handlerDelay);
    }

    /** Tells an error that the framework handed to its application; the same one again after a while only. */
    final synchronized void problem(Throwable error, boolean fatal) {
        Shim.Problem found = Shim.Problem.of(error);
        long now = System.nanoTime() / 1_000_000;
        if ((found.name + found.message).equals(problem) && now < problemAt + SAME_PROBLEM_MS) return;
        problem = (found.name + found.message);
        problemAt = now;
        emit("error", new Shim.Problem(found.name, found.message, fatal).fields());
    }

    final void committed(Map<TopicPartition, OffsetAndMetadata> offsets, Exception error) {
        emit("offsets_committed", Shim.commitFields(offsets, error));
    }

    /** Returns the partitions that a command names, else those that are given. */
    static Collection<TopicPartition> asked(Map<String, Object> command, Collection<TopicPartition> otherwise) {
        if (command.get("partitions") == null) return Shim.sorted(otherwise);
        List<TopicPartition> found = new ArrayList<>();
        for (Object each : (List<?>) command.get("partitions")) found.add(Shim.partition((List<?>) each));
        return found;
    }

    final void emit(String name, Map<String, Object> fields) {
        Map<String, Object> line = Shim.json("name", name, "timestamp", System.currentTimeMillis(), "member", key);
        line.putAll(fields);
        Shim.write(line);
    }
}
