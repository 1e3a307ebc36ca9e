import java.io.*;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.*;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.*;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.requests.*;

/** Scripted members, one request after the other. Needs kafka-clients and a broker: java -cp 'kafka-clients.jar:slf4j-api.jar' TwoOwners.java HOST:PORT evicted|cut-short */
public class TwoOwners {
    static final String T = "two-owners-" + System.currentTimeMillis();
    static String group, address;
    static Uuid topicId;

    public static void main(String[] args) throws Exception {
        address = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            topicId = admin.createTopics(List.of(new NewTopic(T, 4, (short) 1))).topicId(T).get();
        }
        group = "g-" + args[1] + "-" + System.currentTimeMillis();
        find();
        if (args[1].equals("evicted")) evicted(); else cutShort();
    }

    /** A classic member is removed because it did not join again in time; its JoinGroup is taken all the same. */
    static void evicted() throws Exception {
        Epoch a = new Epoch("A"), b = new Epoch("B");
        Classic k = new Classic("K", 2_000);
        a.beat(0, List.of());
        k.join(List.of()); k.join(List.of()); k.sync();
        for (int i = 0; i < 6; i++) { Thread.sleep(1_100); a.beat(a.epoch, a.has); if (k.heartbeat() == 27) { k.join(k.has); k.sync(); } }
        b.beat(0, List.of());                    // whatever bumps the epoch of the group
        while (k.heartbeat() != 27) { Thread.sleep(300); a.beat(a.epoch, a.has); b.beat(b.epoch, b.has); }
        System.out.println("-- K is slow in its application, longer than its rebalance timeout of 2 s");
        for (int i = 0; i < 8; i++) { Thread.sleep(1_000); a.beat(a.epoch, a.has); b.beat(b.epoch, b.has); }
        int p = k.has.get(0);
        Epoch now = a.has.contains(p) ? a : b;
        now.commit(p, 100);
        System.out.println("-- K joins again, with the partitions that it has still, and gives them up when it is answered");
        List<Integer> had = k.has;
        k.join(had); k.sync();
        k.commit(p, 5);
        System.out.println("committed of partition " + p + ": " + fetch(p) + ", after its owner " + now.id + " committed 100");
    }

    /** A consumer member comes while a classic group is in a join phase that cut a sync phase short. */
    static void cutShort() throws Exception {
        Classic k = new Classic("K", 30_000), l = new Classic("L", 30_000), m = new Classic("M", 30_000);
        k.join(List.of()); k.join(List.of()); k.assign(0, 1, 2, 3); k.heartbeat();
        l.join(List.of()); Answer parkedL = l.joinParked(List.of());
        k.heartbeat();                           // 27
        k.join(k.has); parkedL.get();            // both in CompletingRebalance; the leader has not synced
        m.join(List.of()); Answer parkedM = m.joinParked(List.of());   // back to PreparingRebalance
        Epoch a = new Epoch("A");
        a.beat(0, List.of());
        System.out.println("A was given " + a.has + " while K, which is cooperative and joins again, has " + k.has);
        parkedM.get();
        k.heartbeat(); k.join(k.has); k.sync();
        a.beat(a.epoch, a.has);
        System.out.println("K has " + k.has + ", A has " + a.has);
    }

    // The members

    static class Epoch {
        final String id; int epoch; List<Integer> has = List.of();
        Epoch(String id) { this.id = id; }
        void beat(int epoch, List<Integer> owned) throws Exception {
            var data = new ConsumerGroupHeartbeatRequestData().setGroupId(group).setMemberId(id).setMemberEpoch(epoch)
                .setRebalanceTimeoutMs(epoch == 0 ? 60_000 : -1).setSubscribedTopicNames(epoch == 0 ? List.of(T) : null)
                .setTopicPartitions(owned.isEmpty() ? List.of() : List.of(new ConsumerGroupHeartbeatRequestData.TopicPartitions().setTopicId(topicId).setPartitions(owned)));
            var answer = ((ConsumerGroupHeartbeatResponse) new Call(id, ApiKeys.CONSUMER_GROUP_HEARTBEAT, 0, new ConsumerGroupHeartbeatRequest(data, (short) 0)).answer()).data();
            this.epoch = answer.memberEpoch();
            if (answer.assignment() != null) has = answer.assignment().topicPartitions().stream().flatMap(t -> t.partitions().stream()).sorted().toList();
            System.out.printf("%s ConsumerGroupHeartbeat epoch %d owns %s -> %d, epoch %d, %s%n", id, epoch, owned, answer.errorCode(), answer.memberEpoch(), answer.assignment() == null ? "-" : "assigned " + has);
        }
        void commit(int partition, long offset) throws Exception { TwoOwners.commit(id, id, epoch, partition, offset, 9); }
    }

    static class Classic {
        final String name; final int rebalanceMs; String id = ""; int generation = -1; List<Integer> has = List.of();
        Classic(String name, int rebalanceMs) { this.name = name; this.rebalanceMs = rebalanceMs; }
        JoinGroupRequest request(List<Integer> owned) {
            var subscription = ConsumerProtocol.serializeSubscription(new Subscription(List.of(T), null, owned.stream().map(p -> new TopicPartition(T, p)).toList(), generation, Optional.empty()));
            byte[] bytes = new byte[subscription.remaining()]; subscription.get(bytes);
            var protocols = new JoinGroupRequestData.JoinGroupRequestProtocolCollection();
            protocols.add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("cooperative-sticky").setMetadata(bytes));
            return new JoinGroupRequest(new JoinGroupRequestData().setGroupId(group).setMemberId(id).setProtocolType("consumer").setProtocols(protocols).setSessionTimeoutMs(30_000).setRebalanceTimeoutMs(rebalanceMs), (short) 9);
        }
        Answer joinParked(List<Integer> owned) throws Exception {
            Call call = new Call(name, ApiKeys.JOIN_GROUP, 9, request(owned));
            return () -> {
                var answer = ((JoinGroupResponse) call.answer()).data();
                if (!answer.memberId().isEmpty()) id = answer.memberId();
                if (answer.errorCode() == 0) generation = answer.generationId();
                System.out.printf("%s JoinGroup owns %s -> %d, generation %d, %s%n", name, owned, answer.errorCode(), answer.generationId(), answer.memberId().isEmpty() ? "-" : answer.memberId().substring(0, 6));
            };
        }
        void join(List<Integer> owned) throws Exception { joinParked(owned).get(); }
        void assign(Integer... partitions) throws Exception {
            var assignment = ConsumerProtocol.serializeAssignment(new Assignment(Arrays.stream(partitions).map(p -> new TopicPartition(T, p)).toList()));
            byte[] bytes = new byte[assignment.remaining()]; assignment.get(bytes);
            sync(List.of(new SyncGroupRequestData.SyncGroupRequestAssignment().setMemberId(id).setAssignment(bytes)));
        }
        void sync() throws Exception { sync(List.of()); }
        void sync(List<SyncGroupRequestData.SyncGroupRequestAssignment> assignments) throws Exception {
            var data = new SyncGroupRequestData().setGroupId(group).setMemberId(id).setGenerationId(generation).setProtocolType("consumer").setProtocolName("cooperative-sticky").setAssignments(assignments);
            var answer = ((SyncGroupResponse) new Call(name, ApiKeys.SYNC_GROUP, 5, new SyncGroupRequest.Builder(data).build((short) 5)).answer()).data();
            if (answer.errorCode() == 0) has = ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(answer.assignment())).partitions().stream().map(TopicPartition::partition).sorted().toList();
            System.out.printf("%s SyncGroup generation %d -> %d, assigned %s%n", name, generation, answer.errorCode(), has);
        }
        int heartbeat() throws Exception {
            var data = new HeartbeatRequestData().setGroupId(group).setMemberId(id).setGenerationId(generation);
            int error = ((HeartbeatResponse) new Call(name, ApiKeys.HEARTBEAT, 4, new HeartbeatRequest.Builder(data).build((short) 4)).answer()).data().errorCode();
            System.out.printf("%s Heartbeat generation %d -> %d%n", name, generation, error);
            return error;
        }
        void commit(int partition, long offset) throws Exception { TwoOwners.commit(name, id, generation, partition, offset, 8); }
    }

    static void commit(String name, String id, int epoch, int partition, long offset, int version) throws Exception {
        var data = new OffsetCommitRequestData().setGroupId(group).setMemberId(id).setGenerationIdOrMemberEpoch(epoch).setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(T)
            .setPartitions(List.of(new OffsetCommitRequestData.OffsetCommitRequestPartition().setPartitionIndex(partition).setCommittedOffset(offset)))));
        var answer = ((OffsetCommitResponse) new Call(name, ApiKeys.OFFSET_COMMIT, version, new OffsetCommitRequest(data, (short) version)).answer()).data();
        System.out.printf("%s OffsetCommit epoch %d, partition %d at %d -> %d%n", name, epoch, partition, offset, answer.topics().get(0).partitions().get(0).errorCode());
    }

    static long fetch(int partition) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(new TopicPartition(T, partition)).offset();
        }
    }

    static void find() throws Exception {  // makes __consumer_offsets, and waits for its coordinator
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            for (int i = 0; i < 60; i++) {
                try { admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(); return; } catch (Exception e) { Thread.sleep(500); }
            }
        }
    }

    interface Answer { void get() throws Exception; }

    /** A request on a connection of its own. */
    static class Call {
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
            try (socket) {
                DataInputStream in = new DataInputStream(socket.getInputStream());
                byte[] bytes = new byte[in.readInt()]; in.readFully(bytes);
                return AbstractResponse.parseResponse(ByteBuffer.wrap(bytes), header);
            }
        }
    }
}
