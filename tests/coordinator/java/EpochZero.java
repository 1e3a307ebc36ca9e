import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.*;

/** A consumer joins a classic group that has lost its only member in the initial delay. Needs kafka-clients and a broker: java -cp 'kafka-clients.jar:slf4j-api.jar' EpochZero.java HOST:PORT */
public class EpochZero {
    static String address, group;

    public static void main(String[] args) throws Exception {
        address = args[0];
        group = "epoch-zero-" + System.currentTimeMillis();
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            for (int wait = 0; wait < 60 && !coordinatorIsThere(admin); wait++) Thread.sleep(500);
            String k = join("");
            try (Call parked = new Call("K", ApiKeys.JOIN_GROUP, 9, joining(k))) {
                Thread.sleep(500);  // the group waits for more members (group.initial.rebalance.delay.ms, 3 s)
                leave(k);
                System.out.printf("K JoinGroup, which has waited -> %d%n", ((JoinGroupResponse) parked.answer()).data().errorCode());
            }
            int epoch = beat(0, List.of());
            describe(admin);
            beat(epoch, null);
        }
    }

    static void describe(Admin admin) throws Exception {
        var found = admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
        System.out.printf("  the group is %s, of type %s and at epoch %s, with %d member%n", found.groupState(), found.type(), found.groupEpoch().orElse(null), found.members().size());
    }

    static boolean coordinatorIsThere(Admin admin) {
        try { admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(); return true; } catch (Exception notYet) { return false; }
    }

    static JoinGroupRequest joining(String id) {
        var subscription = ConsumerProtocol.serializeSubscription(new Subscription(List.of("some-topic")));
        byte[] bytes = new byte[subscription.remaining()]; subscription.get(bytes);
        var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
        protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("range").setMetadata(bytes));
        return new JoinGroupRequest(new JoinGroupRequestData().setGroupId(group).setMemberId(id).setProtocolType("consumer").setProtocols(protocols).setSessionTimeoutMs(45_000).setRebalanceTimeoutMs(60_000), (short) 9);
    }

    static String join(String id) throws Exception {
        try (Call call = new Call("K", ApiKeys.JOIN_GROUP, 9, joining(id))) {
            var answer = ((JoinGroupResponse) call.answer()).data();
            System.out.printf("K JoinGroup -> %d%n", answer.errorCode());
            return answer.memberId();
        }
    }

    static void leave(String id) throws Exception {
        var request = new LeaveGroupRequest.Builder(group, List.of(new LeaveGroupRequestData.MemberIdentity().setMemberId(id))).build((short) 5);
        try (Call call = new Call("K", ApiKeys.LEAVE_GROUP, 5, request)) {
            System.out.printf("K LeaveGroup -> %d%n", ((LeaveGroupResponse) call.answer()).data().errorCode());
        }
    }

    /** Joins by an empty list of topics; goes on, as KIP-848 says, with what has changed, which is nothing. */
    static int beat(int epoch, List<String> topics) throws Exception {
        var data = new ConsumerGroupHeartbeatRequestData().setGroupId(group).setMemberId("A").setMemberEpoch(epoch).setRebalanceTimeoutMs(topics == null ? -1 : 60_000).setSubscribedTopicNames(topics).setTopicPartitions(topics == null ? null : List.of());
        try (Call call = new Call("A", ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1, new ConsumerGroupHeartbeatRequest(data, (short) 1))) {
            var answer = ((ConsumerGroupHeartbeatResponse) call.answer()).data();
            System.out.printf("A ConsumerGroupHeartbeat epoch %d, topics %s -> %d, epoch %d%s%n", epoch, topics, answer.errorCode(), answer.memberEpoch(), answer.errorMessage() == null ? "" : ", \"" + answer.errorMessage() + "\"");
            return answer.memberEpoch();
        }
    }

    /** A request on a connection of its own. */
    static class Call implements AutoCloseable {
        final Socket socket; final RequestHeader header;
        Call(String client, ApiKeys api, int version, AbstractRequest request) throws Exception {
            String[] at = address.split(":");
            socket = new Socket(at[0], Integer.parseInt(at[1]));
            socket.setSoTimeout(20_000);
            header = new RequestHeader(api, (short) version, client, 1);
            ByteBuffer bytes = RequestUtils.serialize(header.data(), header.headerVersion(), request.data(), request.version());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(bytes.remaining()); out.write(bytes.array(), bytes.position(), bytes.remaining()); out.flush();
        }
        AbstractResponse answer() throws Exception {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] bytes = new byte[in.readInt()]; in.readFully(bytes);
            return AbstractResponse.parseResponse(ByteBuffer.wrap(bytes), header);
        }
        public void close() throws Exception { socket.close(); }
    }
}
