package groupproof.shim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.StringReader;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.errors.NotCoordinatorException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PushMemberTest {
    private static final List<ConsumerRecord<byte[], byte[]>> RECORDS = List.of(new ConsumerRecord<>("t", 0, 7L, null, null));

    private static final class Scripted extends PushMember {
        Scripted(String key) {
            super(key);
        }

        @Override
        protected void open(Settings settings) {}

        @Override
        protected void stop(Boolean leave) {}
    }

    private Scripted member;
    private final ScriptedProcess scripted = new ScriptedProcess(List.of("pause"), key -> member = new Scripted(key));

    private void ask(long id, String command) throws Exception {
        scripted.process.read(new BufferedReader(new StringReader("{\"id\":" + id + ",\"command\":\"" + command + "\",\"member\":\"m0\"}")));
        while (scripted.lines().stream().noneMatch(line -> Long.valueOf(id).equals(line.get("id")))) Thread.onSpinWait();
    }

    private List<Object> names() {
        return scripted.lines().stream().map(ScriptedProcess::name).collect(Collectors.toList());
    }

    @Test
    void aPausedHandlerKeepsItsRecordsUntilResume() throws Exception {
        ask(1, "subscribe");
        ask(2, "pause");
        Thread handler = new Thread(() -> member.received(RECORDS));
        handler.start();
        while (handler.getState() != Thread.State.WAITING) Thread.onSpinWait();
        assertFalse(names().contains("records_consumed"));
        ask(3, "resume");
        handler.join();
        assertTrue(names().contains("records_consumed"));
    }

    @Test
    void aHandlerThatIsPausedAtTheEndIsLetGoUnreported() throws Exception {
        ask(1, "subscribe");
        ask(2, "pause");
        Thread handler = new Thread(() -> member.received(RECORDS));
        handler.start();
        while (handler.getState() != Thread.State.WAITING) Thread.onSpinWait();
        ask(3, "close");
        handler.join();
        assertFalse(names().contains("records_consumed"));
    }

    @Test
    void theSameErrorIsReportedOnceInAWhile() throws Exception {
        ask(1, "subscribe");
        for (int i = 0; i < 3; i++) member.failed(new NotCoordinatorException("moved"));
        member.failed(new NotCoordinatorException("moved again"));
        List<Map<String, Object>> errors = scripted.lines().stream().filter(line -> "error".equals(line.get("name"))).collect(Collectors.toList());

        assertEquals(List.of("moved", "moved again"), errors.stream().map(line -> line.get("message")).collect(Collectors.toList()));
        assertEquals("NOT_COORDINATOR", errors.get(0).get("error"));
        assertEquals(false, errors.get(0).get("fatal"));
    }

    @Test
    void aClientThatCannotBeStoppedSaysSo() throws Exception {
        ScriptedProcess other = new ScriptedProcess(List.of(), Scripted::new);
        List<Map<String, Object>> lines = other.run("{\"id\":1,\"command\":\"subscribe\"}", "{\"id\":2,\"command\":\"pause\"}");

        assertEquals("this client cannot be stopped from handing records over",
                lines.stream().filter(line -> Long.valueOf(2).equals(line.get("id"))).findFirst().orElseThrow().get("unimplemented"));
    }
}
