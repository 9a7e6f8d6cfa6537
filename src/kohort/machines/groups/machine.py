"""The machine of a shard of groups: which decision each command, timer and waiting answer gets.

Decides nothing itself: each command has its function, which writes its decision into a draft. A refusal is raised
before anything is written.

Next hop: classic/, consumer/, migration/, offsets.py and administration.py decide; state.py replays the records.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final

from kohort.machines.contract import Decision, Moment, Reply, Token
from kohort.machines.groups.administration import (
    handle_delete_group,
    handle_describe_group,
    handle_group_configs_changed,
    handle_list_groups,
)
from kohort.machines.groups.classic.rebalance import on_initial_delay_over, on_join_phase_over, on_sync_phase_over
from kohort.machines.groups.classic.sessions import on_session_over, watch_loaded_groups
from kohort.machines.groups.classic.timers import InitialDelayTimer, JoinPhaseTimer, SessionTimer, SyncPhaseTimer
from kohort.machines.groups.consumer.describe import handle_consumer_group_describe
from kohort.machines.groups.consumer.heartbeat import (
    answer_consumer_group_heartbeat,
    handle_consumer_group_heartbeat,
)
from kohort.machines.groups.consumer.leaving import on_revocation_timer, on_session_timer
from kohort.machines.groups.consumer.loading import on_consumer_groups_loaded
from kohort.machines.groups.consumer.telling import on_target_timer
from kohort.machines.groups.consumer.timers import (
    ConsumerSessionTimer,
    JoinTimer,
    RejoinTimer,
    RevocationTimer,
    SyncTimer,
    TargetTimer,
)
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.expiry import OffsetsCheck, on_offsets_check, watch_offsets
from kohort.machines.groups.held import Completion, HeldUntil
from kohort.machines.groups.hold_endings import hurry, on_held_until
from kohort.machines.groups.lost_connections import GraceTimer, handle_connection_lost, on_grace_over
from kohort.machines.groups.migration.classic_members import on_rejoin_timer, on_sync_timer
from kohort.machines.groups.migration.routing import (
    answer_heartbeat,
    handle_heartbeat,
    handle_join_group,
    handle_leave_group,
    handle_sync_group,
)
from kohort.machines.groups.migration.waiting import on_join_timer
from kohort.machines.groups.offsets import answer_offset_fetch, handle_offset_commit, handle_offset_delete
from kohort.machines.groups.state import GroupsState
from kohort.machines.groups.topic_changes import handle_topics_changed
from kohort.model.commands.groups import (
    ConnectionLost,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    DeleteGroup,
    DescribeGroup,
    GroupConfigsChanged,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
    TopicsChanged,
)
from kohort.model.consumer_protocol import ConsumerProtocol
from kohort.model.errors import ProtocolError
from kohort.model.ids import OrgId
from kohort.model.records.groups import GroupsRecord
from kohort.model.settings import BrokerSettings

COMMANDS: Final[Mapping[type, Callable[[GroupsState, Any, Token, Draft], None]]] = {
    ConnectionLost: handle_connection_lost,
    ConsumerGroupDescribe: handle_consumer_group_describe,
    ConsumerGroupHeartbeat: handle_consumer_group_heartbeat,
    DeleteGroup: handle_delete_group,
    DescribeGroup: handle_describe_group,
    GroupConfigsChanged: handle_group_configs_changed,
    Heartbeat: handle_heartbeat,
    JoinGroup: handle_join_group,
    LeaveGroup: handle_leave_group,
    ListGroups: handle_list_groups,
    OffsetCommit: handle_offset_commit,
    OffsetDelete: handle_offset_delete,
    SyncGroup: handle_sync_group,
    TopicsChanged: handle_topics_changed,
}
"""Every command of groups, and who decides it. What it is refused with is raised; any other answer is the draft's."""

QUESTIONS: Final[Mapping[type, Callable[[GroupsState, Any, int], object | None]]] = {
    ConsumerGroupHeartbeat: answer_consumer_group_heartbeat,
    Heartbeat: answer_heartbeat,
    OffsetFetch: answer_offset_fetch,
}
"""Commands that nothing follows from, always or nearly always, and who answers them at the given time: asked so often
that a draft for each is too much. None where something does follow: then they are decided as above."""

TIMERS: Final[Mapping[type, Callable[[GroupsState, Any, Draft], None]]] = {
    OffsetsCheck: on_offsets_check,
    HeldUntil: on_held_until,
    SessionTimer: on_session_over,
    InitialDelayTimer: on_initial_delay_over,
    JoinPhaseTimer: on_join_phase_over,
    SyncPhaseTimer: on_sync_phase_over,
    GraceTimer: on_grace_over,
    ConsumerSessionTimer: on_session_timer,
    RevocationTimer: on_revocation_timer,
    TargetTimer: on_target_timer,
    JoinTimer: on_join_timer,
    RejoinTimer: on_rejoin_timer,
    SyncTimer: on_sync_timer,
}
"""Every timer by the type of its key, and who decides what follows."""


class GroupsMachine:
    def __init__(self, settings: BrokerSettings, consumer_protocol: ConsumerProtocol) -> None:
        self.state: Final = GroupsState(settings, consumer_protocol)

    def answer_at_once(self, command: object, now_ms: int) -> object | None:
        answer = QUESTIONS.get(type(command))
        return None if answer is None else answer(self.state, command, now_ms)

    def handle(self, org_id: OrgId, command: object, token: Token, moment: Moment) -> Decision[GroupsRecord]:
        answer = self.answer_at_once(command, moment.now_ms)
        if answer is not None:
            return Decision(replies=(Reply(token, answer),))
        draft = Draft(moment, self.state.replay)
        try:
            COMMANDS[type(command)](self.state, command, token, draft)
        except ProtocolError as refusal:
            if draft.records:
                raise AssertionError(f"{type(command).__name__} was refused after it had been written") from refusal
            raise
        return draft.decision()

    def on_timer(self, key: Hashable, moment: Moment) -> Decision[GroupsRecord]:
        draft = Draft(moment, self.state.replay)
        TIMERS[type(key)](self.state, key, draft)
        return draft.decision()

    def on_forget(self, token: Token, moment: Moment) -> Decision[GroupsRecord]:
        """A JoinGroup or SyncGroup still counts, as in Kafka; a held heartbeat has nothing to tell any more."""
        draft = Draft(moment, self.state.replay)
        held = self.state.held.of_token(token)
        if held is not None:
            self.state.held.take(held, draft, Completion.FORGOTTEN)
            self.state.push.on_lost_while_held(held, moment.now_ms)
        return draft.decision()

    def on_hurry(self, token: Token, moment: Moment) -> Decision[GroupsRecord]:
        """Only held heartbeats can be hurried."""
        draft = Draft(moment, self.state.replay)
        held = self.state.held.of_token(token)
        if held is not None:
            hurry(self.state, held, draft)
        return draft.decision()

    def on_loaded(self, moment: Moment) -> Decision[GroupsRecord]:
        draft = Draft(moment, self.state.replay)
        watch_offsets(self.state, draft)
        on_consumer_groups_loaded(self.state, draft)
        watch_loaded_groups(self.state, draft)
        return draft.decision()

    def replay(self, record: GroupsRecord) -> None:
        self.state.replay(record)

    def snapshot(self) -> Iterable[GroupsRecord]:
        return self.state.snapshot()
