from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import Heard, fake

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.model.errors import BrokenEnvironment, BrokenShim, KitFailure
from groupproof.harness.running.error_search import trouble_in
from groupproof.harness.subjects import subject as subjects
from groupproof.harness.subjects.networks.network import LoopbackNetwork, MemoryNetwork
from groupproof.harness.subjects.subject import Handle, ProcessSubject, ReferenceSubject, warnings_of

NETWORK = LoopbackNetwork()


def subject(how: str, *capabilities: str, processes: int = 2) -> ProcessSubject:
    return ProcessSubject("fake", fake(how, *capabilities), seed=1, processes=processes)


def using(under_test: ProcessSubject, use: Callable[[ProcessSubject], Awaitable[None]]) -> None:
    async def main() -> None:
        with trio.fail_after(120):
            async with under_test.opened():
                await use(under_test)

    trio.run(main)


@pytest.mark.parametrize(
    ("how", "kind", "why"),
    [
        ("cannot-run", BrokenEnvironment, r"it can't run here \(status 89\).*no such runtime here"),
        ("dies-at-once", BrokenShim, "exited with status 1 before its client spoke.*no module named kafka"),
        ("no-hello", BrokenShim, "broke the contract: the first line is no hello"),
        ("bad-hello", BrokenShim, "broke the contract: .*is no JSON"),
        ("knows-everything", BrokenShim, "answers ok to 'made-up-.*', a command that does not exist"),
    ],
)
def test_a_shim_that_can_not_be_believed_is_refused_at_the_start_in_one_line(how: str, kind: type[Exception], why: str) -> None:
    async def main() -> None:
        with pytest.raises(ExceptionGroup) as error:
            async with subject(how).opened():
                pass
        trouble = trouble_in(error.value)
        assert type(trouble) is kind
        assert "\n" not in str(trouble)
        with pytest.raises(kind, match=why):
            raise trouble

    trio.run(main)


def test_a_shim_that_says_nothing_is_refused_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "HELLO_S", 0.3)

    async def main() -> None:
        with pytest.raises(ExceptionGroup) as error:
            async with subject("silent").opened():
                pass
        assert isinstance(trouble_in(error.value), BrokenShim)
        assert "no hello" in str(trouble_in(error.value))

    trio.run(main)


def test_a_shim_that_says_hello_and_then_nothing_is_distinguished_from_a_mute_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "FIRST_ANSWER_S", 0.3)

    async def main() -> None:
        with pytest.raises(ExceptionGroup) as error:
            async with subject("deaf").opened():
                pass
        assert "hello came; a made-up command was not answered within" in str(trouble_in(error.value))

    trio.run(main)


def test_a_client_without_a_settable_id_gets_its_own_processes_and_is_recognised_by_them() -> None:
    network = LoopbackNetwork()

    async def use(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), network, alone=False, seed=1) as first:
            assert first.shared
            await first.ask("subscribe", {"client_id": "m0"})
        assert under_test.is_unnamed
        async with under_test.member("c2.m0", Heard(), network, alone=False, seed=2) as second:
            assert not second.shared
            await second.ask("subscribe", {"client_id": "m0"})
            assert network.names == {second.pid: "m0"}

    using(subject("unnamed", "multi"), use)


def test_what_a_shim_says_beyond_the_contract_is_a_warning_of_the_subject() -> None:
    async def use(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as handle:
            await handle.ask("subscribe", {"client_id": "m0"})

    under_test = subject("odd")
    using(under_test, use)

    assert warnings_of(under_test) == [
        "bytes that are not UTF-8 on stdout",
        "event callback_done with a field that the contract does not know: mood",
        "an event that the contract does not know: environment",
    ]


def test_without_multi_every_member_has_a_process_and_the_first_one_is_not_wasted() -> None:
    async def use(under_test: ProcessSubject) -> None:
        async with (
            under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as one,
            under_test.member("c1.m1", Heard(), NETWORK, alone=False, seed=2) as other,
        ):
            assert one.pid != other.pid
            assert not one.shared
            assert (await other.ask("subscribe", {})).ok
            first = one.pid
        async with under_test.member("c2.m0", Heard(), NETWORK, alone=False, seed=1) as later:
            assert later.pid != first

    using(subject("honest"), use)


def test_with_multi_members_share_a_few_processes_evenly() -> None:
    async def use(under_test: ProcessSubject) -> None:
        heard: list[Heard] = []
        handles: list[Handle] = []
        async with AsyncExitStack() as stack:
            while len({handle.pid for handle in handles}) < 2 or len(handles) % 2:
                heard.append(Heard())
                member = under_test.member(f"c{len(handles)}.m0", heard[-1], NETWORK, alone=False, seed=1)
                handles.append(await stack.enter_async_context(member))
                await trio.testing.wait_all_tasks_blocked(0.02)
            assert all(handle.shared for handle in handles)
            await handles[1].ask("subscribe", {})
            assert [len(item.events) > 0 for item in heard] == [number == 1 for number in range(len(handles))]
            assert await handles[0].depart(0)

    using(subject("honest", "multi"), use)


def test_a_caller_that_comes_while_another_process_starts_uses_the_running_one() -> None:
    async def use(under_test: ProcessSubject) -> None:
        async with (
            under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as one,
            under_test.member("c2.m0", Heard(), NETWORK, alone=False, seed=1) as other,
        ):
            assert one.pid == other.pid

    using(subject("honest", "multi"), use)


def test_a_member_that_must_be_alone_gets_a_process_of_its_own_that_can_be_killed() -> None:
    async def use(under_test: ProcessSubject) -> None:
        heard = Heard()
        async with (
            under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as shared,
            under_test.member("c2.m0", heard, NETWORK, alone=True, seed=1) as alone,
        ):
            assert alone.pid != shared.pid
            with pytest.raises(KitFailure, match="must be isolated"):
                shared.kill()
            alone.freeze()
            alone.thaw()
            alone.kill()
            await heard.ended.wait()
            assert heard.endings[0].status == -signal.SIGKILL

    using(subject("honest", "multi"), use)


def test_a_shared_process_that_died_is_replaced() -> None:
    async def use(under_test: ProcessSubject) -> None:
        heard = Heard()
        async with under_test.member("c1.m0", heard, NETWORK, alone=False, seed=1) as handle:
            first = handle.pid
            with pytest.raises(Exception, match="exited with status 7"):
                await handle.ask("subscribe", {})
            assert heard.endings[0].status == 7
        async with under_test.member("c2.m0", Heard(), NETWORK, alone=False, seed=1) as handle:
            assert handle.pid != first

    using(subject("dies-on-subscribe", "multi", processes=1), use)


def test_a_process_whose_member_does_not_go_takes_no_more_members_and_the_others_live_on() -> None:
    async def use(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as stuck:
            async with under_test.member("c2.m0", Heard(), NETWORK, alone=False, seed=1) as neighbour:
                assert neighbour.pid == stuck.pid
                stuck.abandon()
                assert (await neighbour.ask("subscribe", {})).ok
            async with under_test.member("c3.m0", Heard(), NETWORK, alone=False, seed=1) as later:
                assert later.pid != stuck.pid

    using(subject("honest", "multi", processes=1), use)


def test_a_process_that_cannot_be_started_again_is_an_error_for_the_case_that_needs_it(tmp_path: Path) -> None:
    marker = tmp_path / "started-before"
    under_test = ProcessSubject("fake", fake("starts-once", "multi", ONCE=str(marker)), seed=1, processes=1)

    async def use(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as handle:
            handle.abandon()
        with pytest.raises(BrokenShim, match=r"exited with status 1 before its client spoke.*only once"):
            async with under_test.member("c2.m0", Heard(), NETWORK, alone=False, seed=1):
                pass

    using(under_test, use)


def test_a_member_that_closes_ends_its_process_and_one_that_does_not_is_reported() -> None:
    async def going(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as handle:
            await handle.ask("close", {})
            assert await handle.depart(100)

    async def staying(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as handle:
            await handle.ask("close", {})
            assert not await handle.depart(0.2)
            handle.kill()

    using(subject("honest"), going)
    using(subject("never-goes"), staying)


def test_what_a_case_logs_is_distinguished_from_what_came_before_in_a_shared_process() -> None:
    async def use(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as first:
            await first.ask("subscribe", {})
            assert any("environment" in line for line in first.stderr())
        async with under_test.member("c2.m0", Heard(), NETWORK, alone=False, seed=1) as second:
            assert second.stderr() == []

    using(subject("honest", "multi", processes=1), use)


def test_the_reference_is_a_subject_in_virtual_time() -> None:
    async def main() -> None:
        reference = ReferenceSubject(run_shim)
        async with reference.opened():
            assert reference.hello.client == "groupproof"
            heard = Heard()
            async with reference.member("c1.m0", heard, MemoryNetwork(), alone=False, seed=1) as handle:
                assert not handle.shared
                assert (handle.pid, handle.line) == (None, reference.name)
                assert (await handle.ask("pause", {})).error == "ILLEGAL_STATE"
                assert await handle.depart(5)
            assert heard.endings[0].status == 0

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_programs_are_named_by_their_command_line() -> None:
    async def use(under_test: ProcessSubject) -> None:
        async with under_test.member("c1.m0", Heard(), NETWORK, alone=False, seed=1) as handle:
            assert Path(handle.line.split()[-2]).name == "fake_shim.py"

    using(subject("honest"), use)
