package groupproof.shim;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Partitions, offsets and records in the forms that the contract has for them. */
final class Partitions {
    private Partitions() {}

    static List<TopicPartition> sorted(Collection<TopicPartition> partitions) {
        List<TopicPartition> ordered = new ArrayList<>(partitions);
        ordered.sort(Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition));
        return ordered;
    }

    static List<Object> objects(Collection<TopicPartition> partitions) {
        List<Object> found = new ArrayList<>();
        for (TopicPartition partition : sorted(partitions)) found.add(Json.of("topic", partition.topic(), "partition", partition.partition()));
        return found;
    }

    /** Reads `[[topic, partition], …]`. */
    static List<TopicPartition> read(Object lists) {
        List<TopicPartition> found = new ArrayList<>();
        for (Object list : (List<?>) lists) found.add(partition((List<?>) list));
        return found;
    }

    /** Reads `[[topic, partition, offset], …]`. */
    static Map<TopicPartition, OffsetAndMetadata> offsets(Object lists) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (Object list : (List<?>) lists) {
            found.put(partition((List<?>) list), new OffsetAndMetadata(((Number) ((List<?>) list).get(2)).longValue()));
        }
        return found;
    }

    private static TopicPartition partition(List<?> list) {
        return new TopicPartition((String) list.get(0), ((Number) list.get(1)).intValue());
    }

    static List<Object> lists(Map<TopicPartition, OffsetAndMetadata> offsets) {
        List<Object> found = new ArrayList<>();
        for (TopicPartition partition : sorted(offsets.keySet())) {
            found.add(List.of(partition.topic(), partition.partition(), offsets.get(partition).offset()));
        }
        return found;
    }

    /** The fields of `offsets_committed`. */
    static Map<String, Object> committed(Map<TopicPartition, OffsetAndMetadata> offsets, Throwable error) {
        List<Object> listed = new ArrayList<>();
        for (TopicPartition partition : sorted(offsets.keySet())) {
            listed.add(Json.of("topic", partition.topic(), "partition", partition.partition(), "offset", offsets.get(partition).offset()));
        }
        Problem problem = error == null ? null : Problem.of(error);
        return Json.of("success", error == null, "error", problem == null ? null : problem.name, "message", problem == null ? null : problem.message,
                "offsets", listed);
    }

    /** The fields of `records_consumed`; none where there are no records. */
    static Map<String, Object> ranges(Iterable<? extends ConsumerRecord<?, ?>> records) {
        Map<TopicPartition, Map<String, Object>> parts = new LinkedHashMap<>();
        int count = 0;
        for (ConsumerRecord<?, ?> record : records) {
            Map<String, Object> part = parts.computeIfAbsent(new TopicPartition(record.topic(), record.partition()), fresh -> Json.of(
                    "topic", record.topic(), "partition", record.partition(), "minOffset", record.offset(), "maxOffset", record.offset(), "count", 0));
            part.put("maxOffset", record.offset());
            part.put("count", (Integer) part.get("count") + 1);
            count++;
        }
        return count == 0 ? Json.of() : Json.of("count", count, "partitions", new ArrayList<>(parts.values()));
    }
}
