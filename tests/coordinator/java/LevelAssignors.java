import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.*;

/** A consumer group with one member for each of two assignors, one request after the other. Needs kafka-clients and a broker: java -cp 'kafka-clients.jar:slf4j-api.jar' LevelAssignors.java HOST:PORT */
public class LevelAssignors {
    static String address, topic, group;
    static Uuid topicId;
    static boolean says;

    public static void main(String[] args) throws Exception {
        address = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            topic = group = "level-" + System.currentTimeMillis();
            topicId = admin.createTopics(List.of(new NewTopic(topic, 4, (short) 1))).topicId(topic).get();
            for (int wait = 0; wait < 60 && !coordinatorIsThere(admin); wait++) Thread.sleep(500);
            once(admin);
        }
    }

    static void once(Admin admin) throws Exception {
        Member one = new Member("one", "range"), two = new Member("two", "uniform");
        one.beat(0);
        two.beat(0);
        for (int round = 0; round < 5; round++) {
            Thread.sleep(1_100);  // group.consumer.assignment.interval.ms: no target is computed sooner than this after the one before
            one.beat(one.epoch);
            two.beat(two.epoch);
        }
        says = true;
        System.out.println("both have what they are to have, and nothing changes any more");
        for (Member member : List.of(one, one, one, two, two, two, one, one)) {
            Thread.sleep(1_100);
            member.beat(member.epoch);
            System.out.println("  group epoch " + admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get().groupEpoch().get());
        }
    }

    static boolean coordinatorIsThere(Admin admin) {
        try { admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(); return true; } catch (Exception notYet) { return false; }
    }

    static class Member {
        final String id, assignor; int epoch; List<Integer> has = List.of();
        Member(String id, String assignor) { this.id = id; this.assignor = assignor; }

        /** Says everything in the join; afterwards what it owns, and nothing else. */
        void beat(int epoch) throws Exception {
            boolean joins = epoch == 0;
            var data = new ConsumerGroupHeartbeatRequestData().setGroupId(group).setMemberId(id).setMemberEpoch(epoch).setRebalanceTimeoutMs(joins ? 60_000 : -1).setSubscribedTopicNames(joins ? List.of(topic) : null)
                .setServerAssignor(joins ? assignor : null)
                .setTopicPartitions(has.isEmpty() ? List.of() : List.of(new ConsumerGroupHeartbeatRequestData.TopicPartitions().setTopicId(topicId).setPartitions(has)));
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
                this.epoch = answer.memberEpoch();
                if (answer.assignment() != null) has = answer.assignment().topicPartitions().stream().flatMap(t -> t.partitions().stream()).sorted().toList();
                if (says) System.out.printf("%s (%s) ConsumerGroupHeartbeat epoch %d -> %d, epoch %d%n", id, assignor, epoch, answer.errorCode(), this.epoch);
            }
        }
    }
}
