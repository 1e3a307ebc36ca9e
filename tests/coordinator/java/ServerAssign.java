import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupTargetAssignmentMemberValue;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

/**
 * Kafka's own server-side assignors, over groups that change. A line on stdin is an event, its fields separated by tabs:
 * "group ASSIGNOR" a new group; "topic NAME ID PARTITIONS" a topic that is new or grew; "delete NAME"; "enter MEMBER INSTANCE RACK NAMES" a member that is new or changed;
 * "leave MEMBER"; "target" the target as it is then; "beat MEMBER INSTANCE RACK NAMES" the target with a member whose change is not stored yet, which is stored afterwards.
 * After "target" and "beat" a line on stdout has each member with its stored assignment, all in the order of Kafka's maps.
 * What TargetAssignmentBuilder does around the assignor is done here with the maps that it uses, as each release does it.
 */
public final class ServerAssign implements SubscribedTopicDescriber {
    private record Member(String instance, String rack, Set<String> names) { }

    private final ConsumerGroupPartitionAssignor assignor;
    private final Map<String, Uuid> topicIds = new HashMap<>();
    private final Map<Uuid, Integer> counts = new HashMap<>();
    private final TimelineHashMap<String, Member> members = new TimelineHashMap<>(registry(), 0);
    private final Map<String, String> staticMembers = new HashMap<>();
    private final Map<String, Assignment> target = new HashMap<>();

    private ServerAssign(String assignor) {
        this.assignor = assignor.equals("range") ? new RangeAssignor() : new UniformAssignor();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        ServerAssign group = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t", -1);
            if (fields[0].equals("group")) {
                group = new ServerAssign(fields[1]);
            } else {
                group.happens(fields);
            }
        }
    }

    private void happens(String[] fields) throws Exception {
        switch (fields[0]) {
            case "topic" -> {
                UUID id = UUID.fromString(fields[2]);
                topicIds.put(fields[1], new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits()));
                counts.put(topicIds.get(fields[1]), Integer.parseInt(fields[3]));
            }
            case "delete" -> counts.remove(topicIds.remove(fields[1]));
            case "enter" -> store(fields[1], member(fields));
            case "leave" -> {
                Member gone = members.remove(fields[1]);
                staticMembers.remove(gone.instance(), fields[1]);
                target.remove(fields[1]);
            }
            case "target" -> compute(null, null);
            case "beat" -> {
                compute(fields[1], member(fields));
                store(fields[1], member(fields));
            }
            default -> throw new IllegalArgumentException(fields[0]);
        }
    }

    private static Member member(String[] fields) {
        List<String> names = fields[4].isEmpty() ? List.of() : Arrays.asList(fields[4].split(","));
        return new Member(fields[2].isEmpty() ? null : fields[2], fields[3].isEmpty() ? null : fields[3], new HashSet<>(names));
    }

    private void store(String id, Member member) {
        String previous = replaced(id, member);
        if (previous != null) {
            members.remove(previous);
            target.remove(previous);
        }
        members.put(id, member); // by the record of the subscription
        members.put(id, member); // by the record of the current assignment: the table may grow at a replacement too
        if (member.instance() != null) {
            staticMembers.put(member.instance(), id);
        }
    }

    private String replaced(String id, Member member) {
        String previous = member.instance() == null ? null : staticMembers.get(member.instance());
        return previous == null || previous.equals(id) ? null : previous;
    }

    private void compute(String updated, Member member) throws Exception {
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        target.forEach((id, assignment) -> assignment.partitions().forEach((topic, numbers) ->
            numbers.forEach(number -> inverted.computeIfAbsent(topic, __ -> new HashMap<>()).put(number, id))));
        Map<String, MemberSubscriptionAndAssignmentImpl> specs = specs(updated, member);
        Set<Set<String>> subscriptions = new HashSet<>();
        subscribed(updated, member).forEach(each -> subscriptions.add(each.names()));
        SubscriptionType type = subscriptions.size() > 1 ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        GroupSpecImpl spec = new GroupSpecImpl(Collections.unmodifiableMap(specs), type, inverted);
        Map<String, MemberAssignment> computed = assignor.assign(spec, this).members();
        List<String> told = new ArrayList<>();
        for (String id : specs.keySet()) {
            keep(id, computed.get(id));
            told.add(id + ":" + text(target.get(id)));
        }
        System.out.println(String.join("|", told));
    }

    private List<Member> subscribed(String updated, Member member) {
        Map<String, Member> after = new HashMap<>();
        members.forEach(after::put);
        if (updated != null) {
            after.remove(replaced(updated, member));
            after.put(updated, member);
        }
        return List.copyOf(after.values());
    }

    /** The map that TargetAssignmentBuilder.build makes: up to 4.3 of the members and then of what changed, from 4.4 of a view of both. */
    private Map<String, MemberSubscriptionAndAssignmentImpl> specs(String updated, Member member) throws Exception {
        Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
        String previous = updated == null ? null : replaced(updated, member);
        if (updated == null) {
            members.forEach((id, each) -> specs.put(id, spec(each, last(id))));
        } else if (view() != null) {
            Object view = view().getConstructor(Map.class, Map.class, Map.class, Function.class)
                .newInstance(members, staticMembers, target, (Function<Member, String>) Member::instance);
            view().getMethod("addOrUpdateMember", String.class, Object.class).invoke(view, updated, member);
            Map<?, ?> seen = (Map<?, ?>) view().getMethod("members").invoke(view);
            Map<?, ?> targets = (Map<?, ?>) view().getMethod("targetAssignment").invoke(view);
            seen.forEach((id, each) -> specs.put((String) id, spec((Member) each, targets.get(id) == null ? Assignment.EMPTY : (Assignment) targets.get(id))));
        } else {
            members.forEach((id, each) -> specs.put(id, spec(each, last(id))));
            Map<String, Member> changes = new HashMap<>();
            changes.put(updated, member);
            if (previous != null) {
                changes.put(previous, null);
            }
            changes.forEach((id, each) -> {
                if (each == null) {
                    specs.remove(id);
                } else {
                    specs.put(id, spec(each, last(previous == null ? id : previous)));
                }
            });
        }
        return specs;
    }

    /** Its argument, a LogContext, has moved to another package in 4.4. */
    private static SnapshotRegistry registry() {
        try {
            Constructor<?> made = SnapshotRegistry.class.getConstructors()[0];
            return (SnapshotRegistry) made.newInstance(made.getParameterTypes()[0].getConstructor().newInstance());
        } catch (ReflectiveOperationException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static Class<?> view() {
        try {
            return Class.forName("org.apache.kafka.coordinator.group.util.UpdatedMembersAndTargetAssignmentView");
        } catch (ClassNotFoundException before44) {
            return null;
        }
    }

    private Assignment last(String id) {
        return target.getOrDefault(id, Assignment.EMPTY);
    }

    /** The names go by their set, as TopicIds does, which leaves out topics that do not exist. */
    private MemberSubscriptionAndAssignmentImpl spec(Member member, Assignment assignment) {
        Set<Uuid> ids = new LinkedHashSet<>();
        member.names().stream().filter(topicIds::containsKey).forEach(name -> ids.add(topicIds.get(name)));
        return new MemberSubscriptionAndAssignmentImpl(Optional.ofNullable(member.rack()), Optional.ofNullable(member.instance()), ids, assignment);
    }

    /** A record is written only if the assignment changed, and is read back by Assignment.fromRecord. */
    private void keep(String id, MemberAssignment computed) {
        Assignment assignment = computed == null ? Assignment.EMPTY : new Assignment(computed.partitions());
        if (!assignment.equals(target.get(id))) {
            List<ConsumerGroupTargetAssignmentMemberValue.TopicPartition> topics = new ArrayList<>();
            assignment.partitions().forEach((topic, numbers) ->
                topics.add(new ConsumerGroupTargetAssignmentMemberValue.TopicPartition().setTopicId(topic).setPartitions(new ArrayList<>(numbers))));
            target.put(id, Assignment.fromRecord(new ConsumerGroupTargetAssignmentMemberValue().setTopicPartitions(topics)));
        }
    }

    private String text(Assignment assignment) {
        Map<String, String> told = new LinkedHashMap<>();
        Map<Uuid, String> names = topicIds.entrySet().stream().collect(Collectors.toMap(Map.Entry::getValue, Map.Entry::getKey));
        assignment.partitions().forEach((topic, numbers) -> told.put(names.get(topic), numbers.stream().map(String::valueOf).collect(Collectors.joining(","))));
        return told.entrySet().stream().map(entry -> entry.getKey() + "=" + entry.getValue()).collect(Collectors.joining(";"));
    }

    @Override
    public int numPartitions(Uuid topicId) {
        return counts.getOrDefault(topicId, -1);
    }

    @Override
    public Set<String> racksForPartition(Uuid topicId, int partition) {
        return Set.of("rack-" + partition % 3);
    }
}
