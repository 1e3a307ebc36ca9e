import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.*;

/** Three members of a consumer group, one request after the other. Needs kafka-clients and a broker: java -cp 'kafka-clients.jar:slf4j-api.jar' EmptyTarget.java HOST:PORT NEWCOMERS-ID */
public class EmptyTarget {
    static String address, topic, group;
    static Uuid topicId;
    static boolean says;

    public static void main(String[] args) throws Exception {
        address = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            topic = group = "targets-" + System.currentTimeMillis();
            topicId = admin.createTopics(List.of(new NewTopic(topic, 4, (short) 1))).topicId(topic).get();
            for (int wait = 0; wait < 60 && !coordinatorIsThere(admin); wait++) Thread.sleep(500);
            once(admin, args[1]);  // the order of Java's HashMap decides, which is that of the ids' hash codes
        }
    }

    static void once(Admin admin, String newcomersId) throws Exception {
        Member leaver = new Member("leaver"), one = new Member("one"), two = new Member("two"), newcomer = new Member(newcomersId);
        for (Member each : List.of(leaver, one, two)) each.beat(0, List.of(topic), null);
        for (int round = 0; round < 5; round++) {
            Thread.sleep(1_100);  // group.consumer.assignment.interval.ms: no target is computed sooner than this after the one before
            for (Member each : List.of(leaver, one, two)) each.beat(each.epoch, null, null);
        }
        System.out.printf("leaver has %s, one %s, two %s%n", leaver.has, one.has, two.has);
        Thread.sleep(1_100);
        says = true;
        leaver.beat(-1, null, null);
        newcomer.beat(0, null, "no-topic-has-this-name-.*");
        System.out.println("the leaver is gone, and " + newcomersId + " has joined with a regular expression that no topic matches");
        for (int round = 0; round < 4; round++) {
            describe(admin);
            Thread.sleep(5_000);
            for (Member each : List.of(one, two, newcomer)) each.beat(each.epoch, null, null);
        }
    }

    static void describe(Admin admin) throws Exception {
        var found = admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
        System.out.printf("  group epoch %s; targets:", found.groupEpoch().get());
        for (var each : found.members()) System.out.printf(" %s %s", each.consumerId(), each.targetAssignment().map(target -> target.topicPartitions().stream().map(p -> p.partition()).sorted().toList()).orElse(null));
        System.out.println();
    }

    static boolean coordinatorIsThere(Admin admin) {
        try { admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(); return true; } catch (Exception notYet) { return false; }
    }

    static class Member {
        final String id; int epoch; List<Integer> has = List.of();
        Member(String id) { this.id = id; }

        void beat(int epoch, List<String> topics, String regex) throws Exception {
            var data = new ConsumerGroupHeartbeatRequestData().setGroupId(group).setMemberId(id).setMemberEpoch(epoch).setRebalanceTimeoutMs(epoch == 0 ? 60_000 : -1).setSubscribedTopicNames(topics).setSubscribedTopicRegex(regex)
                .setTopicPartitions(epoch < 0 ? null : has.isEmpty() ? List.of() : List.of(new ConsumerGroupHeartbeatRequestData.TopicPartitions().setTopicId(topicId).setPartitions(has)));
            var request = new ConsumerGroupHeartbeatRequest(data, (short) 1);
            var header = new RequestHeader(ApiKeys.CONSUMER_GROUP_HEARTBEAT, (short) 1, id, 1);
            String[] at = address.split(":");
            try (Socket socket = new Socket(at[0], Integer.parseInt(at[1]))) {
                ByteBuffer bytes = RequestUtils.serialize(header.data(), header.headerVersion(), request.data(), request.version());
                DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                out.writeInt(bytes.remaining()); out.write(bytes.array(), bytes.position(), bytes.remaining()); out.flush();
                DataInputStream in = new DataInputStream(socket.getInputStream());
                byte[] answered = new byte[in.readInt()]; in.readFully(answered);
                var answer = ((ConsumerGroupHeartbeatResponse) AbstractResponse.parseResponse(ByteBuffer.wrap(answered), header)).data();
                var owned = has;
                this.epoch = answer.memberEpoch();
                if (answer.assignment() != null) has = answer.assignment().topicPartitions().stream().flatMap(t -> t.partitions().stream()).sorted().toList();
                if (says) System.out.printf("  %s ConsumerGroupHeartbeat epoch %d owns %s -> %d, epoch %d, %s%n", id, epoch, owned, answer.errorCode(), this.epoch, answer.assignment() == null ? "-" : "assigned " + has);
            }
        }
    }
}
