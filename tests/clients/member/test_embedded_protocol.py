from __future__ import annotations

from groupproof.clients.member.connect_settings import WorkerSettings
from groupproof.clients.member.connect_worker import ConnectWorker
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.embedded_protocol import EmbeddedProtocol, embedded_protocol
from groupproof.clients.member.faust_worker import FaustWorker
from groupproof.clients.member.group_leader import Leading
from groupproof.clients.member.member_core import Core
from groupproof.clients.member.partition_handover import HandOver
from groupproof.clients.member.policy import REFERENCE
from groupproof.clients.member.streams_settings import ThreadSettings
from groupproof.clients.member.streams_thread import StreamsThread


def brought(worker: WorkerSettings | None = None, thread: ThreadSettings | None = None) -> EmbeddedProtocol | None:
    core = Core(MemberSettings(group="g", topics=("t",), worker=worker, thread=thread), REFERENCE, lambda: 0.5)
    return embedded_protocol(core, HandOver(core), Leading(core))


def test_settings_bring_a_worker_a_thread_or_nothing() -> None:
    worker, thread = brought(worker=WorkerSettings(url="http://w/")), brought(thread=ThreadSettings(process="0" * 32))

    assert isinstance(worker, ConnectWorker)
    assert isinstance(thread, StreamsThread)
    assert brought() is None


def test_fausts_assignor_alone_makes_a_worker_of_faust() -> None:
    core = Core(MemberSettings(group="g", topics=("t",), assignors=("faust",)), REFERENCE, lambda: 0.5)

    assert isinstance(embedded_protocol(core, HandOver(core), Leading(core)), FaustWorker)


def test_a_worker_reads_no_partitions_and_a_thread_those_that_it_is_assigned() -> None:
    worker, thread = brought(worker=WorkerSettings(url="http://w/")), brought(thread=ThreadSettings(process="0" * 32))

    assert worker is not None
    assert thread is not None
    assert (worker.protocol_type, worker.assigned) == ("connect", frozenset())
    assert (thread.protocol_type, thread.names) == ("consumer", ("stream",))
