"""The shard against a log that is done, or fails, when the test says so."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import ParamSpec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kohort.broker import shard as shard_module
from kohort.broker.shard import CallSoon, Shard
from kohort.machines.catalog.machine import CatalogMachine
from kohort.model.commands.catalog import CreateTopics, DeleteTopics, Metadata, NewTopic, TopicQuery
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import DEFAULT_ORG
from kohort.model.settings import BrokerSettings
from kohort.store.log import Durability, StoreError
from kohort.wire import catalog_records
from kohort.wire.batch_writer import BatchWriter
from kohort.wire.record_batch import HEADER_SIZE
from kohort.wire.records import decode_records
from tests.broker import ledger
from tests.broker.hand_cranked_log import HandCrankedLog
from tests.broker.ledger import BROKEN, Add, AddLater, Ask, Forget, Ledger, TotalRecord

START_MS = 1_000_000
T = ParamSpec("T")


def in_a_loop(test: Callable[T, Coroutine[None, None, None]]) -> Callable[T, None]:
    """Runs an async test to its end."""

    @wraps(test)
    def run(*arguments: T.args, **fixtures: T.kwargs) -> None:
        asyncio.run(test(*arguments, **fixtures))

    return run


class Timer:
    def __init__(self, at_ms: int, due: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.due = due
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Bench:
    """A shard of a ledger, its log, a clock, and everything that was answered, in order."""

    def __init__(self, log: HandCrankedLog | None = None, call_soon: CallSoon | None = None) -> None:
        self.log = log or HandCrankedLog()
        self.now_ms = START_MS
        self.timers: list[Timer] = []
        self.answers: list[object] = []
        self.heard: list[TotalRecord] = []
        self.events: list[object] = []
        self.shard = Shard(
            Ledger,
            self.log,
            ledger,
            durability=Durability.FSYNC,
            now_ms=lambda: self.now_ms,
            entropy=lambda: bytes(16),
            call_at=self._call_at,
            call_soon=call_soon,
            on_record=self.heard.append,
            on_event=self.events.append,
        )

    @classmethod
    async def loaded(cls, log: HandCrankedLog | None = None) -> "Bench":
        bench = cls(log)
        await bench.shard.load()
        return bench

    def say(self, command: object) -> object:
        return self.shard.handle(DEFAULT_ORG, command, self.answers.append)

    def total(self) -> object:
        """What the machine says now, durable or not."""
        self.log.finish()
        self.say(Ask())
        return self.answers[-1]

    def wait(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        due = [timer for timer in self.timers if timer.at_ms <= self.now_ms]
        self.timers = [timer for timer in self.timers if timer.at_ms > self.now_ms]
        for timer in due:
            if not timer.is_cancelled:
                timer.due()

    def _call_at(self, at_ms: int, due: Callable[[], None]) -> Timer:
        self.timers.append(Timer(at_ms, due))
        return self.timers[-1]


def codes(answers: list[object]) -> list[object]:
    return [answer.error_code if isinstance(answer, Refused) else answer for answer in answers]


LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
STOPPING = ErrorCode.COORDINATOR_NOT_AVAILABLE


# Answers and durability


@in_a_loop
async def test_an_answer_waits_until_its_records_are_durable() -> None:
    bench = await Bench.loaded()
    assert bench.say(Add(5)) is not None
    assert bench.answers == []
    bench.log.finish()
    assert bench.answers == [5]


@in_a_loop
async def test_an_answer_that_saw_what_is_not_durable_waits_for_that_too() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.say(Ask())
    bench.say(Add(0))
    assert bench.answers == []
    bench.log.finish()
    assert codes(bench.answers) == [5, 5, ErrorCode.INVALID_REQUEST]
    assert bench.answers[2].error_message == "nothing to add to 5"


@in_a_loop
async def test_an_answer_that_saw_only_what_is_durable_is_given_at_once() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.log.finish()
    assert bench.say(Ask()) is None
    assert bench.answers == [5, 5]


@in_a_loop
async def test_answers_come_in_the_order_in_which_their_records_become_durable() -> None:
    bench = await Bench.loaded()
    for number in (1, 2, 3):
        bench.say(Add(number))
        bench.say(Ask())
    bench.log.finish(2)
    assert bench.answers == [1, 1, 3, 3]
    bench.log.finish()
    assert bench.answers == [1, 1, 3, 3, 6, 6]


@in_a_loop
async def test_records_are_heard_of_when_they_are_durable_and_before_the_answer() -> None:
    bench = await Bench.loaded()
    order: list[object] = []
    bench.shard.handle(DEFAULT_ORG, Add(5), lambda answer: order.append((answer, list(bench.heard))))
    assert bench.heard == []
    bench.log.finish()
    assert order == [(5, [TotalRecord(5)])]


@in_a_loop
async def test_a_client_that_is_gone_is_not_answered() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5)).forget()
    bench.log.finish()
    assert bench.answers == []
    assert bench.total() == 5


@in_a_loop
async def test_an_answer_may_bring_the_next_command_before_it_returns() -> None:
    bench = await Bench.loaded()

    def say_more(answer: object) -> None:
        bench.answers.append(answer)
        bench.say(Add(1))

    bench.shard.handle(DEFAULT_ORG, Add(5), say_more)
    bench.log.finish(1)
    bench.log.finish()
    assert bench.answers == [5, 6]


@in_a_loop
async def test_an_answer_that_the_machine_holds_back_comes_at_once_when_it_is_hurried() -> None:
    bench = await Bench.loaded()
    pending = bench.say(AddLater(5, START_MS + 10))
    pending.hurry()
    assert bench.answers == [0]
    assert bench.timers[0].is_cancelled
    pending.hurry()
    assert bench.answers == [0]


@in_a_loop
async def test_an_answer_that_the_disk_holds_back_cannot_be_hurried() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5)).hurry()
    assert bench.answers == []
    bench.log.finish()
    assert bench.answers == [5]


# Timers


@in_a_loop
async def test_a_reply_that_was_put_off_comes_with_its_timer_and_when_it_is_durable() -> None:
    bench = await Bench.loaded()
    assert bench.say(AddLater(5, START_MS + 10)) is not None
    bench.wait(9)
    assert bench.log.waiting == []
    bench.wait(1)
    assert bench.answers == []
    bench.log.finish()
    assert bench.answers == [5]


@in_a_loop
async def test_a_timer_that_is_cancelled_never_comes_due() -> None:
    bench = await Bench.loaded()
    bench.say(AddLater(5, START_MS + 10))
    bench.say(Forget())
    bench.wait(100)
    assert bench.total() == 0


# Failure


@in_a_loop
async def test_after_a_failed_append_who_waits_is_told_to_ask_again_and_the_state_is_what_is_durable() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.log.finish()
    bench.say(Add(1))
    bench.say(Ask())
    bench.say(Add(2))
    bench.answers.clear()
    bench.log.fail()
    assert codes(bench.answers) == [LOADING] * 3
    bench.say(Ask())
    assert codes(bench.answers) == [LOADING] * 4
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bench.total() == 5


@in_a_loop
async def test_records_that_failed_are_never_heard_of_and_the_state_is_told_anew() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.log.finish()
    bench.say(Add(1))
    bench.log.fail()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bench.heard == [TotalRecord(5), TotalRecord(5)]


@in_a_loop
async def test_a_failed_append_cancels_timers_and_answers_who_waited_for_them() -> None:
    bench = await Bench.loaded()
    bench.say(AddLater(5, START_MS + 10))
    bench.say(Add(1))
    bench.log.fail()
    assert codes(bench.answers) == [LOADING, LOADING]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    bench.wait(100)
    assert bench.total() == 0


@in_a_loop
async def test_an_append_that_fails_late_does_not_harm_the_machine_loaded_since() -> None:
    bench = await Bench.loaded()
    bench.say(Add(1))
    bench.say(Add(2))
    bench.log.fail(tell=1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    bench.answers.clear()
    bench.say(Add(5))
    bench.log.failed.pop(0)(StoreError("No space left."))
    assert bench.answers == []
    bench.log.finish()
    assert bench.answers == [5]


@in_a_loop
async def test_a_reload_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "RELOAD_RETRY_MS", 1)
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.log.finish()
    bench.say(Add(1))
    bench.log.reads_fail = 2
    bench.log.fail()
    await asyncio.sleep(0.05)
    assert bench.log.reads_fail == 0
    assert bench.total() == 5


@in_a_loop
async def test_a_machine_that_fails_half_way_is_loaded_again_with_what_was_being_appended() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.say(Add(BROKEN))
    bench.say(Ask())
    assert codes(bench.answers) == [LOADING, ErrorCode.UNKNOWN_SERVER_ERROR, LOADING]
    bench.log.finish()
    await asyncio.sleep(0.05)
    assert bench.total() == 5


@in_a_loop
async def test_a_machine_that_fails_at_a_timer_is_loaded_again() -> None:
    bench = await Bench.loaded()
    bench.say(AddLater(BROKEN, START_MS + 10))
    bench.wait(10)
    await asyncio.sleep(0.05)
    assert codes(bench.answers) == [LOADING]
    assert bench.total() == 0


@in_a_loop
async def test_events_are_told_when_their_records_are_durable() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    assert bench.events == []
    bench.log.finish()
    assert bench.events == [TotalRecord(5)]


@in_a_loop
async def test_the_first_load_says_why_it_failed() -> None:
    log = HandCrankedLog()
    bench = await Bench.loaded(log)
    bench.say(Add(5))
    log.finish()
    log.reads_fail = 1
    with pytest.raises(StoreError, match="did not answer"):
        await Bench(log).shard.load()


# Loading and snapshots


@in_a_loop
async def test_commands_before_the_load_are_told_to_ask_again() -> None:
    bench = Bench()
    assert bench.say(Ask()) is None
    assert codes(bench.answers) == [LOADING]


@in_a_loop
async def test_a_restart_knows_what_was_durable_and_tells_the_state_only() -> None:
    first = await Bench.loaded()
    for number in range(1, 11):
        first.say(Add(number))
        first.log.finish()
    second = await Bench.loaded(first.log)
    assert second.heard == [TotalRecord(55)]
    assert second.total() == 55


@in_a_loop
async def test_a_closed_shard_answers_who_waits_for_others_and_decides_nothing_more() -> None:
    bench = await Bench.loaded()
    bench.say(AddLater(5, START_MS + 1000))
    bench.shard.close()
    bench.say(Ask())
    bench.wait(1000)
    assert codes(bench.answers) == [STOPPING, STOPPING]
    assert bench.log.end_offset == 0


@in_a_loop
async def test_who_only_waits_for_the_disk_when_a_shard_is_closed_hears_what_it_says() -> None:
    for is_well in (True, False):
        bench = await Bench.loaded()
        bench.say(Add(5))
        bench.shard.close()
        assert bench.answers == []
        if is_well:
            bench.log.finish()
        else:
            bench.log.fail()
        assert codes(bench.answers) == [5 if is_well else STOPPING]


# Gathering


@in_a_loop
async def test_decisions_of_one_turn_of_the_loop_are_appended_together() -> None:
    bench = Bench(call_soon=asyncio.get_running_loop().call_soon)
    await bench.shard.load()
    for number in (1, 2, 3):
        bench.say(Add(number))
    bench.say(Ask())
    assert bench.log.end_offset == 0
    await asyncio.sleep(0)
    assert (len(bench.log.waiting), bench.log.end_offset) == (1, 3)
    assert bench.answers == []
    bench.say(Add(4))
    bench.log.finish(1)
    assert bench.answers == [1, 3, 6, 6]
    await asyncio.sleep(0)
    bench.log.finish()
    assert bench.answers == [1, 3, 6, 6, 10]
    assert bench.heard[1:] == [TotalRecord(total) for total in (3, 6, 10)]


@in_a_loop
async def test_what_was_gathered_when_an_append_fails_is_lost_with_it() -> None:
    bench = Bench(call_soon=asyncio.get_running_loop().call_soon)
    await bench.shard.load()
    bench.say(Add(1))
    await asyncio.sleep(0)
    bench.say(Add(2))
    bench.log.fail()
    assert codes(bench.answers) == [LOADING, LOADING]
    await asyncio.sleep(0.01)
    assert bench.total() == 0


@in_a_loop
async def test_records_that_cannot_be_written_drop_the_machine_and_are_told_to_who_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.log.finish()

    def fail(writer: BatchWriter, records: object) -> None:
        raise OverflowError("a name of 40,000 bytes")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "write", fail)
        bench.say(Add(1))
    assert codes(bench.answers) == [5, ErrorCode.UNKNOWN_SERVER_ERROR]
    await asyncio.sleep(0.01)
    assert bench.total() == 5


@pytest.fixture
def soon_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_module, "MIN_GROWTH_BYTES", 5 * (HEADER_SIZE + 20))


@pytest.mark.usefixtures("soon_snapshots")
@in_a_loop
async def test_a_log_that_has_grown_is_trimmed_to_a_snapshot() -> None:
    bench = await Bench.loaded()
    for _ in range(200):
        bench.say(Add(1))
        bench.log.finish()
    bench.log.finish()
    assert bench.log.start_offset > 100
    assert len(bench.log.durable) < 20
    restarted = await Bench.loaded(bench.log)
    assert restarted.total() == 200


@pytest.mark.usefixtures("soon_snapshots")
@in_a_loop
async def test_a_snapshot_that_failed_trims_nothing_and_loses_nothing() -> None:
    bench = await Bench.loaded()
    number = 0
    while len(bench.log.waiting) == 0:
        bench.say(Add(1))
        number += 1
        bench.log.finish(1)
    bench.log.fail()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bench.log.start_offset == 0
    assert bench.total() == number


@pytest.mark.usefixtures("soon_snapshots")
@in_a_loop
async def test_a_restart_between_a_snapshot_and_its_trim_knows_the_same() -> None:
    bench = await Bench.loaded()
    bench.log.trim = lambda offset, done: done(StoreError("The disk did not answer."))  # type: ignore[method-assign]
    for _ in range(50):
        bench.say(Add(1))
        bench.log.finish()
    bench.log.finish()
    assert any(batch.header.is_control for batch in bench.log.durable)
    restarted = await Bench.loaded(bench.log)
    assert restarted.total() == 50


@pytest.mark.usefixtures("soon_snapshots")
@pytest.mark.parametrize("trims", [True, False])
@in_a_loop
async def test_restarts_and_reloads_make_the_next_snapshot_come_no_sooner_and_no_later(trims: bool) -> None:
    """Growth is what lies behind the last snapshot, whoever wrote it."""
    benches = [await Bench.loaded() for _ in range(3)]
    steady, restarted, reloaded = benches
    for bench in benches if not trims else []:
        bench.log.trim = lambda offset, done: done(StoreError("The disk did not answer."))  # type: ignore[method-assign]
    for _ in range(60):
        for bench in (steady, restarted, reloaded):
            bench.say(Add(1))
            bench.log.finish()
            bench.log.finish()
        restarted = await Bench.loaded(restarted.log)
        reloaded.say(Add(1))
        reloaded.log.fail()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    snapshots = [
        [batch.header.base_offset for batch in bench.log.durable if batch.header.is_control]
        for bench in (steady, restarted, reloaded)
    ]
    assert snapshots[0]
    assert snapshots == [snapshots[0]] * 3


@pytest.mark.usefixtures("soon_snapshots")
@in_a_loop
async def test_snapshot_marks_are_the_control_records_of_kafkas_snapshots() -> None:
    bench = await Bench.loaded()
    while not any(batch.header.is_control for batch in bench.log.durable):
        bench.say(Add(1))
        bench.log.finish()
    marks = [batch for batch in bench.log.durable if batch.header.is_control]
    header, footer = (next(decode_records(mark.data)) for mark in marks)
    assert (header.key, footer.key) == (b"\x00\x00\x00\x03", b"\x00\x00\x00\x04")
    assert header.value == b"\x00\x00" + START_MS.to_bytes(8, "big") + b"\x00"
    assert footer.value == b"\x00\x00\x00"


# The catalog on a shard

steps = st.lists(
    st.one_of(
        st.builds(lambda name: CreateTopics((NewTopic(name),)), st.sampled_from("abcdef")),
        st.builds(lambda name: DeleteTopics((TopicQuery(name),)), st.sampled_from("abcdef")),
        st.sampled_from(["finish one", "finish", "fail", "restart"]),
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(steps, st.booleans())
def test_whatever_fails_when_what_was_answered_is_there_and_what_was_not_heard_of_is_not_promised(
    conversation: list[object], with_snapshots: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_module, "MIN_GROWTH_BYTES", 500 if with_snapshots else 1 << 20)
        asyncio.run(converse(conversation))


async def converse(conversation: list[object]) -> None:
    log = HandCrankedLog()
    moments = iter(range(1 << 30))
    acknowledged: set[str] = set()

    def catalog() -> Shard:
        return Shard(
            lambda: CatalogMachine(BrokerSettings()),
            log,
            catalog_records,
            durability=Durability.FSYNC,
            now_ms=lambda: START_MS,
            entropy=lambda: next(moments).to_bytes(16, "big"),
            call_at=lambda at_ms, due: Timer(at_ms, due),
        )

    def hear(answer: object) -> None:
        """Only what is answered without an error is acknowledged."""
        if isinstance(answer, Refused):
            return
        (outcome,) = answer.topics
        if outcome.error_code == ErrorCode.NONE:
            (acknowledged.discard if outcome.num_partitions == -1 else acknowledged.add)(outcome.name)

    shard = catalog()
    await shard.load()
    for step in conversation:
        match step:
            case "finish one" if log.waiting:
                log.finish(1)
            case "finish":
                log.finish()
            case "fail":
                log.fail()
            case "restart":
                shard.close()
                log.fail()
                shard = catalog()
                await shard.load()
            case CreateTopics() | DeleteTopics():
                shard.handle(DEFAULT_ORG, step, hear)
        for _ in range(3):
            await asyncio.sleep(0)
    shard.close()
    log.fail()
    restarted = catalog()
    await restarted.load()
    found: list[object] = []
    restarted.handle(DEFAULT_ORG, Metadata(None), found.append)
    assert {topic.name for topic in found[0].topics} == acknowledged


# Coming to be, and waiting too long


@in_a_loop
async def test_who_waits_for_the_disk_too_long_is_told_to_ask_again_and_nothing_else_happens() -> None:
    bench = await Bench.loaded()
    bench.say(Add(5))
    bench.wait(1000)
    bench.say(Add(7))
    bench.shard.refuse_overdue(bench.now_ms - 1000)
    assert codes(bench.answers) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    bench.log.finish()
    assert codes(bench.answers) == [ErrorCode.COORDINATOR_NOT_AVAILABLE, 12]


@in_a_loop
async def test_whoever_opened_the_shard_hears_of_each_load_before_commands_are_decided() -> None:
    log, answers = HandCrankedLog(), list[object]()
    shard = Shard(
        Ledger,
        log,
        ledger,
        durability=Durability.FSYNC,
        now_ms=lambda: START_MS,
        entropy=lambda: bytes(16),
        call_at=lambda at_ms, due: Timer(at_ms, due),
        on_loaded=lambda: answers.append("loaded"),
    )
    shard.start_loading()
    shard.handle(DEFAULT_ORG, Ask(), answers.append)
    await asyncio.sleep(0)
    shard.handle(DEFAULT_ORG, Ask(), answers.append)
    assert codes(answers) == [LOADING, "loaded", 0]
