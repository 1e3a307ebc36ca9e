package groupproof.shim;

import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** An error as the application sees it: Kafka's name for it, or that of the exception. */
public final class Problem {
    private static final Set<String> FATAL_TO_A_MEMBER =
            Set.of("FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "INVALID_GROUP_ID", "UNSUPPORTED_VERSION");
    public final String name;
    public final String message;
    public final boolean fatal;

    public Problem(String name, String message, boolean fatal) {
        this.name = name;
        this.message = message;
        this.fatal = fatal;
    }

    /** Names what a client raised. What the client does not call retriable is fatal. */
    public static Problem of(Throwable thrown) {
        Throwable error = unwrapped(thrown);
        Errors code = Errors.forException(error);
        String type = error.getClass().getSimpleName();
        String own = type.equals("KafkaException") ? type : type.replaceAll("Exception$", "");
        boolean isNamed = code != Errors.UNKNOWN_SERVER_ERROR || type.equals("UnknownServerException");
        String message = error.getCause() == null ? error.getMessage() : error.getMessage() + " (" + error.getCause() + ")";
        return new Problem(isNamed ? code.name() : own.replaceAll("(?<=[a-z])(?=[A-Z])", "_").toUpperCase(), String.valueOf(message),
                !(error instanceof RetriableException));
    }

    private static Throwable unwrapped(Throwable thrown) {
        boolean isWrapped = thrown instanceof InvocationTargetException || thrown instanceof ExecutionException;
        return isWrapped && thrown.getCause() != null ? thrown.getCause() : thrown;
    }

    /** A failed command is fatal only when it shows that the member cannot go on, or never began. */
    public Problem ofCommand(boolean hasBegun) {
        return new Problem(name, message, fatal && (!hasBegun || FATAL_TO_A_MEMBER.contains(name)));
    }

    Map<String, Object> fields() {
        return Json.of("error", name, "message", message, "fatal", fatal);
    }
}
