from kohort.machines.groups.held import HeldHeartbeat
from kohort.machines.groups.push.breaker import WHILE_MS, Breaker
from kohort.model.commands.groups import Origin

HOLD_MS = 2800


def origin(connection_id: int, version: str = "2.15", name: str = "librdkafka", client_id: str = "c") -> Origin:
    return Origin(client_id, "/127.0.0.1", name, connection_id, version)


def cut_off(breaker: Breaker, member_id: str, at_ms: int, *, after_ms: int = HOLD_MS, **client: str) -> None:
    """A connection of this client ends while it is held."""
    since_ms = at_ms - after_ms
    held = HeldHeartbeat(1, "g", member_id, origin(1, **client), since_ms, since_ms + HOLD_MS)
    breaker.on_lost_while_held(held, at_ms)


def strike(breaker: Breaker, at_ms: int = 0, **client: str) -> None:
    cut_off(breaker, "m", at_ms, **client)
    breaker.on_heard("g", "m", origin(2, **client), at_ms)


def test_two_strikes_halve_and_four_end_it() -> None:
    breaker = Breaker()
    left = []
    for _ in range(5):
        strike(breaker)
        left.append(breaker.bearable_ms(origin(3), HOLD_MS))
    assert left == [HOLD_MS, HOLD_MS // 2, HOLD_MS // 2, 0, 0]
    assert breaker.strikes == 5


def test_strikes_are_forgotten_after_a_while() -> None:
    breaker = Breaker()
    for at_ms in range(4):
        strike(breaker, at_ms)
    breaker.on_heard("g", "another", origin(4), WHILE_MS - 1)
    assert breaker.bearable_ms(origin(3), HOLD_MS) == 0
    breaker.on_heard("g", "another", origin(4), WHILE_MS + 3)
    assert breaker.bearable_ms(origin(3), HOLD_MS) == HOLD_MS


def test_other_versions_and_other_clients_do_not_suffer() -> None:
    breaker = Breaker()
    for _ in range(4):
        strike(breaker)
    assert breaker.bearable_ms(origin(3, version="2.14"), HOLD_MS) == HOLD_MS
    assert breaker.bearable_ms(origin(3, name="kgo"), HOLD_MS) == HOLD_MS
    assert breaker.bearable_ms(origin(3, client_id="another"), HOLD_MS) == 0


def test_a_client_that_tells_no_software_is_known_by_its_id() -> None:
    breaker = Breaker()
    for _ in range(4):
        strike(breaker, name="", version="", client_id="aiokafka-1")
    assert breaker.bearable_ms(origin(3, name="", version="", client_id="aiokafka-1"), HOLD_MS) == 0
    assert breaker.bearable_ms(origin(3, name="", version="", client_id="aiokafka-2"), HOLD_MS) == HOLD_MS


def test_a_member_that_leaves_or_was_hardly_held_is_no_strike() -> None:
    breaker = Breaker()
    for _ in range(4):
        cut_off(breaker, "leaves", 0)
        cut_off(breaker, "m", 0, after_ms=HOLD_MS // 2)
        breaker.on_heard("g", "m", origin(2), 0)
    assert breaker.strikes == 0


def test_what_is_remembered_is_bounded() -> None:
    breaker = Breaker()
    for number in range(3000):
        cut_off(breaker, str(number), 0)
        strike(breaker, version=str(number))
    assert len(breaker._cut_off) <= 1000
    assert len(breaker._strikes_at_ms) <= 1000
