package groupproof.shim;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The fields of `subscribe` as properties of Kafka's own consumer, which most clients on the JVM stand on, and what only some of its releases have:
 * that is reached by reflection, so that the library compiles against kafka-clients 2.2 to 4.x.
 */
public final class ConsumerSettings {
    /** The release of kafka-clients that is here: the file that AppInfoParser reads; that class is another package's since 4.4. */
    public static final String RELEASE = release();

    private static final Set<String> CONFIGS = ConsumerConfig.configNames();
    private static final String PACKAGE = "org.apache.kafka.clients.consumer.";
    private static final Map<String, String> ASSIGNORS = Map.of("range", "RangeAssignor", "roundrobin", "RoundRobinAssignor",
            "sticky", "StickyAssignor", "cooperative-sticky", "CooperativeStickyAssignor");
    private static final Map<String, String> NAMES = Map.ofEntries(
            Map.entry("bootstrap", "bootstrap.servers"), Map.entry("group", "group.id"), Map.entry("client_id", "client.id"),
            Map.entry("instance_id", "group.instance.id"), Map.entry("session_timeout_ms", "session.timeout.ms"),
            Map.entry("heartbeat_interval_ms", "heartbeat.interval.ms"), Map.entry("max_poll_interval_ms", "max.poll.interval.ms"),
            Map.entry("auto_commit", "enable.auto.commit"), Map.entry("auto_commit_interval_ms", "auto.commit.interval.ms"),
            Map.entry("auto_offset_reset", "auto.offset.reset"), Map.entry("metadata_max_age_ms", "metadata.max.age.ms"),
            Map.entry("request_timeout_ms", "request.timeout.ms"), Map.entry("assignor", "group.remote.assignor"), Map.entry("retry_backoff_ms", "retry.backoff.ms"),
            Map.entry("reconnect_backoff_ms", "reconnect.backoff.ms"), Map.entry("default_api_timeout_ms", "default.api.timeout.ms"));
    private static final Set<String> CLASSIC_ONLY = Set.of("session_timeout_ms", "heartbeat_interval_ms"); // refused with group.protocol=consumer

    private ConsumerSettings() {}

    /** Takes all that the consumer of this release can have; records come as bytes. */
    public static Map<String, Object> of(Settings settings) {
        Map<String, Object> made = new HashMap<>();
        made.put("key.deserializer", ByteArrayDeserializer.class);
        made.put("value.deserializer", ByteArrayDeserializer.class);
        boolean isClassic = settings.take("group_protocol", settings.take("protocol", "classic")).equals("classic");
        if (isClassic) made.put("partition.assignment.strategy", assignors(settings.takeStrings("assignors", List.of("range"))));
        else if (CONFIGS.contains("group.protocol")) made.put("group.protocol", "consumer");
        else throw new Unimplemented("this release has the classic group protocol only");
        NAMES.forEach((field, name) -> {
            if (settings.has(field) && has(name) && (isClassic || !CLASSIC_ONLY.contains(field))) made.put(name, String.valueOf((Object) settings.take(field, null)));
        });
        settings.<Map<String, Object>>take("properties", Map.of()).forEach((name, value) -> made.put(name, String.valueOf(value)));
        return made;
    }

    /** Tells whether the consumer of this release has a setting: group.instance.id came with 2.3. */
    public static boolean has(String setting) {
        return CONFIGS.contains(setting);
    }

    private static List<String> assignors(List<String> names) {
        List<String> found = new ArrayList<>();
        for (String name : names) {
            if (!hasClass(ASSIGNORS.get(name))) throw new Unimplemented("this release has no assignor " + name);
            found.add(PACKAGE + ASSIGNORS.get(name));
        }
        return found;
    }

    private static String release() {
        try (InputStream file = KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            Properties found = new Properties();
            if (file != null) found.load(file);
            return found.getProperty("version", "unknown").trim();
        } catch (IOException unreadable) {
            return "unknown";
        }
    }

    /** Tells whether this release has a class of the consumer's package. */
    public static boolean hasClass(String name) {
        try {
            return Class.forName(PACKAGE + name) != null;
        } catch (ClassNotFoundException notInThisRelease) {
            return false;
        }
    }

    /** Returns what is committed; committed(Set) came with 2.4 and committed(TopicPartition) went with 4.0. */
    public static Long committed(Consumer<?, ?> consumer, TopicPartition partition) throws Exception {
        OffsetAndMetadata found;
        try {
            Object all = Consumer.class.getMethod("committed", Set.class).invoke(consumer, Set.of(partition));
            found = (OffsetAndMetadata) ((Map<?, ?>) all).get(partition);
        } catch (NoSuchMethodException before24) {
            found = (OffsetAndMetadata) Consumer.class.getMethod("committed", TopicPartition.class).invoke(consumer, partition);
        }
        return found == null ? null : found.offset();
    }

    /** Returns the positions that are known without asking a broker. */
    public static Map<TopicPartition, OffsetAndMetadata> consumed(Consumer<?, ?> consumer) {
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

    /** Returns member id and generation; groupMetadata() came with 2.5. */
    public static Map<String, Object> identity(Consumer<?, ?> consumer) {
        try {
            Object metadata = Consumer.class.getMethod("groupMetadata").invoke(consumer);
            String memberId = (String) metadata.getClass().getMethod("memberId").invoke(metadata);
            return Json.of("member_id", memberId.isEmpty() ? null : memberId, "generation", metadata.getClass().getMethod("generationId").invoke(metadata));
        } catch (ReflectiveOperationException unknown) {
            return Json.of();
        }
    }
}
