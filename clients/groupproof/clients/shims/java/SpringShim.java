import groupproof.shim.ConsumerSettings;
import groupproof.shim.PushMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
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
public final class SpringShim extends PushMember
        implements ConsumerAwareRebalanceListener, BatchAcknowledgingConsumerAwareMessageListener<byte[], byte[]> {
    private static final List<String> CAPABILITIES =
            List.of("classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked");
    private static final long IDLE_MS = 1; // a container that has nothing to hand over says so after each poll
    private static final long STOP_MS_MAX = 60_000;
    private final LinkedBlockingQueue<FutureTask<?>> work = new LinkedBlockingQueue<>();
    private KafkaMessageListenerContainer<byte[], byte[]> container;
    private volatile Consumer<?, ?> consumer; // for the container's thread alone
    private volatile boolean isAsked; // to stop
    private volatile String ended; // why the container stopped by itself

    private SpringShim(String key) {
        super(key);
    }

    public static void main(String[] args) throws Exception {
        String version = KafkaMessageListenerContainer.class.getPackage().getImplementationVersion();
        ShimProcess.serve("spring-kafka", version, CAPABILITIES, SpringShim::new);
    }

    @Override
    protected void open(Settings settings) {
        ContainerProperties properties = new ContainerProperties(settings.takeStrings("topics", List.of()).toArray(new String[0]));
        properties.setPollTimeout(settings.takeLong("poll_timeout_ms", 100));
        properties.setIdleEventInterval(IDLE_MS);
        properties.setIdleBeforeDataMultiplier(1);
        properties.setMessageListener(this);
        properties.setConsumerRebalanceListener(this);
        properties.setShutdownTimeout(STOP_MS_MAX);
        commits(properties, settings);
        Map<String, Object> config = ConsumerSettings.of(settings);
        config.put("enable.auto.commit", "false");
        container = new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(config), properties);
        container.setCommonErrorHandler(new Errors());
        container.setApplicationEventPublisher(this::happened);
        container.start();
    }

    private static void commits(ContainerProperties properties, Settings settings) {
        Number interval = settings.take("auto_commit_interval_ms", null);
        if (!settings.take("auto_commit", false)) {
            properties.setAckMode(ContainerProperties.AckMode.MANUAL); // and nobody acknowledges anything
        } else if (interval == null) {
            properties.setAckMode(ContainerProperties.AckMode.BATCH);
        } else {
            properties.setAckMode(ContainerProperties.AckMode.TIME);
            properties.setAckTime(interval.longValue());
        }
    }

    @Override
    protected void unsubscribe() {
        stop(null);
    }

    @Override
    protected void stop(Boolean leave) {
        isAsked = true;
        container.stop();
    }

    /** Tells what the container tells its application by events; in its own thread. */
    private void happened(Object event) {
        if (event instanceof ListenerContainerIdleEvent) {
            consumer = ((ListenerContainerIdleEvent) event).getConsumer();
            doWork();
        } else if (event instanceof ConsumerStoppedEvent && !isAsked) {
            ended = ((ConsumerStoppedEvent) event).getReason().toString();
            failed("CONTAINER_STOPPED_" + ended, "the container stopped by itself");
        }
    }

    private void doWork() {
        for (FutureTask<?> task = work.poll(); task != null; task = work.poll()) task.run();
    }

    @Override
    protected <T> T inClient(Callable<T> what) throws Exception {
        FutureTask<T> task = new FutureTask<>(what);
        work.add(task);
        while (true) {
            if (!container.isRunning() || ended != null) {
                throw new IllegalStateException("the container has stopped" + (ended == null ? "" : ": " + ended));
            }
            try {
                return task.get(100, TimeUnit.MILLISECONDS);
            } catch (TimeoutException notYet) {
                continue;
            }
        }
    }

    /** The container's own pause: it goes on polling, with its partitions paused. */
    @Override
    protected void pause() throws InterruptedException {
        container.pause();
        while (container.isRunning() && ended == null && !container.isContainerPaused()) Thread.sleep(1);
    }

    @Override
    protected void resume() {
        container.resume();
    }

    @Override
    protected Collection<TopicPartition> assignment() {
        return container.getAssignedPartitions();
    }

    @Override
    protected void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        consumer.commitSync(offsets == null ? consumed() : offsets);
    }

    @Override
    protected void commitAsync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        consumer.commitAsync(offsets == null ? consumed() : offsets, this::commitEnded);
    }

    @Override
    protected Map<TopicPartition, OffsetAndMetadata> consumed() {
        return ConsumerSettings.consumed(consumer);
    }

    @Override
    protected Long position(TopicPartition partition) {
        return consumer.position(partition);
    }

    @Override
    protected Long committed(TopicPartition partition) throws Exception {
        return ConsumerSettings.committed(consumer, partition);
    }

    @Override
    protected Map<String, Object> identity() {
        return ConsumerSettings.identity(consumer);
    }

    @Override
    public void onMessage(List<ConsumerRecord<byte[], byte[]>> records, Acknowledgment acknowledgment, Consumer<?, ?> containers) {
        consumer = containers;
        received(records);
        doWork();
    }

    @Override
    public void onPartitionsAssigned(Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
        consumer = containers;
        assigned(partitions);
    }

    /** After the container has committed what it holds. */
    @Override
    public void onPartitionsRevokedAfterCommit(Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
        consumer = containers;
        revoked(partitions);
    }

    @Override
    public void onPartitionsLost(Consumer<?, ?> containers, Collection<TopicPartition> partitions) {
        consumer = containers;
        lost(partitions);
    }

    /** The container's error handler by default, which tells its application what is no record's fault. */
    private final class Errors extends DefaultErrorHandler {
        Errors() {
            super(new FixedBackOff(0, 0));
        }

        @Override
        public void handleOtherException(Exception thrown, Consumer<?, ?> containers, MessageListenerContainer of, boolean isBatch) {
            failed(thrown, false); // the container goes on
            super.handleOtherException(thrown, containers, of, isBatch);
        }
    }
}
