import groupproof.junit.Conformance;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

class ConformanceTest {
    @TestFactory
    Stream<DynamicTest> keepsTheProtocol() {
        return Conformance.ofProgram("java", "-cp", System.getProperty("java.class.path"), "MyShim").with("--only", "heartbeat/classic/illegal-generation").tests();
    }
}
