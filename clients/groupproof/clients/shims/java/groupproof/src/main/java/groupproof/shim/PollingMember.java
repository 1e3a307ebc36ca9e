package groupproof.shim;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** A member of a client that its application polls. Commands run between polls, as in an application of one thread; a paused application polls no more. */
public abstract class PollingMember extends Member {
    private boolean isPolling;
    private long pollTimeout = 100;

    protected PollingMember(String key) {
        super(key);
    }

    /** Polls once, for as long as one poll may wait. */
    protected abstract Iterable<? extends ConsumerRecord<?, ?>> poll(long timeoutMs) throws Exception;

    /** Takes how long a poll may wait, and lets the application poll; `open` calls it. */
    protected final void beginPolling(Settings settings) {
        pollTimeout = settings.takeLong("poll_timeout_ms", 100);
        isPolling = true;
    }

    protected final void stopPolling() {
        isPolling = false;
    }

    protected final void resumePolling() {
        isPolling = true;
    }

    @Override
    final void pauseApplication() {
        stopPolling();
    }

    @Override
    final void resumeApplication() {
        resumePolling();
    }

    @Override
    final void letGo() {
        stopPolling();
    }

    @Override
    final Map<String, Object> next() throws InterruptedException {
        if (!isPolling || !isOpen()) return waitFor();
        Map<String, Object> command = waiting();
        if (command == null) pollOnce();
        return command;
    }

    private void pollOnce() {
        try {
            if (reportRecords(poll(pollTimeout))) work();
        } catch (Exception error) {
            error.printStackTrace();
            Problem problem = Problem.of(error);
            failed(problem);
            if (problem.fatal) isPolling = false; // as an application would end; `resume` makes it go on
            else pauseFor(pollTimeout);
        }
    }
}
