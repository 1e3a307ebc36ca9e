import groupproof.shim.ConsumerSettings;
import groupproof.shim.Problem;
import groupproof.shim.PushMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import groupproof.shim.Unimplemented;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.kafka.receiver.KafkaReceiver;
import reactor.kafka.receiver.ReceiverOffset;
import reactor.kafka.receiver.ReceiverOptions;
import reactor.kafka.receiver.ReceiverPartition;
import reactor.kafka.receiver.ReceiverRecord;
import reactor.kafka.receiver.internals.ConsumerFactory;
import reactor.util.retry.Retry;
import reactor.util.retry.RetryBackoffSpec;

/**
 * reactor-kafka behind the shim contract: a receiver for each member, whose flux of records the application subscribes to.
 *
 * <p>A commit is that of the records' own offsets (`ReceiverOffset`): an application has no other. Commits by itself are the receiver's: of the
 * records that the application acknowledges, by its `commitInterval`. An error of `poll`, or of a commit that nobody waits for, ends the flux and
 * closes its consumer; the application subscribes anew after a second (`retryWhen`), unless the error is fatal. `pause` is that of the partitions:
 * the receiver goes on polling.
 */
public final class ReactorShim extends PushMember {
    private static final List<String> CAPABILITIES =
            List.of("classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked");
    private static final Duration ANSWER_MAX = Duration.ofSeconds(60);
    private static final int WAITS_MAX = 100;
    private static final long WAIT_MS = 10;
    private static final Duration ANEW = Duration.ofSeconds(1);
    private final Map<TopicPartition, Map<Long, ReceiverOffset>> offsets = new ConcurrentHashMap<>(); // by the offset that a commit of it names
    private final Map<Map<TopicPartition, OffsetAndMetadata>, Mono<Void>> commits = new ConcurrentHashMap<>(); // which an application may try again
    private final Consumers consumers = new Consumers();
    private volatile Sinks.One<Void> ended = Sinks.one(); // of the flux as it runs now: who waits for a commit of its records waits no more
    private KafkaReceiver<byte[], byte[]> receiver;
    private Disposable subscription;
    private boolean isAcknowledging;

    private ReactorShim(String key) {
        super(key);
    }

    public static void main(String[] args) throws Exception {
        ShimProcess.serve("reactor-kafka", KafkaReceiver.class.getPackage().getImplementationVersion(), CAPABILITIES, ReactorShim::new);
    }

    @Override
    protected void open(Settings settings) {
        if (Boolean.TRUE.equals(settings.<Map<String, Object>>take("on_revoked", Map.of()).get("commit"))) {
            throw new Unimplemented("a listener of the receiver runs in the thread of its commits, and can't wait for one");
        }
        isAcknowledging = settings.take("auto_commit", false);
        Number interval = settings.take("auto_commit_interval_ms", null);
        ReceiverOptions<byte[], byte[]> options = ReceiverOptions.<byte[], byte[]>create()
                .pollTimeout(Duration.ofMillis(settings.takeLong("poll_timeout_ms", 100)))
                .subscription(settings.takeStrings("topics", List.of()))
                .pauseAllAfterRebalance(true)
                .addAssignListener(partitions -> assigned(bare(partitions)))
                .addRevokeListener(partitions -> revoked(bare(partitions)));
        if (!isAcknowledging) {
            // Nobody acknowledges anything: there is nothing to commit, and nothing that a rebalance could wait for.
            options = options.commitInterval(Duration.ZERO).maxDelayRebalance(Duration.ZERO);
        } else if (interval != null) {
            options = options.commitInterval(Duration.ofMillis(interval.longValue()));
        }
        for (Map.Entry<String, Object> setting : ConsumerSettings.of(settings).entrySet()) options = options.consumerProperty(setting.getKey(), setting.getValue());
        receiver = KafkaReceiver.create(consumers, options.consumerProperty("enable.auto.commit", "false"));
        RetryBackoffSpec again = Retry.fixedDelay(Long.MAX_VALUE, ANEW).filter(error -> !isFatal(error));
        subscription = receiver.receive().doOnError(this::over).retryWhen(again).subscribe(this::record, reported -> { });
    }

    private static List<TopicPartition> bare(Collection<ReceiverPartition> partitions) {
        List<TopicPartition> found = new ArrayList<>();
        for (ReceiverPartition partition : partitions) found.add(partition.topicPartition());
        return found;
    }

    /** The flux has ended, and its consumer is closed. */
    private void over(Throwable error) {
        failed(error, isFatal(error));
        end(error);
    }

    private void end(Throwable error) {
        Sinks.One<Void> before = ended;
        ended = Sinks.one();
        offsets.clear();
        commits.clear();
        before.tryEmitError(error);
    }

    private static boolean isFatal(Throwable error) {
        return Problem.of(error).ofCommand(true).fatal;
    }

    @Override
    protected void unsubscribe() throws InterruptedException {
        stop(null);
    }

    /** The receiver closes its consumer in its own thread, after the subscription is over. */
    @Override
    protected void stop(Boolean leave) throws InterruptedException {
        subscription.dispose();
        consumers.closed.await(ANSWER_MAX.toMillis(), TimeUnit.MILLISECONDS);
        end(new IllegalStateException("the subscription is over"));
    }

    private void record(ReceiverRecord<byte[], byte[]> record) {
        ReceiverOffset offset = record.receiverOffset();
        offsets.computeIfAbsent(offset.topicPartition(), fresh -> new ConcurrentHashMap<>()).put(record.offset() + 1, offset);
        received(List.of(record));
        if (isAcknowledging) offset.acknowledge();
    }

    /** Runs in the receiver's thread, between polls. */
    private <T> T onConsumer(Function<Consumer<byte[], byte[]>, T> what) {
        return receiver.doOnConsumer(what).block(ANSWER_MAX);
    }

    @Override
    protected void pause() {
        onConsumer(consumer -> {
            consumer.pause(consumer.assignment());
            return true;
        });
    }

    @Override
    protected void resume() {
        onConsumer(consumer -> {
            consumer.resume(consumer.assignment());
            return true;
        });
    }

    @Override
    protected Collection<TopicPartition> assignment() {
        return onConsumer(Consumer::assignment);
    }

    @Override
    protected Long position(TopicPartition partition) {
        return onConsumer(consumer -> consumer.position(partition));
    }

    @Override
    protected Long committed(TopicPartition partition) {
        OffsetAndMetadata found = onConsumer(consumer -> consumer.committed(Set.of(partition)).get(partition));
        return found == null ? null : (Long) found.offset();
    }

    @Override
    protected void commitSync(Map<TopicPartition, OffsetAndMetadata> asked) {
        commit(asked == null ? consumed() : asked).block(ANSWER_MAX);
    }

    @Override
    protected void commitAsync(Map<TopicPartition, OffsetAndMetadata> asked) {
        Map<TopicPartition, OffsetAndMetadata> all = asked == null ? consumed() : asked;
        commit(all).doOnSuccess(nothing -> commitEnded(all, null)).doOnError(error -> commitEnded(all, error)).onErrorComplete().subscribe();
    }

    private Mono<Void> commit(Map<TopicPartition, OffsetAndMetadata> asked) {
        return asked.isEmpty() ? Mono.empty() : Mono.firstWithSignal(commits.computeIfAbsent(asked, this::together), ended.asMono());
    }

    /** Acknowledges all but one of the offsets; to commit that one commits them together. */
    private Mono<Void> together(Map<TopicPartition, OffsetAndMetadata> asked) {
        List<ReceiverOffset> found = new ArrayList<>();
        asked.forEach((partition, offset) -> found.add(taken(partition, offset.offset())));
        for (ReceiverOffset offset : found.subList(1, found.size())) offset.acknowledge();
        return found.get(0).commit();
    }

    /** Records come one by one, partition after partition: one that has been fetched may still be on its way. */
    private ReceiverOffset taken(TopicPartition partition, long offset) {
        ReceiverOffset found = offsets.getOrDefault(partition, Map.of()).get(offset);
        for (int waits = 0; found == null && waits < WAITS_MAX; waits++) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(WAIT_MS));
            found = offsets.getOrDefault(partition, Map.of()).get(offset);
        }
        if (found == null) throw new IllegalStateException("no record before offset " + offset + " of " + partition + " was received by this subscription");
        return found;
    }

    @Override
    protected Map<TopicPartition, OffsetAndMetadata> consumed() {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        offsets.forEach((partition, all) -> all.keySet().stream().max(Long::compare).ifPresent(offset -> found.put(partition, new OffsetAndMetadata(offset))));
        return found;
    }

    /** Makes the receiver's consumers, one after the other, and tells when the newest has closed: a subscription that is over says nothing of it. */
    static final class Consumers extends ConsumerFactory {
        volatile CountDownLatch closed = new CountDownLatch(0);

        @Override
        public <K, V> Consumer<K, V> createConsumer(ReceiverOptions<K, V> options) {
            CountDownLatch mine = closed = new CountDownLatch(1);
            return new KafkaConsumer<>(options.consumerProperties(), options.keyDeserializer(), options.valueDeserializer()) {
                @Override
                public void close(Duration timeout) {
                    try {
                        super.close(timeout);
                    } finally {
                        mine.countDown();
                    }
                }
            };
        }
    }
}
