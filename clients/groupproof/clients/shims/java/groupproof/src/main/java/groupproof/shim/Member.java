package groupproof.shim;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * One member in a thread of its own: its commands in order, its events, its answers. A shim extends {@link PollingMember} or {@link PushMember}.
 *
 * <p>It gives `open` and `stop`, and what else its client can; what it leaves out is answered `unimplemented`. It reports what happens by
 * `assigned`, `revoked`, `lost`, `received`, `failed` and `commitEnded`.
 */
public abstract class Member {
    private final String key;
    private final Thread thread;
    private final LinkedBlockingQueue<Map<String, Object>> inbox = new LinkedBlockingQueue<>();
    private final Set<TopicPartition> assigned = new HashSet<>();
    private final Map<TopicPartition, OffsetAndMetadata> consumed = new HashMap<>();
    private ShimProcess process;
    private boolean isOpen;
    private volatile boolean isDone;
    private long handlerDelay;
    private Map<String, Object> onRevoked = Map.of();
    /** Whether the member has an instance id; `open` may take that back where the client knows none. */
    protected boolean isStatic;
    /** How long `close` may take; null: as long as the client takes by itself. */
    protected Duration closeTimeout;

    Member(String key) {
        this.key = key;
        thread = new Thread(this::serve, "member " + key);
        thread.setDaemon(true);
    }

    // What a client's shim gives.

    /** Makes the client and subscribes; returns before it has joined. */
    protected abstract void open(Settings settings) throws Exception;

    /** Ends the client in order. Where the client can be told, `leave` says whether it leaves (null: as it does by itself). */
    protected abstract void stop(Boolean leave) throws Exception;

    protected boolean canBeToldToLeave() {
        return false;
    }

    protected void unsubscribe() throws Exception {
        throw new Unimplemented("this client cannot leave and stay");
    }

    protected void resubscribe(List<String> topics) throws Exception {
        throw new Unimplemented("this client cannot change its topics");
    }

    /** Commits and waits; `offsets` are null for what was consumed. */
    protected void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) throws Exception {
        throw new Unimplemented("this client commits by itself only");
    }

    /** Begins a commit, of which `commitEnded` reports the end. */
    protected void commitAsync(Map<TopicPartition, OffsetAndMetadata> offsets) throws Exception {
        throw new Unimplemented("this client commits and waits for the answer");
    }

    /** Returns what was committed, null where nothing was. */
    protected Long committed(TopicPartition partition) throws Exception {
        throw new Unimplemented("this client does not say what was committed");
    }

    /** Returns what the client believes to have; without a client that says so, what was reported. */
    protected synchronized Collection<TopicPartition> assignment() {
        return Set.copyOf(assigned);
    }

    /** Returns what a commit without offsets commits; without a client that says so, what was received of what is assigned. */
    protected synchronized Map<TopicPartition, OffsetAndMetadata> consumed() {
        return new HashMap<>(consumed);
    }

    /** Returns the next offset, null where none is known. */
    protected Long position(TopicPartition partition) throws Exception {
        OffsetAndMetadata found = consumed().get(partition);
        return found == null ? null : found.offset();
    }

    /** Returns `member_id` and `generation` where the client tells them, for the events of a rebalance. */
    protected Map<String, Object> identity() {
        return Json.of();
    }

    /** Runs what needs the client, where the client lets it run. */
    protected <T> T inClient(Callable<T> work) throws Exception {
        return work.call();
    }

    abstract void pauseApplication() throws Exception;

    abstract void resumeApplication() throws Exception;

    /** Lets go what a paused application holds back, unreported: the member closes. */
    abstract void letGo();

    /** What a member does when no command waits: returns the next one, or null after it has done something else. */
    abstract Map<String, Object> next() throws InterruptedException;

    // What a client's shim reports.

    /** Partitions came, beside those that are there. */
    public final void assigned(Collection<TopicPartition> partitions) {
        rebalanced("partitions_assigned", partitions);
        synchronized (this) {
            assigned.addAll(partitions);
        }
        emit("callback_done", Json.of());
    }

    /** Partitions go when this returns: the application does what `on_revoked` asks of it. */
    public final void revoked(Collection<TopicPartition> partitions) {
        rebalanced("partitions_revoked", partitions);
        pauseFor(((Number) onRevoked.getOrDefault("sleep_ms", 0L)).longValue());
        if (Boolean.TRUE.equals(onRevoked.get("commit"))) commitQuietly();
        gone(partitions);
    }

    /** Partitions went, without a chance to commit. */
    public final void lost(Collection<TopicPartition> partitions) {
        rebalanced("partitions_lost", partitions);
        gone(partitions);
    }

    private void rebalanced(String name, Collection<TopicPartition> partitions) {
        Map<String, Object> fields = Json.of("partitions", Partitions.objects(partitions));
        fields.putAll(identity());
        emit(name, fields);
    }

    private void gone(Collection<TopicPartition> partitions) {
        synchronized (this) {
            assigned.removeAll(partitions);
            consumed.keySet().removeAll(partitions);
        }
        emit("callback_done", Json.of());
    }

    /** An error that the client reports to its application. */
    public void failed(Throwable error) {
        failed(Problem.of(error));
    }

    void failed(Problem problem) {
        emit("error", problem.fields());
    }

    /** The end of a commit that nobody waited for, or that the client made by itself. */
    public final void commitEnded(Map<TopicPartition, OffsetAndMetadata> offsets, Throwable error) {
        emit("offsets_committed", Partitions.committed(offsets, error));
    }

    /** Reports records, and returns whether there were any. */
    final boolean reportRecords(Iterable<? extends ConsumerRecord<?, ?>> records) {
        Map<String, Object> ranges = Partitions.ranges(records);
        if (ranges.isEmpty()) return false;
        synchronized (this) {
            for (ConsumerRecord<?, ?> record : records) {
                consumed.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
        }
        emit("records_consumed", ranges);
        return true;
    }

    /** Is the application at work on records: as slow as it was asked to be. */
    final void work() {
        if (handlerDelay > 0) pauseFor(handlerDelay);
    }

    // The process's side.

    final void start(ShimProcess process) {
        this.process = process;
        thread.start();
    }

    /** Queues a command; false once the member has closed. */
    final synchronized boolean put(Map<String, Object> command) {
        return !isDone && inbox.add(command);
    }

    final void awaitEnd() {
        try {
            thread.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    final Map<String, Object> waiting() {
        return inbox.poll();
    }

    final Map<String, Object> waitFor() throws InterruptedException {
        return inbox.take();
    }

    private void serve() {
        while (!isDone) {
            try {
                Map<String, Object> command = next();
                if (command != null) carryOut(command);
            } catch (InterruptedException interrupted) {
                carryOut(new HashMap<>(Map.of("command", "close")));
            }
        }
        for (Map<String, Object> late : inbox) process.answer(late, new Problem("ILLEGAL_STATE", "this member has closed", false).fields());
    }

    private void carryOut(Map<String, Object> command) {
        String name = (String) command.get("command");
        Map<String, Object> fields = Json.of("ok", true);
        try {
            fields.putAll(run(name, command));
        } catch (Unimplemented why) {
            fields = Json.of("unimplemented", why.getMessage());
        } catch (Exception error) {
            error.printStackTrace();
            fields = Problem.of(error).ofCommand(isOpen).fields();
        }
        synchronized (this) {
            isDone = !isOpen;
        }
        process.answer(command, fields);
    }

    private Map<String, Object> run(String name, Map<String, Object> command) throws Exception {
        Boolean leave = (Boolean) command.get("leave");
        switch (name) {
            case "subscribe": return subscribe(command);
            case "resubscribe": return done(() -> resubscribe(new Settings(command).takeStrings("topics", List.of())));
            case "pause": return pause();
            case "resume": return done(this::resumeApplication);
            case "commit": return withClient(() -> commit(command));
            case "assignment": return Json.of("partitions", Partitions.objects(assignment()));
            case "position": return withClient(() -> offsets(command, this::position));
            case "committed": return withClient(() -> offsets(command, this::committed));
            case "unsubscribe": return done(() -> unsubscribe(leave));
            default:
                if (command.get("timeout_ms") != null) closeTimeout = Duration.ofMillis(((Number) command.get("timeout_ms")).longValue());
                return done(() -> close(leave));
        }
    }

    /** Runs work where the client lets it run; what the work threw is thrown as it was. */
    private Map<String, Object> withClient(Callable<Map<String, Object>> work) throws Exception {
        try {
            return inClient(work);
        } catch (ExecutionException wrapped) {
            throw wrapped.getCause() instanceof Exception ? (Exception) wrapped.getCause() : wrapped;
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private interface Ask {
        Long of(TopicPartition partition) throws Exception;
    }

    private static Map<String, Object> done(Work work) throws Exception {
        work.run();
        return Json.of();
    }

    private Map<String, Object> subscribe(Map<String, Object> command) throws Exception {
        if (isOpen) throw new IllegalStateException("this member has subscribed already; use resubscribe");
        Settings settings = new Settings(command);
        handlerDelay = settings.takeLong("handler_delay_ms", 0);
        if (process.claims("on-revoked")) onRevoked = settings.take("on_revoked", Map.of());
        settings.take("broker_release", ""); // clients ask their brokers
        isStatic = settings.has("instance_id");
        open(settings);
        isOpen = true;
        emit("startup_complete", Json.of());
        return Json.of("ignored", settings.ignored());
    }

    private Map<String, Object> pause() throws Exception {
        if (!process.claims("pause")) throw new Unimplemented("this client cannot be stopped from handing records over");
        pauseApplication();
        return Json.of();
    }

    private void unsubscribe(Boolean leave) throws Exception {
        if (Boolean.FALSE.equals(leave)) throw new Unimplemented("this client decides by itself whether it leaves");
        unsubscribe();
    }

    private void close(Boolean leave) throws Exception {
        boolean isForced = leave != null && leave == isStatic; // by themselves dynamic members leave and static ones stay
        if (isForced && !canBeToldToLeave()) throw new Unimplemented("this client cannot be forced to leave, or to stay");
        boolean wasOpen = isOpen;
        isOpen = false;
        letGo();
        try {
            if (wasOpen) stop(isForced ? leave : null);
        } finally {
            emit("shutdown_complete", Json.of());
        }
    }

    private Map<String, Object> commit(Map<String, Object> command) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = command.get("offsets") == null ? null : Partitions.offsets(command.get("offsets"));
        Map<TopicPartition, OffsetAndMetadata> reported = offsets == null ? consumed() : offsets;
        if ("async".equals(command.get("mode"))) commitAsync(offsets);
        else commitAndReport(offsets, reported);
        return Json.of("offsets", Partitions.lists(reported));
    }

    private void commitAndReport(Map<TopicPartition, OffsetAndMetadata> offsets, Map<TopicPartition, OffsetAndMetadata> reported) throws Exception {
        try {
            commitSync(offsets);
        } catch (Unimplemented none) {
            throw none;
        } catch (Exception error) {
            commitEnded(reported, error);
            throw error;
        }
        commitEnded(reported, null);
    }

    /** Commits what was read from a callback: the event reports a failure, and the rebalance goes on. */
    private void commitQuietly() {
        try {
            commitAndReport(null, consumed());
        } catch (Exception reported) {
            reported.printStackTrace();
        }
    }

    private Map<String, Object> offsets(Map<String, Object> command, Ask ask) throws Exception {
        Collection<TopicPartition> asked =
                command.get("partitions") == null ? Partitions.sorted(assignment()) : Partitions.read(command.get("partitions"));
        List<Object> found = new ArrayList<>();
        for (TopicPartition partition : asked) {
            Long offset = ask.of(partition);
            found.add(List.of(partition.topic(), partition.partition(), offset == null ? -1L : offset));
        }
        return Json.of("offsets", found);
    }

    final boolean isOpen() {
        return isOpen;
    }

    final void emit(String name, Map<String, Object> fields) {
        Map<String, Object> line = Json.of("name", name, "timestamp", System.currentTimeMillis(), "member", key);
        line.putAll(fields);
        process.write(line);
    }

    static void pauseFor(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
