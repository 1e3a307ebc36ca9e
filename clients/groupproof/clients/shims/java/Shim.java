import groupproof.shim.ConsumerSettings;
import groupproof.shim.PollingMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import groupproof.shim.Unimplemented;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Apache Kafka's Java client behind the shim contract: kafka-clients 2.2 to 4.x, one consumer and one thread for each member. */
public final class Shim extends PollingMember implements ConsumerRebalanceListener {
    private KafkaConsumer<byte[], byte[]> consumer;

    private Shim(String key) {
        super(key);
    }

    public static void main(String[] args) throws Exception {
        ShimProcess.serve("java", ConsumerSettings.RELEASE, capabilities(), Shim::new);
    }

    private static List<String> capabilities() {
        List<String> found = new ArrayList<>(List.of("classic", "commit", "commit-async", "auto-commit", "pause", "poll-deadline", "on-revoked",
                "resubscribe", "multi", "regex", "close-timeout"));
        if (ConsumerSettings.has("group.instance.id")) found.add("static");
        if (ConsumerSettings.hasClass("CooperativeStickyAssignor")) found.add("cooperative");
        if (ConsumerSettings.has("group.protocol")) found.add("consumer");
        if (found.contains("consumer") && ConsumerSettings.RELEASE.startsWith("3.")) found.add("consumer-preview"); // early access in 3.7, a preview in 3.8 and 3.9
        return found;
    }

    @Override
    protected void open(Settings settings) {
        isStatic = isStatic && ConsumerSettings.has("group.instance.id");
        consumer = new KafkaConsumer<>(ConsumerSettings.of(settings));
        String pattern = settings.take("pattern", null);
        List<String> topics = settings.takeStrings("topics", List.of());
        if (pattern == null) resubscribe(topics);
        else subscribeTo(pattern, settings.take("group_protocol", "classic").equals("consumer"));
        beginPolling(settings);
    }

    /** Since 4.0 the brokers of a consumer group match topics, by another class than the client's own pattern. */
    private void subscribeTo(String pattern, boolean isForBrokers) {
        if (!isForBrokers) {
            consumer.subscribe(Pattern.compile(pattern), this);
            return;
        }
        try {
            Class<?> type = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
            Object wanted = type.getConstructor(String.class).newInstance(pattern);
            KafkaConsumer.class.getMethod("subscribe", type, ConsumerRebalanceListener.class).invoke(consumer, wanted, this);
        } catch (ReflectiveOperationException before40) {
            throw new Unimplemented("this release has no pattern that brokers match");
        }
    }

    @Override
    protected void resubscribe(List<String> topics) {
        consumer.subscribe(topics, this);
        resumePolling();
    }

    @Override
    protected Iterable<ConsumerRecord<byte[], byte[]>> poll(long timeoutMs) {
        return consumer.poll(Duration.ofMillis(timeoutMs));
    }

    @Override
    protected void unsubscribe() {
        stopPolling();
        consumer.unsubscribe();
    }

    /** KIP-1092 (4.1) lets an application say whether it leaves. */
    @Override
    protected boolean canBeToldToLeave() {
        return ConsumerSettings.hasClass("CloseOptions");
    }

    @Override
    protected void stop(Boolean leave) throws Exception {
        if (leave == null) {
            if (closeTimeout == null) consumer.close();
            else consumer.close(closeTimeout);
            return;
        }
        Object options = closeOptions(leave);
        KafkaConsumer.class.getMethod("close", options.getClass()).invoke(consumer, options);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Object closeOptions(boolean leave) throws Exception {
        Class<?> operations = Class.forName("org.apache.kafka.clients.consumer.CloseOptions$GroupMembershipOperation");
        Object operation = Enum.valueOf((Class<Enum>) operations, leave ? "LEAVE_GROUP" : "REMAIN_IN_GROUP");
        return operations.getDeclaringClass().getMethod("groupMembershipOperation", operations).invoke(null, operation);
    }

    @Override
    protected void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (offsets == null) consumer.commitSync();
        else consumer.commitSync(offsets);
    }

    @Override
    protected void commitAsync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (offsets == null) consumer.commitAsync(this::commitEnded);
        else consumer.commitAsync(offsets, this::commitEnded);
    }

    @Override
    protected Collection<TopicPartition> assignment() {
        return consumer.assignment();
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
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        assigned(partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        revoked(partitions);
    }

    /** Overrides the interface's method from 2.4 on; before, a lost partition is a revoked one. */
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        lost(partitions);
    }
}
