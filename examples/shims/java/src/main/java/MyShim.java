import groupproof.shim.ConsumerSettings;
import groupproof.shim.PollingMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

public final class MyShim extends PollingMember implements ConsumerRebalanceListener {
    private KafkaConsumer<byte[], byte[]> consumer;

    private MyShim(String key) {
        super(key);
    }

    public static void main(String[] args) throws Exception {
        List<String> capabilities = List.of("classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked");
        ShimProcess.serve("my-client", ConsumerSettings.RELEASE, capabilities, MyShim::new);
    }

    @Override
    protected void open(Settings settings) {
        consumer = new KafkaConsumer<>(ConsumerSettings.of(settings));
        consumer.subscribe(settings.takeStrings("topics", List.of()), this);
        beginPolling(settings);
    }

    @Override
    protected Iterable<ConsumerRecord<byte[], byte[]>> poll(long timeoutMs) {
        return consumer.poll(Duration.ofMillis(timeoutMs));
    }

    @Override
    protected void stop(Boolean leave) {
        consumer.close();
    }

    @Override
    protected void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        consumer.commitSync(offsets == null ? consumed() : offsets);
    }

    @Override
    protected Long committed(TopicPartition partition) throws Exception {
        return ConsumerSettings.committed(consumer, partition);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        assigned(partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        revoked(partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        lost(partitions);
    }
}
