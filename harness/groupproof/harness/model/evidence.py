"""Evidence: one case's trace with the queries that judges make. Pure; the same for a run, `trace check` and a certificate.

How the trace is written (beyond the contract's columns):
* a client's request: kind `request` on arrival, `processed` when the coordinator processes it, `response` when its response is sent. The three are
  joined by connection and correlation. `client` is the client id, in a case the member's name;
* OffsetCommit requests carry `offsets`, SyncGroup responses `partitions` (the assignment), JoinGroup requests `partitions` (owned);
* a fault's receipts: kind `fault`; `detail` is the stage: armed, triggered, delivered, released, healed or failed;
* a shim's event: kind `event`, who `shim`; `body` is the event with its `name`. The answer to a command is the event named `answer`;
* the driver: kind `event`, who `kit`; `body.name` is mark, command, step, timeout, end, kill, freeze or thaw;
* a connection: kind `event`, who `link`; `body.name` is connected, closed, or unsent. Unsent: the response of this connection and correlation never
  left, so judges treat the request as unanswered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from groupproof.harness.model.client_timeouts import Terms, TermsReader
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["CaseNotOffered", "Evidence", "NotOffered", "NotReached"]


class NotReached(Exception):
    """A judge asked for a mark or a delivery that the run never reached. The case is then INCONCLUSIVE, and this error says why."""


class NotOffered(Exception):
    """The subject does not let the kit set what the judge depends on. The case is then UNIMPLEMENTED, and this error says what is missing."""


class CaseNotOffered(NotOffered):
    """The whole case depends on something that the subject does not let the kit set. Findings of its other judges do not count against the subject."""


class Evidence:
    """A trace of one case, indexed."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def _marks(self) -> dict[str, int]:
        marks: dict[str, int] = {}
        triggered: dict[str, int] = {}
        for obs in self.trace:
            if obs.kind == "fault" and obs.fault is not None and obs.detail == "triggered":
                triggered.setdefault(obs.fault, obs.seq)
            elif obs.kind == "fault" and obs.fault is not None and obs.detail == "delivered":
                # A response counts as delivered when its bytes are sent. The client may have acted on it by then, but never before the trigger.
                marks.setdefault(obs.fault, triggered.get(obs.fault, obs.seq))
            elif obs.who == "kit" and obs.body.get("name") == "mark":
                marks.setdefault(obs.body["mark"], obs.seq)
        return marks

    @cached_property
    def _answers(self) -> dict[ExchangeId, Observation]:
        answers = (obs for obs in self.trace if obs.kind == "response")
        return {at: obs for obs in answers if (at := obs.exchange_id) not in self._unsent}

    @cached_property
    def _unsent(self) -> set[ExchangeId]:
        links = (obs for obs in self.trace if obs.who == "link" and obs.body.get("name") == "unsent")
        return {obs.exchange_id for obs in links}

    @cached_property
    def sent(self) -> Trace:
        """Return the trace without the responses that were never sent, as checkers read it."""
        if not self._unsent:
            return self.trace
        return [obs for obs in self.trace if obs.kind != "response" or obs.exchange_id not in self._unsent]

    @cached_property
    def _processed(self) -> dict[ExchangeId, Observation]:
        return {obs.exchange_id: obs for obs in self.trace if obs.kind == "processed"}

    def at(self, name: str | None) -> int:
        """Return the `seq` of mark `name`, or of the trigger that led to fault `name`'s first delivery. For None return -1: before everything.

        Raise `NotReached` when there was no such mark or delivery.
        """
        if name is None:
            return -1
        if name not in self._marks:
            raise NotReached(f"{name} was never reached" + (f": {self.timeout}" if self.timeout else ""))
        return self._marks[name]

    def is_answer_to(self, fault: str, api: Api) -> bool:
        """Return whether fault `fault` answered, or acted on, a request of `api`."""
        return any(obs.api == api.title for obs in self.receipts(fault, "triggered"))

    def reached(self, name: str) -> bool:
        return name in self._marks

    @cached_property
    def timeout(self) -> str | None:
        """Return what the plan was waiting for at its first timeout, or None."""
        return next((obs.body.get("waiting") for obs in self.trace if obs.who == "kit" and obs.body.get("name") == "timeout"), None)

    @cached_property
    def closing(self) -> int:
        """Return the `seq` at which the driver began to close the members, or the trace's end. Later frames belong to the clean close."""
        ends = (obs.seq for obs in self.trace if obs.who == "kit" and obs.body.get("name") == "end")
        return next(ends, len(self.trace))

    def select(
        self, kind: str, api: Api | None = None, client: str | None = None, after: str | int | None = None, before: str | int | None = None
    ) -> Iterator[Observation]:
        """Yield observations of a kind between two instants, both exclusive, each a name or a `seq`."""
        first = after if isinstance(after, int) else self.at(after)
        last = len(self.trace) if before is None else before if isinstance(before, int) else self.at(before)
        found = self._index.get((kind, api, client), [])
        yield from found[bisect_right(found, first, key=_seq) : bisect_left(found, last, key=_seq)]

    @cached_property
    def _index(self) -> dict[tuple[str, Api | None, str | None], list[Observation]]:
        """Return the observations by kind, API and client. None as API or client stands for any. Judges repeat the same queries, so this is cached."""
        index: dict[tuple[str, Api | None, str | None], list[Observation]] = {}
        entries: dict[tuple[str, str | None, str | None], list[list[Observation]]] = {}
        for obs in self.trace:
            if obs.kind == "response" and obs.exchange_id in self._unsent:
                continue
            row = (obs.kind, obs.api, obs.client)
            if row not in entries:
                keys = {(obs.kind, api, client) for api in (None, _api(obs)) for client in (None, obs.client)}
                entries[row] = [index.setdefault(key, []) for key in keys]
            for entry in entries[row]:
                entry.append(obs)
        return index

    def requests(self, api: Api, client: str | None = None, after: str | int | None = None, before: str | int | None = None) -> list[Observation]:
        return list(self.select("request", api, client, after, before))

    def responses(self, api: Api, client: str | None = None, after: str | int | None = None, before: str | int | None = None) -> list[Observation]:
        return list(self.select("response", api, client, after, before))

    def events(self, name: str, client: str | None = None, after: str | int | None = None, before: str | int | None = None) -> list[Observation]:
        """Return the shim's events called `name`."""
        return [obs for obs in self.select("event", None, client, after, before) if obs.who == "shim" and obs.body.get("name") == name]

    def receipts(self, fault: str, stage: str | None = None) -> list[Observation]:
        return [obs for obs in self.trace if obs.kind == "fault" and obs.fault == fault and stage in (None, obs.detail)]

    def answer(self, request: Observation) -> Observation | None:
        """Return the response that answered `request`, or None."""
        return self._answers.get(request.exchange_id)

    def processing(self, request: Observation) -> Observation | None:
        """Return the observation of the coordinator processing `request`, or None."""
        return self._processed.get(request.exchange_id)

    @cached_property
    def _terms(self) -> TermsReader:
        reader = TermsReader()
        for obs in self.trace[: self.closing]:
            reader.feed(obs)
        return reader

    def terms(self, client: str) -> Terms:
        """Return the client's own timeouts, as observed in the whole run except the clean close."""
        return self._terms.of(client)

    def capabilities(self, client: str) -> frozenset[str]:
        """Return what the client's shim declared in its hello."""
        return self._hello(client, "capabilities")

    def unreported(self, client: str) -> frozenset[str]:
        """Return the events that the client's program, of level 0, never writes."""
        return self._hello(client, "unreported")

    def _hello(self, client: str, field: str) -> frozenset[str]:
        hellos = (obs for obs in self.select("event", client=client) if obs.who == "kit" and obs.body.get("name") == "hello")
        return frozenset(next((obs.body.get(field) or () for obs in hellos), ()))

    @property
    def stretch(self) -> float:
        """Return how many times as long as others this client may take to react, by its measured rhythm; 1 where it was not measured."""
        return self._terms.stretch

    @property
    def ghost_ms(self) -> float:
        """Return how many ms longer than planned a ghost stays in the group, because a client's session timeout is longer than the plan's."""
        return self._terms.session_surplus_ms()

    def clock(self, since: Observation, until: Observation | None = None) -> Observation:
        """Return the start of a wait that began at `since`: `since`, or the last answer to `subscribe` between `since` and `until`.

        A member whose process is still starting cannot act, nor can others that wait for it (contract, amendment 2).
        """
        last = self.closing if until is None else until.seq
        answers = [obs for obs in self._subscribed if since.seq < obs.seq < last]
        return answers[-1] if answers else since

    @cached_property
    def _subscribed(self) -> list[Observation]:
        """Return the answers to `subscribe` of all members, in order."""
        asked: set[str | None] = set()
        answers: list[Observation] = []
        for obs in self.trace:
            if obs.who == "kit" and obs.body.get("command") == "subscribe":
                asked.add(obs.client)
            elif obs.who == "shim" and obs.body.get("name") == "answer" and obs.client in asked:
                asked.discard(obs.client)
                answers.append(obs)
        return answers

    def member_ids(self, client: str, before: str | int | None = None) -> list[str]:
        """Return the member ids that JoinGroup responses gave `client`, in order, without repeats."""
        ids = (obs.member for obs in self.responses(Api.JOIN_GROUP, client, before=before) if obs.member)
        return list(dict.fromkeys(ids))


_APIS = {api.title: api for api in Api}


def _seq(obs: Observation) -> int:
    return obs.seq


def _api(obs: Observation) -> Api | None:
    return _APIS.get(obs.api) if obs.api else None
