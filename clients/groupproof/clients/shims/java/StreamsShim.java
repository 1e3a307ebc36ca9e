import groupproof.shim.ConsumerSettings;
import groupproof.shim.PushMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import java.io.File;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.ForeachAction;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.internals.DefaultKafkaClientSupplier;
import org.apache.kafka.streams.state.Stores;

/**
 * An application of Kafka Streams behind the shim contract: a real KafkaStreams with one thread for each member, releases 3.2 to 4.x, which all speak version 11 of its user data.
 *
 * <p>Each topic of `subscribe` is a subtopology that reads it and writes nothing; with `kit.stateful` it is a table in memory, whose changelog is
 * the topic itself, so that no internal topic is needed. What reads the group's topics is the thread's main consumer, which gets the member's client id.
 */
public final class StreamsShim {
    static final List<String> CAPABILITIES = List.of("streams", "static");
    static final String OWN = "kit.";
    static final Duration CLOSE_MAX = Duration.ofSeconds(8);
    // What the contract's fields are called in Kafka Streams, beside those that its consumer knows.
    static final Map<String, String> NAMES = Map.of("bootstrap", "bootstrap.servers", "group", "application.id");

    public static void main(String[] args) throws Exception {
        for (String noisy : List.of("org.apache.kafka.clients", "org.apache.kafka.common", "org.apache.kafka.streams.StreamsConfig"))
            System.setProperty("org.slf4j.simpleLogger.log." + noisy, "error");
        ShimProcess.serve("kafka-streams", ConsumerSettings.RELEASE, CAPABILITIES, StreamsMember::new);
    }

    /** One instance of the application. */
    static final class StreamsMember extends PushMember {
        KafkaStreams streams;
        File state;
        String clientId;
        String instanceId;
        long failsAt; // the offset of the record that its application fails at, and asks that all of it end
        volatile boolean hasFailed;
        final AtomicInteger consumers = new AtomicInteger();

        StreamsMember(String key) {
            super(key);
        }

        @Override
        protected void open(Settings settings) throws Exception {
            state = Files.createTempDirectory("groupproof-streams").toFile();
            clientId = settings.take("client_id", "streams");
            Map<String, String> own = new HashMap<>();
            Properties config = config(settings, own);
            failsAt = Long.parseLong(own.getOrDefault("fails.at", String.valueOf(Long.MAX_VALUE)));
            Topology topology = topology(settings.takeStrings("topics", List.of()), Boolean.parseBoolean(own.get("stateful")), config, (key, value) -> process());
            streams = new KafkaStreams(topology, config, new NamedClients(this));
            streams.setUncaughtExceptionHandler((StreamsUncaughtExceptionHandler) error -> {
                failed(error, true);
                return hasFailed ? StreamThreadExceptionResponse.SHUTDOWN_APPLICATION : StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.setStateListener((now, before) -> {
                if (now == KafkaStreams.State.ERROR) failed("STREAMS_ERROR", "the application is in state ERROR");
            });
            streams.start();
        }

        @Override
        protected void stop(Boolean leave) {
            streams.close(CLOSE_MAX);
            delete(state);
        }

        /** What the application does with a record: nothing, or it fails once its thread was given the record that it fails at. */
        void process() {
            if (hasFailed) throw new IllegalStateException("the application fails at offset " + failsAt + ", as it was told to");
        }

        Properties config(Settings settings, Map<String, String> own) {
            Properties made = new Properties();
            made.put("client.id", clientId);
            made.put("state.dir", state.getPath());
            made.put("num.stream.threads", "1");
            made.put("topology.optimization", "all");
            made.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
            made.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
            made.put("producer.enable.idempotence", "false"); // it writes nothing, and a producer would ask for an id
            NAMES.forEach((field, name) -> made.put(name, settings.<String>take(field, "")));
            number(made, "commit.interval.ms", settings, "auto_commit_interval_ms");
            number(made, "metadata.max.age.ms", settings, "metadata_max_age_ms");
            number(made, "request.timeout.ms", settings, "request_timeout_ms");
            number(made, "poll.ms", settings, "poll_timeout_ms");
            for (String field : List.of("session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "auto_offset_reset", "retry_backoff_ms"))
                if (settings.has(field)) made.put("main.consumer." + field.replace("_ms", ".ms").replace('_', '.'), String.valueOf((Object) settings.take(field, null)));
            instanceId = settings.take("instance_id", null); // the application would add the number of its thread
            for (String field : List.of("protocol", "protocol_type", "group_protocol", "assignors", "auto_commit")) settings.take(field, null);
            settings.<Map<String, Object>>take("properties", Map.of()).forEach((name, value) -> {
                if (name.startsWith(OWN)) own.put(name.substring(OWN.length()), String.valueOf(value));
                else made.put(name, String.valueOf(value));
            });
            return made;
        }

        static void number(Properties made, String name, Settings settings, String field) {
            if (settings.has(field)) made.put(name, String.valueOf(settings.takeLong(field, 0)));
        }

        /** A subtopology for each topic. */
        static Topology topology(List<String> topics, boolean isStateful, Properties config, ForeachAction<byte[], byte[]> process) {
            StreamsBuilder builder = new StreamsBuilder();
            Consumed<byte[], byte[]> bytes = Consumed.with(Serdes.ByteArray(), Serdes.ByteArray());
            for (String topic : topics) {
                if (isStateful)
                    builder.table(topic, bytes, Materialized.<byte[], byte[]>as(Stores.inMemoryKeyValueStore(topic + "-store")).withKeySerde(Serdes.ByteArray()).withValueSerde(Serdes.ByteArray())).toStream().foreach(process);
                else builder.stream(topic, bytes).foreach(process);
            }
            return builder.build(config);
        }
    }

    /** Gives the thread's main consumer the client id that the kit knows the member by, and has it report. */
    static final class NamedClients extends DefaultKafkaClientSupplier {
        final StreamsMember member;

        NamedClients(StreamsMember member) {
            this.member = member;
        }

        @Override
        public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
            int thread = member.consumers.incrementAndGet();
            config.put("client.id", thread == 1 ? member.clientId : member.clientId + "-thread-" + thread);
            if (thread > 1) return super.getConsumer(config); // added to ask for the end: it processes nothing
            if (member.instanceId != null) config.put("group.instance.id", member.instanceId);
            return new ReportingConsumer(config, member);
        }
    }

    /** Kafka's consumer, which reports what its thread is given and what is taken from it once the thread has done its part. */
    static final class ReportingConsumer extends KafkaConsumer<byte[], byte[]> {
        final StreamsMember member;

        ReportingConsumer(Map<String, Object> config, StreamsMember member) {
            super(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            this.member = member;
        }

        @Override
        public void subscribe(Collection<String> topics, ConsumerRebalanceListener threads) {
            super.subscribe(topics, new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    threads.onPartitionsAssigned(partitions);
                    member.assigned(partitions);
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    threads.onPartitionsRevoked(partitions);
                    member.revoked(partitions);
                }

                @Override
                public void onPartitionsLost(Collection<TopicPartition> partitions) {
                    threads.onPartitionsLost(partitions);
                    member.lost(partitions);
                }
            });
        }

        @Override
        public ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
            ConsumerRecords<byte[], byte[]> records = super.poll(timeout);
            List<ConsumerRecord<byte[], byte[]>> each = new ArrayList<>();
            records.forEach(each::add);
            member.received(each);
            member.hasFailed |= each.stream().anyMatch(record -> record.offset() >= member.failsAt);
            return records;
        }
    }

    static void delete(File folder) {
        File[] inside = folder.listFiles();
        if (inside != null) for (File each : inside) delete(each);
        folder.delete();
    }
}
