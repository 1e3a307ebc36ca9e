package groupproof.shim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void whatIsWrittenIsReadAgain() {
        Object value = Json.of("a", List.of(1L, -2.5, true, "x\"\\\n\u0001é"), "b", Json.of());

        assertEquals(value, new Json(Json.text(value)).value());
    }

    @Test
    void escapesAndSpacesAreRead() {
        assertEquals(Json.of("a b", List.of("\t/é")), new Json(" { \"a b\" : [ \"\\t\\/\\u00e9\" ] } ").value());
        assertEquals(List.of(), new Json("[]").value());
    }

    @Test
    void whatIsNoJsonIsRefused() {
        assertThrows(RuntimeException.class, () -> new Json("{\"a\" 1}").value());
        assertThrows(RuntimeException.class, () -> new Json("nonsense").value());
    }
}
