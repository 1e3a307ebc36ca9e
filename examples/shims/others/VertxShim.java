import groupproof.shim.ConsumerSettings;
import groupproof.shim.PushMember;
import groupproof.shim.Settings;
import groupproof.shim.ShimProcess;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.kafka.client.consumer.KafkaReadStream;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

public final class VertxShim extends PushMember {
    private static final Vertx VERTX = Vertx.vertx();
    private KafkaReadStream<byte[], byte[]> stream;

    private VertxShim(String key) {
        super(key);
    }

    public static void main(String[] args) throws Exception {
        List<String> capabilities = List.of("classic", "commit", "auto-commit", "pause", "static", "cooperative");
        ShimProcess.serve("vertx-kafka-client", KafkaReadStream.class.getPackage().getImplementationVersion(), capabilities, VertxShim::new);
    }

    @Override
    protected void open(Settings settings) {
        stream = KafkaReadStream.create(VERTX, ConsumerSettings.of(settings));
        stream.exceptionHandler(this::failed);
        stream.partitionsAssignedHandler(this::assigned);
        stream.partitionsRevokedHandler(this::revoked);
        stream.handler(record -> received(List.of(record)));
        stream.subscribe(new HashSet<>(settings.takeStrings("topics", List.of()))).onFailure(this::failed);
    }

    @Override
    protected void stop(Boolean leave) throws Exception {
        await(stream.close());
    }

    @Override
    protected void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) throws Exception {
        await(stream.commit(offsets == null ? consumed() : offsets));
    }

    @Override
    protected Long committed(TopicPartition partition) throws Exception {
        OffsetAndMetadata found = await(stream.committed(partition));
        return found == null ? null : found.offset();
    }

    @Override
    protected void pause() throws Exception {
        onLoop(stream::pause);
    }

    @Override
    protected void resume() throws Exception {
        onLoop(stream::resume);
    }

    private static void onLoop(Callable<?> work) throws Exception {
        await(VERTX.executeBlocking(work));
    }

    private static <T> T await(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }
}
