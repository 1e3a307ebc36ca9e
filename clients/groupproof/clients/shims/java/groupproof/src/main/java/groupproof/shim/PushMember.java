package groupproof.shim;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * A member of a client that pushes: it calls a handler for records in a thread of its own, and the handler calls `received`, which holds it back while
 * the application is paused. A client that would miss its heartbeats then overrides `pause` and `resume` with ways of its own.
 */
public abstract class PushMember extends Member {
    private static final long SAME_PROBLEM_MS = 100;
    private final Gate gate = new Gate();
    private String problem; // the last that was reported, and when: a framework may meet one thousands of times in a second
    private long problemAt;

    protected PushMember(String key) {
        super(key);
    }

    /** The application's handler. */
    public final void received(List<? extends ConsumerRecord<?, ?>> records) {
        gate.pass(() -> reportRecords(records));
        if (!records.isEmpty()) work();
    }

    protected void pause() throws Exception {
        gate.shut();
    }

    protected void resume() throws Exception {
        gate.open();
    }

    /** Reports an error, and the same one again after a while only. */
    @Override
    public final void failed(Throwable error) {
        failed(error, Problem.of(error).fatal);
    }

    /** Reports an error of which the shim knows whether the client gets over it. */
    public final synchronized void failed(Throwable error, boolean fatal) {
        Problem found = Problem.of(error);
        long now = System.nanoTime() / 1_000_000;
        if ((found.name + found.message).equals(problem) && now < problemAt + SAME_PROBLEM_MS) return;
        problem = found.name + found.message;
        problemAt = now;
        failed(new Problem(found.name, found.message, fatal));
    }

    /** Reports an end of the client that no exception tells of. */
    public final void failed(String name, String message) {
        failed(new Problem(name, message, true));
    }

    @Override
    final void pauseApplication() throws Exception {
        pause();
    }

    @Override
    final void resumeApplication() throws Exception {
        resume();
    }

    @Override
    final void letGo() {
        gate.end();
    }

    @Override
    final Map<String, Object> next() throws InterruptedException {
        return waitFor();
    }
}
