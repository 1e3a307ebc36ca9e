import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.event.ConsumerStoppedEvent;
import org.springframework.kafka.event.ListenerContainerIdleEvent;
import org.springframework.kafka.listener.BatchAcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Spring Kafka behind the shim contract: a listener container with a batch listener for each member, as most Java applications have it.
 *
 * <p>What an application does with the consumer it does in the container's thread: in its listener, or when the container tells that it is
 * idle. So do the commands that need the consumer. `pause` is the container's, which goes on polling. Commits by itself are the container's
 * too: after each batch, or by the time that `auto_commit_interval_ms` names; enable.auto.commit is off, as the container has it by default.
 */
public final class SpringShim {
    static final List<Object> CAPABILITIES = List.of("classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked", "multi");
    static final long IDLE_MS = 1; // a container that has nothing to hand over says so after each poll
    static final long STOP_MS_MAX = 60_000;

    public static void main(String[] args) throws Exception {
        String version = KafkaMessageListenerContainer.class.getPackage().getImplementationVersion();
        Shim.serve("spring-kafka", version, CAPABILITIES, SpringMember::new);
    }

    /** One container. */
    static final class SpringMember extends PushMember
            implements ConsumerAwareRebalanceListener, BatchAcknowledgingConsumerAwareMessageListener<byte[], byte[]> {
        final LinkedBlockingQueue<FutureTask<Map<String, Object>>> work = new LinkedBlockingQueue<>();
        KafkaMessageListenerContainer<byte[], byte[]> container;
        volatile Consumer<?, ?> consumer; // for the container's thread alone
        volatile boolean isAsked; // to stop
        volatile String ended; // why the container stopped by itself

        SpringMember(String key) {
            super(key);
        }

        @Override
        Map<String, Object> run(String name, Map<String, Object> command) throws Exception {
            switch (name) {
                case "pause": return pause();
                case "resume": container.resume(); return Shim.json();
                case "assignment": return Shim.json("partitions", Shim.objects(container.getAssignedPartitions()));
                case "commit": return inContainer(() -> commit(command));
                case "position": return inContainer(() -> positions(command));
                case "committed": return inContainer(() -> committed(command));
                default: throw new Shim.Unimplemented("a listener container keeps its topics");
            }
        }

        @Override
        void open(Shim.Settings settings) {
            ContainerProperties properties = new ContainerProperties(Shim.strings(settings.take("topics", List.of())).toArray(new String[0]));
            properties.setPollTimeout(((Number) settings.take("poll_timeout_ms", 100L)).longValue());
            properties.setIdleEventInterval(IDLE_MS);
            properties.setIdleBeforeDataMultiplier(1);
            properties.setMessageListener(this);
            properties.setConsumerRebalanceListener(this);
            properties.setShutdownTimeout(STOP_MS_MAX);
            commits(properties, settings);
            Map<String, Object> config = settings.properties();
            config.put("enable.auto.commit", "false");
            container = new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(config), properties);
            container.setCommonErrorHandler(new Errors());
            container.setApplicationEventPublisher(this::happened);
            container.start();
        }

        @Override
        void stop(boolean forGood) {
            isAsked = true;
            container.stop();
        }

        void commits(ContainerProperties properties, Shim.Settings settings) {
            Object interval = settings.fields.containsKey("auto_commit_interval_ms") ? settings.take("auto_commit_interval_ms", null) : null;
            if (!Boolean.TRUE.equals(settings.take("auto_commit", false))) {
                properties.setAckMode(ContainerProperties.AckMode.MANUAL); // and nobody acknowledges anything
            } else if (interval == null) {
                properties.setAckMode(ContainerProperties.AckMode.BATCH);
            } else {
                properties.setAckMode(ContainerProperties.AckMode.TIME);
                properties.setAckTime(((Number) interval).longValue());
            }
        }

        /** Tells what the container tells its application by events; in its own thread. */
        void happened(Object event) {
            if (event instanceof ListenerContainerIdleEvent) {
                consumer = ((ListenerContainerIdleEvent) event).getConsumer();
                doWork();
            } else if (event instanceof ConsumerStoppedEvent && !isAsked) {
                ended = ((ConsumerStoppedEvent) event).getReason().toString();
                emit("error", new Shim.Problem("CONTAINER_STOPPED_" + ended, "the container stopped by itself", true).fields());
            }
        }

        void doWork() {
            for (FutureTask<?> task = work.poll(); task != null; task = work.poll()) task.run();
        }

        Map<String, Object> inContainer(Callable<Map<String, Object>> what) throws Exception {
            FutureTask<Map<String, Object>> task = new FutureTask<>(what);
            work.add(task);
            while (true) {
                if (!container.isRunning() || ended != null) {
                    throw new IllegalStateException("the container has stopped" + (ended == null ? "" : ": " + ended));
                }
                try {
                    return task.get(100, TimeUnit.MILLISECONDS);
                } catch (TimeoutException notYet) {
                    continue;
                } catch (ExecutionException wrapped) {
                    throw wrapped.getCause() instanceof Exception ? (Exception) wrapped.getCause() : wrapped;
                }
            }
        }

        /** The container's own pause: it goes on polling, with its partitions paused. */
        Map<String, Object> pause() throws InterruptedException {
            container.pause();
            while (container.isRunning() && ended == null && !container.isContainerPaused()) Thread.sleep(1);
            return Shim.json();
        }

        Map<String, Object> commit(Map<String, Object> command) {
            Map<TopicPartition, OffsetAndMetadata> offsets = command.get("offsets") == null ? consumed() : Shim.offsets(command.get("offsets"));
            if ("async".equals(command.get("mode"))) consumer.commitAsync(offsets, this::committed);
            else commitSync(offsets);
            return Shim.json("offsets", Shim.lists(offsets));
        }

        void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
            try {
                consumer.commitSync(offsets);
            } catch (RuntimeException error) {
                committed(offsets, error);
                throw error;
            }
            committed(offsets, null);
        }

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
            for (TopicPartition each : asked(command, consumer.assignment())) found.add(List.of(each.topic(), each.partition(), consumer.position(each)));
            return Shim.json("offsets", found);
        }

        Map<String, Object> committed(Map<String, Object> command) throws Exception {
            List<Object> found = new ArrayList<>();
            for (TopicPartition each : asked(command, consumer.assignment())) {
                OffsetAndMetadata offset = Shim.Settings.committed(consumer, each);
                found.add(List.of(each.topic(), each.partition(), offset == null ? -1L : offset.offset()));
            }
            return Shim.json("offsets", found);
        }

        @Override
        public void onMessage(List<ConsumerRecord<byte[], byte[]>> records, Acknowledgment acknowledgment, Consumer<?, ?> containers) {
            consumer = containers;
            records(records);
            doWork();
        }

        @Override
        public void onPartitionsAssigned(Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
            rebalanced("partitions_assigned", containers, partitions);
            emit("callback_done", Shim.json());
        }

        /** After the container has committed what it holds. */
        @Override
        public void onPartitionsRevokedAfterCommit(Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
            rebalanced("partitions_revoked", containers, partitions);
            Shim.Member.pause(((Number) onRevoked.getOrDefault("sleep_ms", 0L)).longValue());
            if (Boolean.TRUE.equals(onRevoked.get("commit"))) {
                try {
                    commitSync(consumed());
                } catch (RuntimeException told) {
                    told.printStackTrace(); // the event has told it; an application goes on with the rebalance
                }
            }
            emit("callback_done", Shim.json());
        }

        @Override
        public void onPartitionsLost(Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
            rebalanced("partitions_lost", containers, partitions);
            emit("callback_done", Shim.json());
        }

        void rebalanced(String name, Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
            consumer = containers;
            Map<String, Object> fields = Shim.json("partitions", Shim.objects(partitions));
            fields.putAll(Shim.Settings.identity(containers));
            emit(name, fields);
        }

        /** The container's error handler by default, which tells its application what is no record's fault. */
        final class Errors extends DefaultErrorHandler {
            Errors() {
                super(new FixedBackOff(0, 0));
            }

            @Override
            public void handleOtherException(Exception thrown, Consumer<?, ?> containers, MessageListenerContainer of, boolean isBatch) {
                problem(thrown, false); // the container goes on
                super.handleOtherException(thrown, containers, of, isBatch);
            }
        }
    }
}
