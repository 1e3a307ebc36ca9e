from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing
from tests.traces import Story

from groupproof.harness.running.plans.receipts import RefusalTracker, names_code, watch_receipts
from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.vocabulary import Api


def struck(code: int = 999, client: str = "m0") -> Story:
    story = Story()
    story.fault("error", "armed", "triggered")
    asked = story.request(Api.OFFSET_FETCH, client)
    story.answer(asked, error=code, fault="error")
    return story


def receipt_texts(story: Story) -> list[str]:
    tale = RefusalTracker()
    return [name for obs in story.trace for name, _ in tale.feed(obs)]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("error", {"error": "CODE_999", "message": "", "fatal": True}),
        ("answer", {"id": 3, "error": "999", "message": "the fetch failed"}),
        ("offsets_committed", {"success": False, "error": "UNKNOWN", "message": "kafka: error code 999"}),
    ],
)
def test_an_application_that_names_the_code_had_the_answer(name: str, body: Mapping[str, Any]) -> None:
    story = struck()
    story.tell(name, **body)
    story.tell(name, **body)

    assert receipt_texts(story) == ["error"]


@pytest.mark.parametrize(
    ("name", "client", "body"),
    [
        ("error", "m1", {"error": "CODE_999"}),
        ("error", "m0", {"error": "CODE_998"}),
        ("error", "m0", {"error": "", "message": ""}),
        ("partitions_lost", "m0", {"error": "CODE_999"}),
    ],
)
def test_what_names_it_not_or_is_another_clients_shows_nothing(name: str, client: str, body: Mapping[str, Any]) -> None:
    story = struck()
    story.tell(name, client, **body)

    assert receipt_texts(story) == []


@pytest.mark.parametrize("stage", ["delivered", "healed"])
def test_what_is_settled_is_not_sent_again(stage: str) -> None:
    story = struck()
    story.fault("error", stage)
    story.tell("error", error="CODE_999")

    assert receipt_texts(story) == []


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        ("UNKNOWN_MEMBER_ID", 25, True),
        ("UnknownMemberIdError", 25, True),
        ("[Error 25] UnknownMember", 25, True),
        ("Broker: Unknown member id", 25, True),
        ("25", 25, True),
        ("error_code=25", 25, True),
        ("after 25 ms", 25, False),
        ("code 255", 25, False),
        ("ILLEGAL_GENERATION", 25, False),
        ("CODE_999", 999, True),
        ("UNKNOWN(999)", 999, True),
    ],
)
def test_a_code_is_meant_by_its_name_or_its_number(words: str, code: int, *, named: bool) -> None:
    assert names_code(words, code) is named


def test_a_receipt_is_reported_after_its_evidence_is_known_to_all() -> None:
    pairs: list[tuple[str, str, int]] = []

    async def main() -> None:
        recorder = Recorder(lambda: 0)
        heard: list[Observation] = []

        def tell(name: str, columns: Mapping[str, Any]) -> None:
            pairs.append((name, columns["client"], len(heard)))

        async with trio.open_nursery() as nursery:
            await nursery.start(watch_receipts, recorder, tell)
            recorder.listen(heard.append)
            recorder.record("response", client="m0", api="OffsetFetch", fault="error", error=999)
            recorder.record("event", who="shim", client="m0", body={"name": "error", "error": "CODE_999"})
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    trio.run(main)
    assert pairs == [("error", "m0", 2)]
