package groupproof.shim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class PollingMemberTest {
    private static final TopicPartition T0 = new TopicPartition("t", 0);
    private static final List<String> ALL = List.of("pause", "on-revoked", "commit");

    /** A client in memory: its first poll brings partition 0 and five records; topic `fenced` makes each poll throw, topic `quiet` brings none. */
    private static final class Scripted extends PollingMember {
        boolean isFenced;
        boolean isQuiet;
        int polls;

        Scripted(String key) {
            super(key);
        }

        @Override
        protected void open(Settings settings) {
            List<String> topics = settings.takeStrings("topics", List.of());
            isFenced = topics.contains("fenced");
            isQuiet = topics.contains("quiet");
            settings.take("group", "");
            beginPolling(settings);
        }

        @Override
        protected List<ConsumerRecord<byte[], byte[]>> poll(long timeoutMs) throws Exception {
            polls++;
            if (isFenced) throw new FencedInstanceIdException("fenced");
            if (polls > 1 || isQuiet) {
                Thread.sleep(1);
                return List.of();
            }
            assigned(List.of(T0));
            List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (long offset = 0; offset < 5; offset++) records.add(new ConsumerRecord<>("t", 0, offset, null, null));
            return records;
        }

        @Override
        protected void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
            if (offsets != null && offsets.get(T0).offset() == 13) throw new RebalanceInProgressException("again");
        }

        @Override
        protected void stop(Boolean leave) {
            revoked(assignment());
        }
    }

    private static List<Map<String, Object>> after(String... commands) throws Exception {
        return new ScriptedProcess(ALL, Scripted::new).run(commands);
    }

    private static List<Object> names(List<Map<String, Object>> lines) {
        return lines.stream().map(ScriptedProcess::name).collect(Collectors.toList());
    }

    private static Map<String, Object> answer(List<Map<String, Object>> lines, long id) {
        return lines.stream().filter(line -> Long.valueOf(id).equals(line.get("id"))).findFirst().orElseThrow();
    }

    private static final String SUBSCRIBE = "{\"id\":1,\"command\":\"subscribe\",\"member\":\"m0\",\"group\":\"g\",\"topics\":[\"t\"],\"made_up\":1,\"instance_id\":null}";

    @Test
    void subscribeIsAnsweredWithWhatWasIgnored() throws Exception {
        List<Map<String, Object>> lines = after(SUBSCRIBE);

        assertEquals(Json.of("id", 1L, "member", "m0", "ok", true, "ignored", List.of("made_up")), answer(lines, 1));
        assertEquals(List.of("startup_complete", "answer"), names(lines).subList(0, 2));
        assertEquals("shutdown_complete", names(lines).get(lines.size() - 1));
    }

    @Test
    void whatAPollBroughtIsReportedByPartition() throws Exception {
        ScriptedProcess scripted = new ScriptedProcess(ALL, Scripted::new);
        scripted.process.read(reader(SUBSCRIBE));
        awaitName(scripted, "records_consumed");
        List<Map<String, Object>> lines = scripted.run("{\"id\":2,\"command\":\"assignment\",\"member\":\"m0\"}");

        assertEquals(List.of("partitions_assigned", "callback_done", "records_consumed"), names(lines).subList(2, 5));
        assertEquals(5L, lines.get(4).get("count"));
        assertEquals(List.of(Json.of("topic", "t", "partition", 0L, "minOffset", 0L, "maxOffset", 4L, "count", 5L)), lines.get(4).get("partitions"));
        assertEquals(List.of(Json.of("topic", "t", "partition", 0L)), answer(lines, 2).get("partitions"));
    }

    @Test
    @Timeout(30)
    void aSlowHandlerIsSlowWithRecordsOnly() throws Exception {
        Scripted[] made = new Scripted[1];
        ScriptedProcess scripted = new ScriptedProcess(ALL, key -> made[0] = new Scripted(key));
        scripted.process.read(reader(SUBSCRIBE.replace("[\"t\"]", "[\"quiet\"]").replace("\"made_up\":1", "\"handler_delay_ms\":60000")));
        awaitAnswer(scripted, 1);
        while (made[0].polls < 3) Thread.onSpinWait();
        assertTrue(names(scripted.run()).contains("shutdown_complete"));
    }

    @Test
    void aCommitWithoutOffsetsIsOfWhatWasReceivedAndItsEventComesFirst() throws Exception {
        ScriptedProcess scripted = new ScriptedProcess(ALL, Scripted::new);
        scripted.process.read(reader(SUBSCRIBE));
        awaitName(scripted, "records_consumed");
        List<Map<String, Object>> lines = scripted.run("{\"id\":2,\"command\":\"commit\",\"mode\":\"sync\",\"member\":\"m0\"}",
                "{\"id\":3,\"command\":\"commit\",\"mode\":\"sync\",\"offsets\":[[\"t\",0,13]],\"member\":\"m0\"}",
                "{\"id\":4,\"command\":\"commit\",\"mode\":\"async\",\"member\":\"m0\"}");

        assertEquals(List.of(List.of("t", 0L, 5L)), answer(lines, 2).get("offsets"));
        assertEquals("offsets_committed", lines.get(lines.indexOf(answer(lines, 2)) - 1).get("name"));
        assertEquals("REBALANCE_IN_PROGRESS", answer(lines, 3).get("error"));
        assertEquals(false, answer(lines, 3).get("fatal"));
        assertEquals(false, lines.get(lines.indexOf(answer(lines, 3)) - 1).get("success"));
        assertEquals("this client commits and waits for the answer", answer(lines, 4).get("unimplemented"));
    }

    @Test
    void onRevokedIsDoneBeforeTheCallbackIs() throws Exception {
        ScriptedProcess scripted = new ScriptedProcess(ALL, Scripted::new);
        scripted.process.read(reader(SUBSCRIBE.replace("\"made_up\":1", "\"on_revoked\":{\"sleep_ms\":1,\"commit\":true}")));
        awaitName(scripted, "records_consumed");
        List<Object> names = names(scripted.run());

        int revoked = names.indexOf("partitions_revoked");
        assertEquals(List.of("partitions_revoked", "offsets_committed", "callback_done", "shutdown_complete"), names.subList(revoked, revoked + 4));
    }

    @Test
    void aFatalErrorEndsThePollsAndNotTheMember() throws Exception {
        ScriptedProcess scripted = new ScriptedProcess(ALL, Scripted::new);
        scripted.process.read(reader(SUBSCRIBE.replace("[\"t\"]", "[\"fenced\"]")));
        Map<String, Object> error = awaitName(scripted, "error");
        List<Map<String, Object>> lines = scripted.run("{\"id\":2,\"command\":\"assignment\",\"member\":\"m0\"}");

        assertEquals("FENCED_INSTANCE_ID", error.get("error"));
        assertEquals(true, error.get("fatal"));
        assertEquals(1, names(lines).stream().filter("error"::equals).count());
        assertEquals(List.of(), answer(lines, 2).get("partitions"));
    }

    @Test
    void whatIsNoCommandAndWhatIsNoFeatureIsSaid() throws Exception {
        List<Map<String, Object>> lines = after("garbage", "[1]", "{\"id\":9,\"command\":\"frobnicate\"}", "{\"id\":8,\"command\":\"pause\",\"member\":\"m0\"}",
                SUBSCRIBE, "{\"id\":2,\"command\":\"resubscribe\",\"topics\":[\"u\"],\"member\":\"m0\"}", "{\"id\":3,\"command\":\"close\",\"leave\":false,\"member\":\"m0\"}",
                "{\"id\":4,\"command\":\"committed\",\"partitions\":[[\"t\",0]],\"member\":\"m0\"}", SUBSCRIBE.replace("\"id\":1", "\"id\":5"));

        assertTrue(((String) answer(lines, 9).get("unimplemented")).contains("frobnicate"));
        assertEquals("ILLEGAL_STATE", answer(lines, 8).get("error"));
        for (long id : List.of(2L, 3L, 4L)) assertTrue(answer(lines, id).containsKey("unimplemented"), "answer " + id);
        assertEquals("ILLEGAL_STATE", answer(lines, 5).get("error"));
    }

    @Test
    void afterAPauseThereAreNoPollsUntilResume() throws Exception {
        Scripted[] made = new Scripted[1];
        ScriptedProcess scripted = new ScriptedProcess(ALL, key -> made[0] = new Scripted(key));
        scripted.process.read(reader(SUBSCRIBE + "\n{\"id\":2,\"command\":\"pause\",\"member\":\"m0\"}"));
        awaitAnswer(scripted, 2);
        int polls = made[0].polls;
        scripted.process.read(reader("{\"id\":3,\"command\":\"assignment\",\"member\":\"m0\"}"));
        awaitAnswer(scripted, 3);
        assertEquals(polls, made[0].polls);
        scripted.process.read(reader("{\"id\":4,\"command\":\"resume\",\"member\":\"m0\"}"));
        awaitAnswer(scripted, 4);
        while (made[0].polls == polls) Thread.onSpinWait();
        assertTrue(names(scripted.run()).contains("shutdown_complete"));
    }

    private static java.io.BufferedReader reader(String text) {
        return new java.io.BufferedReader(new java.io.StringReader(text));
    }

    private static Map<String, Object> awaitName(ScriptedProcess scripted, String name) {
        return await(scripted, line -> name.equals(line.get("name")));
    }

    private static void awaitAnswer(ScriptedProcess scripted, long id) {
        await(scripted, line -> Long.valueOf(id).equals(line.get("id")));
    }

    private static Map<String, Object> await(ScriptedProcess scripted, java.util.function.Predicate<Map<String, Object>> wanted) {
        while (true) {
            for (Map<String, Object> line : scripted.lines()) if (wanted.test(line)) return line;
            Thread.onSpinWait();
        }
    }
}
