"""The consumer on ZooKeeper: one process of Kafka 0.9.0.1's high-level consumer (ZookeeperConsumerConnector) as a pure machine.

Time comes in as `now_ms`, ZooKeeper's answers and events as data; what is to be done comes out as `Output`s, to be performed in their order.
What the process does in several threads (the application's, ZkClient's event thread, the watcher executor, the auto-commit task, the leader finder)
goes on side by side here too: several asks may be under way at once. The driver

    machine = Machine(ConsumerSettings(group="g", topics={"t": 2}), consumer_id=consumer_id("g", "host", now_ms, random_bits))
    outputs = machine.start(now_ms)                                  # [Connect(6000)]: open a session, then tell so:
    outputs = machine.session(SessionState.SYNC_CONNECTED, now_ms, session_id=7)
    outputs = machine.answered(ask_id, reply, now_ms)                # of each Ask, StopFetchers, FindLeaders …: its reply
    outputs = machine.watched(WatchEvent(EventKind.CHILDREN_CHANGED, path), now_ms)     # one-shot watches, as the operations asked for them
    outputs = machine.session(SessionState.DISCONNECTED, now_ms)     # then SYNC_CONNECTED again, or EXPIRED, which is answered by a new Connect
    outputs = machine.tick(now_ms)                                   # when machine.next_deadline_ms is reached

fetches, and lets the application consume and leave:

    machine.room(partition), machine.fetch_offset(partition)         # after a Fetch: whether a chunk may be put in, and from where
    outputs = machine.chunk(partition, records, now_ms)              # what was fetched; records are (offset, value)
    machine.take(topic, thread)                                      # the next record of a stream, None for none; counts as consumed by that
    outputs = machine.unfetchable(partitions, now_ms)                # the leader has gone, or is it no longer: it is looked for anew
    outputs = machine.commit(now_ms)                                 # commitOffsets
    outputs = machine.close(now_ms)                                  # shutdown; ends with Closed

Answers to operations of a connection that is lost come as CONNECTION_LOSS, of a session that is gone as SESSION_EXPIRED; both are asked again later,
as ZkClient's retryUntilConnected does. Inputs never raise for what ZooKeeper or a broker said.
"""

from __future__ import annotations

__all__: list[str] = []
