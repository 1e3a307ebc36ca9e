from __future__ import annotations

from groupproof.harness.subjects.shims.stderr_log import HEAD_CHARS_MAX, LINE_CHARS_MAX, TAIL_CHARS_MAX, StderrLog


def test_lines_are_kept_in_order_and_counted() -> None:
    log = StderrLog()
    for number in range(5):
        log.add(f"line {number}")

    assert log.since(0) == [f"line {number}" for number in range(5)]
    assert log.since(3) == ["line 3", "line 4"]
    assert log.since(log.count) == []


def test_a_flood_keeps_its_head_and_its_tail_and_says_what_is_missing() -> None:
    log = StderrLog()
    lines = [f"{number:06d} " + "x" * 93 for number in range(10_000)]
    for line in lines:
        log.add(line)

    kept = log.since(0)
    (gap,) = [line for line in kept if line.startswith("[groupproof]")]
    assert kept[0] == lines[0]
    assert kept[-1] == lines[-1]
    assert log.count == len(lines)
    assert int(gap.split()[1]) == len(lines) - (len(kept) - 1)
    assert sum(map(len, kept)) <= HEAD_CHARS_MAX + TAIL_CHARS_MAX + len(gap)


def test_one_endless_line_is_cut() -> None:
    log = StderrLog()
    log.add("y" * 1_000_000)

    assert log.since(0) == ["y" * LINE_CHARS_MAX]


def test_a_case_that_starts_within_the_tail_gets_its_own_lines_only() -> None:
    log = StderrLog()
    for number in range(1_000):
        log.add(f"{number:04d}" + "z" * 200)
    before = log.count
    log.add("mine")

    assert log.since(before) == ["mine"]


def test_the_last_words_leave_out_blank_lines() -> None:
    log = StderrLog()
    for text in ("first", "", "second", "   "):
        log.add(text)

    assert log.last() == ("first", "second")
    assert log.last(1) == ("second",)


GO = [
    "panic: non-positive interval for NewTicker", "", "goroutine 27 [running]:", "time.NewTicker(0x0)", "\t/usr/local/go/src/time/tick.go:38 +0xbd",
    "github.com/bsm/sarama-cluster.(*Consumer).cmLoop(0xc0001, 0xc0002)", "\t/root/go/pkg/mod/github.com/bsm/sarama-cluster/consumer.go:452 +0x48",
    "created by github.com/bsm/sarama-cluster.(*loopTomb).Go in goroutine 20", "\t/root/go/pkg/mod/github.com/bsm/sarama-cluster/util.go:69 +0x76",
]  # fmt: skip
NODE = [
    "TypeError: callback is not a function",
    "    at /shim/node_modules/kafka-node/lib/kafkaClient.js:787:12",
    "    at Socket.emit (node:events:524:28)",
    "",
    "Node.js v20.20.2",
]
PYTHON = ["Traceback (most recent call last):", '  File "shim.py", line 3, in open', "    self.client = Client()", "ValueError: no such thing"]


def test_the_last_words_are_those_before_the_stack() -> None:
    for text, words in (
        (GO, "panic: non-positive interval for NewTicker"),
        (NODE, "TypeError: callback is not a function"),
        (PYTHON, "ValueError: no such thing"),
    ):
        log = StderrLog()
        for line in ["m0 joins", *text]:
            log.add(line)

        assert log.last(1) == (words,)


def test_a_stack_alone_is_better_than_nothing() -> None:
    log = StderrLog()
    assert log.last() == ()

    log.add(NODE[1])

    assert log.last() == (NODE[1],)
