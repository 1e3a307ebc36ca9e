import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's own sticky assignors. A line on stdin is a group: the assignor, topics as NAME:COUNT, and members as ID;TOPICS;OWNED;GENERATION, the three separated by
 * tabs, entries by commas, members by bars. A line on stdout is what each member is given, in Kafka's order.
 */
public final class Assign {
    private static final Node NODE = new Node(0, "localhost", 9092);

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            System.out.println(assigned(parts[0], parts[1], parts[2]));
        }
    }

    private static String assigned(String name, String topics, String members) {
        boolean eager = name.equals("sticky");
        ConsumerPartitionAssignor assignor = eager ? new StickyAssignor() : new CooperativeStickyAssignor();
        Map<String, Subscription> subscriptions = new HashMap<>(); // as ConsumerCoordinator.onLeaderElected has it
        for (String member : members.split("\\|")) {
            String[] fields = member.split(";", -1);
            subscriptions.put(fields[0], subscription(eager, named(fields[1]), partitions(fields[2]), Integer.parseInt(fields[3])));
        }
        Map<String, Assignment> given = assignor.assign(cluster(topics), new GroupSubscription(subscriptions)).groupAssignment();
        List<String> told = new ArrayList<>();
        new TreeMap<>(given).forEach((id, each) -> told.add(id + ":" + String.join(",", each.partitions().stream().map(TopicPartition::toString).toList())));
        return String.join("|", told);
    }

    private static Subscription subscription(boolean eager, List<String> topics, List<TopicPartition> owned, int generation) {
        if (!eager) {
            return new Subscription(topics, null, owned, generation, Optional.empty());
        }
        StickyAssignor before = new StickyAssignor();
        ByteBuffer data = null;
        if (generation >= 0) {
            before.onAssignment(new Assignment(owned), new ConsumerGroupMetadata("g", generation, "", Optional.empty()));
            data = before.subscriptionUserData(new HashSet<>(topics));
        }
        return new Subscription(topics, data, List.of(), -1, Optional.empty());
    }

    private static Cluster cluster(String topics) {
        List<PartitionInfo> infos = new ArrayList<>();
        for (String topic : named(topics)) {
            String[] pair = topic.split(":");
            for (int number = 0; number < Integer.parseInt(pair[1]); number++) {
                infos.add(new PartitionInfo(pair[0], number, NODE, new Node[] {NODE}, new Node[] {NODE}));
            }
        }
        return new Cluster("c", List.of(NODE), infos, new HashSet<>(), new HashSet<>());
    }

    private static List<String> named(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(","));
    }

    private static List<TopicPartition> partitions(String text) {
        List<TopicPartition> found = new ArrayList<>();
        for (String each : named(text)) {
            int dash = each.lastIndexOf('-');
            found.add(new TopicPartition(each.substring(0, dash), Integer.parseInt(each.substring(dash + 1))));
        }
        return found;
    }
}
