import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.*;

/** A consumer and a classic member without a topic in one group; the consumer goes. Needs kafka-clients and a broker: java -cp 'kafka-clients.jar:slf4j-api.jar' LastConsumer.java HOST:PORT leaves|dies */
public class LastConsumer {
    static String address, topic, group;
    static Uuid topicId;

    public static void main(String[] args) throws Exception {
        address = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            topic = group = "last-consumer-" + System.currentTimeMillis();
            topicId = admin.createTopics(List.of(new NewTopic(topic, 4, (short) 1))).topicId(topic).get();
            for (int wait = 0; wait < 60 && !coordinatorIsThere(admin); wait++) Thread.sleep(500);
            Epoch a = new Epoch("A"), b = new Epoch("B");
            Classic l = new Classic("L");
            for (int beats = 0; beats < 10 && a.has.size() < 4; beats++) { a.beat(a.epoch); Thread.sleep(1_100); }
            a.beat(a.epoch);
            l.join(); l.join(); l.sync();
            describe(admin);
            if (args[1].equals("leaves")) {
                a.beat(-1);
                describe(admin);
                return;
            }
            System.out.println("-- A says nothing more; its session is over after 45 s (group.consumer.session.timeout.ms)");
            for (int waited = 0; waited < 24; waited++) { Thread.sleep(2_500); l.heartbeat(); }
            describe(admin);
            System.out.println("-- a consumer of the same topic comes, so that a target is computed for everybody, and goes");
            b.beat(0); Thread.sleep(1_500); b.beat(-1); Thread.sleep(1_500);
            l.heartbeat();
            describe(admin);
        }
    }

    static void describe(Admin admin) throws Exception {
        var found = admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
        System.out.printf("  the group is %s and of type %s;", found.groupState(), found.type());
        for (var each : found.members()) System.out.printf(" %s has %s", each.clientId(), each.assignment().topicPartitions().stream().map(p -> p.partition()).sorted().toList());
        System.out.println();
    }

    static boolean coordinatorIsThere(Admin admin) {
        try { admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(); return true; } catch (Exception notYet) { return false; }
    }

    /** A member of the consumer protocol. */
    static class Epoch {
        final String id; int epoch; List<Integer> has = List.of();
        Epoch(String id) { this.id = id; }

        void beat(int epoch) throws Exception {
            boolean joins = epoch == 0;
            var data = new ConsumerGroupHeartbeatRequestData().setGroupId(group).setMemberId(id).setMemberEpoch(epoch).setRebalanceTimeoutMs(joins ? 60_000 : -1).setSubscribedTopicNames(joins ? List.of(topic) : null)
                .setTopicPartitions(epoch < 0 ? null : has.isEmpty() ? List.of() : List.of(new ConsumerGroupHeartbeatRequestData.TopicPartitions().setTopicId(topicId).setPartitions(has)));
            var answer = ((ConsumerGroupHeartbeatResponse) call(id, ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1, new ConsumerGroupHeartbeatRequest(data, (short) 1))).data();
            this.epoch = answer.memberEpoch();
            if (answer.assignment() != null) has = answer.assignment().topicPartitions().stream().flatMap(t -> t.partitions().stream()).sorted().toList();
            System.out.printf("%s ConsumerGroupHeartbeat epoch %d -> %d, epoch %d, %s%n", id, epoch, answer.errorCode(), this.epoch, answer.assignment() == null ? "-" : "assigned " + has);
        }
    }

    /** A member of the classic protocol whose subscription names no topic, as that of `subscribe(Pattern)` while no topic matches. */
    static class Classic {
        final String name; String id = ""; int generation = -1, last = -1;
        Classic(String name) { this.name = name; }

        void join() throws Exception {
            var subscription = ConsumerProtocol.serializeSubscription(new Subscription(List.of()));
            byte[] bytes = new byte[subscription.remaining()]; subscription.get(bytes);
            var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
            protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("range").setMetadata(bytes));
            var data = new JoinGroupRequestData().setGroupId(group).setMemberId(id).setProtocolType("consumer").setProtocols(protocols).setSessionTimeoutMs(45_000).setRebalanceTimeoutMs(60_000);
            var answer = ((JoinGroupResponse) call(name, ApiKeys.JOIN_GROUP, 9, new JoinGroupRequest(data, (short) 9))).data();
            if (!answer.memberId().isEmpty()) id = answer.memberId();
            generation = answer.generationId();
            System.out.printf("%s JoinGroup without a topic -> %d, generation %d%n", name, answer.errorCode(), generation);
        }

        void sync() throws Exception {
            var data = new SyncGroupRequestData().setGroupId(group).setMemberId(id).setGenerationId(generation).setProtocolType("consumer").setProtocolName("range");
            System.out.printf("%s SyncGroup generation %d -> %d%n", name, generation, ((SyncGroupResponse) call(name, ApiKeys.SYNC_GROUP, 5, new SyncGroupRequest.Builder(data).build((short) 5))).data().errorCode());
        }

        /** Prints what it is answered where that is another answer than the last one. */
        void heartbeat() throws Exception {
            var data = new HeartbeatRequestData().setGroupId(group).setMemberId(id).setGenerationId(generation);
            int error = ((HeartbeatResponse) call(name, ApiKeys.HEARTBEAT, 4, new HeartbeatRequest.Builder(data).build((short) 4))).data().errorCode();
            if (error != last) System.out.printf("%s Heartbeat generation %d -> %d%n", name, generation, error);
            last = error;
        }
    }

    /** Sends a request on a connection of its own, and returns what it is answered. */
    static AbstractResponse call(String client, ApiKeys api, int version, AbstractRequest request) throws Exception {
        var header = new RequestHeader(api, (short) version, client, 1);
        String[] at = address.split(":");
        try (Socket socket = new Socket(at[0], Integer.parseInt(at[1]))) {
            socket.setSoTimeout(20_000);
            ByteBuffer bytes = RequestUtils.serialize(header.data(), header.headerVersion(), request.data(), request.version());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(bytes.remaining()); out.write(bytes.array(), bytes.position(), bytes.remaining()); out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answered = new byte[in.readInt()]; in.readFully(answered);
            return AbstractResponse.parseResponse(ByteBuffer.wrap(answered), header);
        }
    }
}
