// Kafka's own decoder over segments of __consumer_offsets, by whatever release's jars are on the class path: one JSON object a line.
// java -cp JARS DecodeTopic.java PARTITION=SEGMENT...
//
// Batches come from MemoryRecords. From 3.9 on keys and values come from the coordinator's own serde and Kafka's generated JSON converters;
// before, from the schemas in GroupMetadataManager, read as Struct.

import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;

public class DecodeTopic {
    private static final String[] PACKAGES = {"org.apache.kafka.common.record.internal.", "org.apache.kafka.common.record."};

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 20), false, StandardCharsets.UTF_8);
        Decoder decoder = exists("org.apache.kafka.coordinator.group.generated.OffsetCommitKeyJsonConverter") ? new Generated() : new Structs();
        for (String arg : args) {
            int equals = arg.indexOf('=');
            decode(decoder, arg.substring(0, equals), Path.of(arg.substring(equals + 1)), out);
        }
        out.flush();
    }

    private static void decode(Decoder decoder, String partition, Path segment, PrintStream out) throws Exception {
        Object records = named("MemoryRecords").getMethod("readableRecords", ByteBuffer.class).invoke(null, ByteBuffer.wrap(Files.readAllBytes(segment)));
        Class<?> batchType = named("RecordBatch"), recordType = named("Record");
        Method isControl = batchType.getMethod("isControlBatch"), producer = batchType.getMethod("producerId");
        Method offset = recordType.getMethod("offset"), time = recordType.getMethod("timestamp");
        Method key = recordType.getMethod("key"), value = recordType.getMethod("value");
        for (Object batch : batches(records)) {
            for (Object record : (Iterable<?>) batch) {
                String decoded = (Boolean) isControl.invoke(batch)
                    ? "\"marker\":" + named("ControlRecordType").getMethod("parse", ByteBuffer.class).invoke(null, key.invoke(record)).toString().transform(DecodeTopic::quoted)
                    : decoder.decode((ByteBuffer) key.invoke(record), (ByteBuffer) value.invoke(record));
                out.println("{\"p\":" + partition + ",\"o\":" + offset.invoke(record) + ",\"t\":" + time.invoke(record) + ",\"producer\":" + producer.invoke(batch) + "," + decoded + "}");
            }
        }
    }

    private static Iterable<?> batches(Object records) throws Exception {
        return (Iterable<?>) records.getClass().getMethod("batches").invoke(records);
    }

    interface Decoder {
        String decode(ByteBuffer key, ByteBuffer value) throws Exception;
    }

    /** From 3.9 on. */
    private static final class Generated implements Decoder {
        private final Object serde;
        private final Method deserialize;

        Generated() throws Exception {
            String name = "org.apache.kafka.coordinator.group." + (exists("org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde") ? "Group" : "");
            Constructor<?> constructor = Class.forName(name + "CoordinatorRecordSerde").getDeclaredConstructor();
            constructor.setAccessible(true);
            serde = constructor.newInstance();
            deserialize = serde.getClass().getMethod("deserialize", ByteBuffer.class, ByteBuffer.class);
        }

        @Override
        public String decode(ByteBuffer key, ByteBuffer value) throws Exception {
            Object record;
            try {
                record = deserialize.invoke(serde, key, value);
            } catch (InvocationTargetException refused) {
                return "\"refused\":" + quoted(String.valueOf(refused.getCause().getMessage()));
            }
            return "\"key\":" + json(call(record, "key")) + ",\"value\":" + json(call(record, "value"));
        }

        private static String json(Object message) throws Exception {
            if (message == null) return "null";
            short version = 0;
            if (message.getClass().getSimpleName().equals("ApiMessageAndVersion")) {
                version = (Short) call(message, "version");
                message = call(message, "message");
            }
            Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
            short written = message.getClass().getSimpleName().endsWith("Key") ? (Short) call(message, "lowestSupportedVersion") : version;
            Object node = converter.getMethod("write", message.getClass(), short.class).invoke(null, message, written);
            return "{\"name\":" + quoted(message.getClass().getSimpleName()) + ",\"version\":" + version + ",\"data\":" + node + "}";
        }
    }

    /** Up to 3.8: schemas of the Scala coordinator. */
    private static final class Structs implements Decoder {
        private final Class<?> manager = Class.forName("kafka.coordinator.group.GroupMetadataManager$");
        private final Object module = manager.getField("MODULE$").get(null);

        Structs() throws Exception { }

        @Override
        public String decode(ByteBuffer key, ByteBuffer value) throws Exception {
            short type = key.getShort();
            String named = struct(schema("schemaForKey", type).getMethod("read", ByteBuffer.class).invoke(found, key));
            String read = "null";
            if (value != null) {
                short version = value.getShort();
                Class<?> schema = schema(type < 2 ? "schemaForOffset" : "schemaForGroup", version);
                read = "{\"version\":" + version + ",\"data\":" + struct(schema.getMethod("read", ByteBuffer.class).invoke(found, value)) + "}";
            }
            return "\"key\":{\"version\":" + type + ",\"data\":" + named + "},\"value\":" + read;
        }

        private Object found;

        private Class<?> schema(String method, int version) throws Exception {
            for (Method each : manager.getDeclaredMethods()) {
                if (each.getName().equals(method) || each.getName().equals(method + "Value")) {
                    each.setAccessible(true);
                    found = each.invoke(module, version);
                    return found.getClass();
                }
            }
            throw new IllegalStateException("GroupMetadataManager has no " + method);
        }

        private static String struct(Object struct) throws Exception {
            if (struct == null) return "null";
            if (struct instanceof Number) return struct.toString();
            if (struct instanceof String) return quoted((String) struct);
            if (struct instanceof ByteBuffer) {
                byte[] bytes = new byte[((ByteBuffer) struct).remaining()];
                ((ByteBuffer) struct).duplicate().get(bytes);
                return quoted(Base64.getEncoder().encodeToString(bytes));
            }
            StringBuilder made = new StringBuilder();
            if (struct.getClass().isArray()) {
                for (int at = 0; at < Array.getLength(struct); at++) made.append(at == 0 ? "" : ",").append(struct(Array.get(struct, at)));
                return "[" + made + "]";
            }
            Object schema = call(struct, "schema");
            Object[] fields = (Object[]) call(schema, "fields");
            for (Object field : fields) {
                Field def = field.getClass().getField("def");
                Field name = def.get(field).getClass().getField("name");
                Object value = struct.getClass().getMethod("get", String.class).invoke(struct, name.get(def.get(field)));
                made.append(made.length() == 0 ? "" : ",").append(quoted((String) name.get(def.get(field)))).append(":").append(struct(value));
            }
            return "{" + made + "}";
        }
    }

    private static Object call(Object target, String method) throws Exception {
        Method found = target.getClass().getMethod(method);
        found.setAccessible(true);
        return found.invoke(target);
    }

    private static Class<?> named(String name) throws ClassNotFoundException {
        return Class.forName((exists(PACKAGES[0] + name) ? PACKAGES[0] : PACKAGES[1]) + name);
    }

    private static boolean exists(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }

    private static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') made.append('\\').append(letter);
            else if (letter < 32) made.append(String.format("\\u%04x", (int) letter));
            else made.append(letter);
        }
        return made.append('"').toString();
    }
}
