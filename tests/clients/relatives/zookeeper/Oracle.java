import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

import kafka.common.TopicAndPartition;
import kafka.consumer.AssignmentContext;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.PartitionAssignor$;
import kafka.utils.Pool;
import kafka.utils.ZkUtils;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import scala.Tuple2;

/**
 * What Kafka 0.9.0.1 itself assigns, from the nodes of a ZooKeeper in this process.
 *
 * Lines in, fields between tabs: "topic NAME DATA" and "consumer ID DATA" write a node of group g; "assign NAME" has each consumer compute for itself and
 * answers "given BY CONSUMER TOPIC PARTITION THREAD" or "none BY CONSUMER" or "failed BY MESSAGE", then "done"; all nodes are gone after that.
 */
public final class Oracle {
    private static final String IDS = "/consumers/g/ids";
    private static final String TOPICS = "/brokers/topics";

    public static void main(String[] arguments) {
        try {
            serve();
        } catch (Throwable failed) {
            failed.printStackTrace(); // ZooKeeper's threads would go on, and its handler of uncaught exceptions say nothing
            Runtime.getRuntime().halt(1);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void serve() throws Exception {
        System.setProperty("zookeeper.forceSync", "no");
        var folder = Files.createTempDirectory("oracle").toFile();
        var server = new ZooKeeperServer(folder, folder, 2_000);
        var connections = new NIOServerCnxnFactory();
        connections.configure(new InetSocketAddress("127.0.0.1", 0), 10);
        connections.startup(server);
        var zookeeper = ZkUtils.apply("127.0.0.1:" + connections.getLocalPort(), 30_000, 30_000, false);
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<String> consumers = new ArrayList<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] fields = line.split("\t", -1);
            if (fields[0].equals("topic")) {
                put(zookeeper, TOPICS + "/" + fields[1], fields[2]);
            } else if (fields[0].equals("consumer")) {
                put(zookeeper, IDS + "/" + fields[1], fields[2]);
                consumers.add(fields[1]);
            } else {
                for (String consumer : consumers) {
                    assign(zookeeper, fields[1], consumer);
                }
                System.out.println("done");
                zookeeper.deletePathRecursive("/consumers");
                zookeeper.deletePathRecursive("/brokers");
                consumers.clear();
            }
        }
    }

    private static void put(ZkUtils zookeeper, String path, String data) {
        zookeeper.zkClient().createPersistent(path.substring(0, path.lastIndexOf('/')), true);
        zookeeper.zkClient().createPersistent(path, (Object) data);
    }

    private static void assign(ZkUtils zookeeper, String assignor, String by) {
        Pool<String, scala.collection.mutable.Map<TopicAndPartition, ConsumerThreadId>> assigned;
        try {
            assigned = PartitionAssignor$.MODULE$.createInstance(assignor).assign(new AssignmentContext("g", by, true, zookeeper));
        } catch (RuntimeException failed) {
            System.out.println("failed\t" + by + "\t" + failed.getMessage().replaceAll("\\s+", " "));
            return;
        }
        var out = new TreeSet<String>();
        for (var all = ((scala.collection.Iterable<?>) (Object) assigned).iterator(); all.hasNext(); ) {
            var entry = (Tuple2<String, scala.collection.mutable.Map<TopicAndPartition, ConsumerThreadId>>) all.next();
            if (entry._2().isEmpty()) {
                out.add("none\t" + by + "\t" + entry._1());
            }
            for (var each = entry._2().iterator(); each.hasNext(); ) {
                Tuple2<TopicAndPartition, ConsumerThreadId> given = each.next();
                out.add("given\t" + by + "\t" + entry._1() + "\t" + given._1().topic() + "\t" + given._1().partition() + "\t" + given._2());
            }
        }
        out.forEach(System.out::println);
    }
}
