import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import reactor.core.Disposable;
import reactor.core.Exceptions;
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
public final class ReactorShim {
    static final List<Object> CAPABILITIES = List.of("classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked", "multi");
    static final Duration ANSWER_MAX = Duration.ofSeconds(60);
    static final int WAITS_MAX = 100;
    static final long WAIT_MS = 10;
    static final Duration ANEW = Duration.ofSeconds(1);

    public static void main(String[] args) throws Exception {
        Shim.serve("reactor-kafka", KafkaReceiver.class.getPackage().getImplementationVersion(), CAPABILITIES, ReactorMember::new);
    }

    /** One receiver. */
    static final class ReactorMember extends PushMember {
        final Map<TopicPartition, Map<Long, ReceiverOffset>> received = new ConcurrentHashMap<>(); // by the offset that a commit of it names
        final Map<Map<TopicPartition, OffsetAndMetadata>, Mono<Void>> commits = new ConcurrentHashMap<>(); // which an application may try again
        final Consumers consumers = new Consumers();
        volatile Sinks.One<Void> ended = Sinks.one(); // of the flux as it runs now: who waits for a commit of its records waits no more
        KafkaReceiver<byte[], byte[]> receiver;
        Disposable subscription;
        boolean isAcknowledging;

        ReactorMember(String key) {
            super(key);
        }

        @Override
        Map<String, Object> run(String name, Map<String, Object> command) throws Exception {
            switch (name) {
                case "pause": return onConsumer(ReactorMember::paused);
                case "resume": return onConsumer(ReactorMember::resumed);
                case "assignment": return onConsumer(consumer -> Shim.json("partitions", Shim.objects(consumer.assignment())));
                case "commit": return commit(command);
                case "position": return onConsumer(consumer -> positions(consumer, command));
                case "committed": return onConsumer(consumer -> committed(consumer, command));
                default: throw new Shim.Unimplemented("a receiver keeps its topics");
            }
        }

        @Override
        void open(Shim.Settings settings) {
            if (Boolean.TRUE.equals(onRevoked.get("commit"))) {
                throw new Shim.Unimplemented("a listener of the receiver runs in the thread of its commits, and can't wait for one");
            }
            isAcknowledging = Boolean.TRUE.equals(settings.take("auto_commit", false));
            Object interval = settings.fields.containsKey("auto_commit_interval_ms") ? settings.take("auto_commit_interval_ms", null) : null;
            ReceiverOptions<byte[], byte[]> options = ReceiverOptions.<byte[], byte[]>create()
                    .pollTimeout(Duration.ofMillis(((Number) settings.take("poll_timeout_ms", 100L)).longValue()))
                    .subscription(Shim.strings(settings.take("topics", List.of())))
                    .pauseAllAfterRebalance(true)
                    .addAssignListener(this::assigned)
                    .addRevokeListener(this::revoked);
            if (!isAcknowledging) {
                // Nobody acknowledges anything: there is nothing to commit, and nothing that a rebalance could wait for.
                options = options.commitInterval(Duration.ZERO).maxDelayRebalance(Duration.ZERO);
            } else if (interval != null) {
                options = options.commitInterval(Duration.ofMillis(((Number) interval).longValue()));
            }
            for (Map.Entry<String, Object> each : settings.properties().entrySet()) options = options.consumerProperty(each.getKey(), each.getValue());
            receiver = KafkaReceiver.create(consumers, options.consumerProperty("enable.auto.commit", "false"));
            RetryBackoffSpec again = Retry.fixedDelay(Long.MAX_VALUE, ANEW).filter(error -> !isFatal(error));
            subscription = receiver.receive().doOnError(this::over).retryWhen(again).subscribe(this::record, told -> { });
        }

        /** The flux has ended, and its consumer is closed. */
        void over(Throwable error) {
            problem(error, isFatal(error));
            end(error);
        }

        void end(Throwable error) {
            Sinks.One<Void> before = ended;
            ended = Sinks.one();
            received.clear();
            commits.clear();
            before.tryEmitError(error);
        }

        static boolean isFatal(Throwable error) {
            return Shim.Problem.of(error).ofCommand(true).fatal;
        }

        /** The receiver closes its consumer in its own thread, after the subscription is over. */
        @Override
        void stop(boolean forGood) throws InterruptedException {
            subscription.dispose();
            consumers.closed.await(ANSWER_MAX.toMillis(), TimeUnit.MILLISECONDS);
            end(new IllegalStateException("the subscription is over"));
        }

        void record(ReceiverRecord<byte[], byte[]> record) {
            ReceiverOffset offset = record.receiverOffset();
            received.computeIfAbsent(offset.topicPartition(), fresh -> new ConcurrentHashMap<>()).put(record.offset() + 1, offset);
            records(List.of(record));
            if (isAcknowledging) offset.acknowledge();
        }

        /** Runs in the receiver's thread, between polls. */
        Map<String, Object> onConsumer(Function<Consumer<byte[], byte[]>, Map<String, Object>> what) {
            return receiver.doOnConsumer(what::apply).block(ANSWER_MAX);
        }

        static Map<String, Object> paused(Consumer<byte[], byte[]> consumer) {
            consumer.pause(consumer.assignment());
            return Shim.json();
        }

        static Map<String, Object> resumed(Consumer<byte[], byte[]> consumer) {
            consumer.resume(consumer.assignment());
            return Shim.json();
        }

        static Map<String, Object> positions(Consumer<?, ?> consumer, Map<String, Object> command) {
            List<Object> found = new ArrayList<>();
            for (TopicPartition each : asked(command, consumer.assignment())) found.add(List.of(each.topic(), each.partition(), consumer.position(each)));
            return Shim.json("offsets", found);
        }

        static Map<String, Object> committed(Consumer<?, ?> consumer, Map<String, Object> command) {
            List<Object> found = new ArrayList<>();
            for (TopicPartition each : asked(command, consumer.assignment())) {
                try {
                    OffsetAndMetadata offset = Shim.Settings.committed(consumer, each);
                    found.add(List.of(each.topic(), each.partition(), offset == null ? -1L : offset.offset()));
                } catch (Exception refused) {
                    throw Exceptions.propagate(refused);
                }
            }
            return Shim.json("offsets", found);
        }

        Map<String, Object> commit(Map<String, Object> command) {
            Map<TopicPartition, OffsetAndMetadata> offsets = command.get("offsets") == null ? newest() : Shim.offsets(command.get("offsets"));
            if (!offsets.isEmpty()) {
                Mono<Void> commit = Mono.firstWithSignal(commits.computeIfAbsent(offsets, this::together), ended.asMono())
                        .doOnSuccess(nothing -> committed(offsets, null)).doOnError(error -> committed(offsets, asException(error)));
                if ("async".equals(command.get("mode"))) commit.onErrorComplete().subscribe();
                else commit.block(ANSWER_MAX);
            }
            return Shim.json("offsets", Shim.lists(offsets));
        }

        /** Acknowledges all but one of the offsets; to commit that one commits them together. */
        Mono<Void> together(Map<TopicPartition, OffsetAndMetadata> offsets) {
            List<ReceiverOffset> asked = new ArrayList<>();
            offsets.forEach((partition, offset) -> asked.add(taken(partition, offset.offset())));
            for (ReceiverOffset each : asked.subList(1, asked.size())) each.acknowledge();
            return asked.get(0).commit();
        }

        static Exception asException(Throwable error) {
            return error instanceof Exception ? (Exception) error : new IllegalStateException(error);
        }

        /** Records come one by one, partition after partition: one that has been fetched may still be on its way. */
        ReceiverOffset taken(TopicPartition partition, long offset) {
            ReceiverOffset found = received.getOrDefault(partition, Map.of()).get(offset);
            for (int waits = 0; found == null && waits < WAITS_MAX; waits++) {
                Shim.Member.pause(WAIT_MS);
                found = received.getOrDefault(partition, Map.of()).get(offset);
            }
            if (found == null) throw new IllegalStateException("no record before offset " + offset + " of " + partition + " was received by this subscription");
            return found;
        }

        Map<TopicPartition, OffsetAndMetadata> newest() {
            Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
            received.forEach((partition, offsets) -> offsets.keySet().stream().max(Long::compare)
                    .ifPresent(offset -> found.put(partition, new OffsetAndMetadata(offset))));
            return found;
        }

        void assigned(Collection<ReceiverPartition> partitions) {
            rebalanced("partitions_assigned", partitions);
            emit("callback_done", Shim.json());
        }

        void revoked(Collection<ReceiverPartition> partitions) {
            rebalanced("partitions_revoked", partitions);
            Shim.Member.pause(((Number) onRevoked.getOrDefault("sleep_ms", 0L)).longValue());
            emit("callback_done", Shim.json());
        }

        void rebalanced(String name, Collection<ReceiverPartition> partitions) {
            List<TopicPartition> found = new ArrayList<>();
            for (ReceiverPartition each : partitions) found.add(each.topicPartition());
            emit(name, Shim.json("partitions", Shim.objects(found)));
        }
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
