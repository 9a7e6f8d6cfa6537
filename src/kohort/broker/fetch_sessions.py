"""Incremental fetch sessions (KIP-227): a consumer names its partitions once, and then only what changes.

Decides which partitions a fetch is for and which of them its answer has to speak of. It never reads a log. Sessions
are few and bounded: a full house makes room for a newcomer by the session silent for long enough, or else by the
smallest one that had its time, if the newcomer is larger; a newcomer without a place is served without a session.

    (session id, epoch)    (0, -1) no session    (0, 0) a new one    (id, n) the n-th of one
                           (id, 0) a new one in its place           (id, -1) its end

Next hop: fetch.py reads what an Interest asks for and gives the results back to be answered.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final

from kohort.model.commands.data import Fetch, Fetched, PartitionFetch, PartitionFetched, TopicFetch, TopicFetched
from kohort.model.errors import ErrorCode
from kohort.model.ids import OrgId, TopicId

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
GREATEST_EPOCH: Final = (1 << 31) - 1
EVICTION_MS: Final = 120_000
"""How long a session is safe from a newcomer after it was last used, or was made."""
UNKNOWN: Final = -2
"""No partition has such an offset, so what is answered next always counts as a change."""

PartitionKey = tuple[str | TopicId, int]


class WantedPartition:
    """A partition that a fetch is for: what was asked last and, in a session, what was answered last."""

    __slots__ = (
        "_epochs_are_checked",
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(self, topic: str, topic_id: TopicId, asked: PartitionFetch) -> None:
        self.topic: Final = topic
        self.topic_id: Final = topic_id
        self.partition: Final = asked.partition
        self.high_watermark = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.ask(asked)

    def ask(self, asked: PartitionFetch) -> None:
        _, self.fetch_offset, self.max_bytes, self.current_leader_epoch, self.last_fetched_epoch = asked
        self._epochs_are_checked = False

    def knows(self, log_start_offset: int, high_watermark: int) -> bool:
        """Whether there is nothing to read and nothing to tell: so it is with most of a large session."""
        return (
            self.fetch_offset == high_watermark == self.high_watermark
            and log_start_offset == self.log_start_offset
            and self._epochs_are_checked
        )

    def takes_news(self, fetched: PartitionFetched) -> bool:
        """Whether this says something the client does not know yet; it counts as told from now on."""
        has_news = bool(
            fetched.records
            or fetched.error_code
            or fetched.high_watermark != self.high_watermark
            or fetched.log_start_offset != self.log_start_offset
            or fetched.diverging_epoch.epoch >= 0
        )
        # After an error the client is told again, whatever the watermark.
        self.high_watermark = UNKNOWN if fetched.error_code else fetched.high_watermark
        self.log_start_offset = fetched.log_start_offset
        self._epochs_are_checked = True
        return has_news


Result = tuple[WantedPartition, PartitionFetched]


class Interest:
    """What one fetch wants, and how its results become its answer."""

    wanted: Sequence[WantedPartition]

    def __init__(self, wanted: Sequence[WantedPartition]) -> None:
        self.wanted = wanted

    def answer(self, results: Sequence[Result]) -> Fetched:
        """Without a session: everything."""
        return Fetched(0, NO_SESSION, _by_topic(results))


class _Session:
    __slots__ = ("by_topic_id", "created_ms", "epoch", "org_id", "partitions", "session_id", "used_ms")

    def __init__(self, session_id: int, org_id: OrgId, by_topic_id: bool, now_ms: int) -> None:
        self.session_id: Final = session_id
        self.org_id: Final = org_id
        self.by_topic_id: Final = by_topic_id
        self.partitions: dict[PartitionKey, WantedPartition] = {}
        self.created_ms: Final = now_ms
        self.used_ms = now_ms
        self.epoch = FIRST_EPOCH + 1

    def update(self, fetch: Fetch) -> None:
        """Takes in the partitions that are new or asked anew, and lets go those that are forgotten."""
        for topic in fetch.topics:
            name = topic.topic_id if self.by_topic_id else topic.topic
            for asked in topic.partitions:
                known = self.partitions.get((name, asked.partition))
                if known is None:
                    self.partitions[name, asked.partition] = WantedPartition(topic.topic, topic.topic_id, asked)
                else:
                    known.ask(asked)
        for forgotten in fetch.forgotten:
            name = forgotten.topic_id if self.by_topic_id else forgotten.topic
            for index in forgotten.partitions:
                self.partitions.pop((name, index), None)


class _FullInterest(Interest):
    """The first of a session: everything is answered, and remembered."""

    def __init__(self, session: _Session) -> None:
        super().__init__(tuple(session.partitions.values()))
        self._session = session

    def answer(self, results: Sequence[Result]) -> Fetched:
        for wanted, fetched in results:
            wanted.takes_news(fetched)
        return Fetched(0, self._session.session_id, _by_topic(results))


class _IncrementalInterest(Interest):
    """A later one of a session: only news is answered."""

    def __init__(self, session: _Session) -> None:
        super().__init__(tuple(session.partitions.values()))
        self._session = session
        self._epoch = session.epoch

    def answer(self, results: Sequence[Result]) -> Fetched:
        session = self._session
        if session.epoch != self._epoch:
            # The client asked again before this was answered, on another connection: it will not believe this one.
            return Fetched(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id, ())
        news = [result for result in results if result[0].takes_news(result[1])]
        for wanted, fetched in news:
            if fetched.records:
                _move_to_end(session.partitions, wanted, session.by_topic_id)
        return Fetched(0, session.session_id, _by_topic(news))


class FetchSessions:
    """All sessions of a broker."""

    def __init__(self, slots: int, fresh_number: Callable[[], int]) -> None:
        self._slots: Final = slots
        self._fresh_number: Final = fresh_number
        self._sessions: Final[dict[int, _Session]] = {}
        """The one used longest ago first."""

    def __len__(self) -> int:
        return len(self._sessions)

    def interest(self, org_id: OrgId, fetch: Fetch, now_ms: int) -> Interest | Fetched:
        """What the fetch is for; or its answer, if the session it names is not there or not as far."""
        if fetch.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
            return self._start(org_id, fetch, now_ms)
        session = self._sessions.get(fetch.session_id)
        if session is None or session.org_id != org_id:
            return Fetched(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, ())
        if session.epoch != fetch.session_epoch:
            return Fetched(ErrorCode.INVALID_FETCH_SESSION_EPOCH, NO_SESSION, ())
        if session.by_topic_id != fetch.by_topic_id:
            return Fetched(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, NO_SESSION, ())
        session.update(fetch)
        if not session.partitions:
            del self._sessions[fetch.session_id]
            return Interest(())
        self._sessions[fetch.session_id] = self._sessions.pop(fetch.session_id)
        session.used_ms = now_ms
        session.epoch = session.epoch + 1 if session.epoch < GREATEST_EPOCH else FIRST_EPOCH + 1
        return _IncrementalInterest(session)

    def _start(self, org_id: OrgId, fetch: Fetch, now_ms: int) -> Interest:
        """A fetch that names all its partitions: it ends the session it names, and may begin a new one."""
        named = self._sessions.get(fetch.session_id)
        if named is not None and named.org_id == org_id:
            del self._sessions[fetch.session_id]
        wanted = _named_partitions(fetch.topics)
        if fetch.session_epoch == FINAL_EPOCH or not self._has_place_for(len(wanted), now_ms):
            return Interest(wanted)
        session = _Session(self._fresh_id(), org_id, fetch.by_topic_id, now_ms)
        session.update(fetch)
        self._sessions[session.session_id] = session
        return _FullInterest(session)

    def _has_place_for(self, size: int, now_ms: int) -> bool:
        """Makes room if it must and can."""
        if len(self._sessions) < self._slots:
            return True
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.used_ms <= EVICTION_MS:
            evictable = [each for each in self._sessions.values() if now_ms - each.created_ms > EVICTION_MS]
            if not evictable:
                return False
            oldest = min(evictable, key=lambda each: len(each.partitions))
            if len(oldest.partitions) >= size:
                return False
        del self._sessions[oldest.session_id]
        return True

    def _fresh_id(self) -> int:
        while True:
            session_id = self._fresh_number()
            if session_id != NO_SESSION and session_id not in self._sessions:
                return session_id


def _named_partitions(topics: Iterable[TopicFetch]) -> list[WantedPartition]:
    return [WantedPartition(topic.topic, topic.topic_id, asked) for topic in topics for asked in topic.partitions]


def _move_to_end(partitions: dict[PartitionKey, WantedPartition], wanted: WantedPartition, by_topic_id: bool) -> None:
    """Who got bytes comes last the next time, so that no partition starves behind a busy one."""
    key = (wanted.topic_id if by_topic_id else wanted.topic, wanted.partition)
    if partitions.get(key) is wanted:
        del partitions[key]
        partitions[key] = wanted


def _by_topic(results: Sequence[Result]) -> tuple[TopicFetched, ...]:
    """The results in their order; neighbours of one topic share it."""
    if len(results) == 1:
        wanted, fetched = results[0]
        return (TopicFetched(wanted.topic, wanted.topic_id, (fetched,)),)
    return tuple(
        TopicFetched(topic, topic_id, tuple(fetched for _, fetched in group))
        for (topic, topic_id), group in groupby(results, key=lambda result: (result[0].topic, result[0].topic_id))
    )
