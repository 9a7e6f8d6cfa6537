"""The codec against the format, against itself, and against hostile bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, NewType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.wire.errors import DecodeError
from kohort.wire.postcard import codec

Number = NewType("Number", int)


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Point(NamedTuple):
    x: int
    y: Number


@dataclass(frozen=True, slots=True)
class Everything:
    flag: bool
    number: Number
    ratio: float
    text: str
    data: bytes
    identity: UUID
    colour: Colour
    point: Point
    perhaps: str | None
    pair: tuple[int, str]
    points: tuple[Point, ...]
    nested: tuple[tuple[bytes | None, ...], ...]
    names: Mapping[str, int | None]


class Empty(NamedTuple):
    pass


longs = st.integers(-(1 << 63), (1 << 63) - 1)
points = st.builds(Point, longs, longs)
everything = st.builds(
    Everything,
    st.booleans(),
    longs,
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.uuids(),
    st.sampled_from(Colour),
    points,
    st.none() | st.text(),
    st.tuples(longs, st.text()),
    st.lists(points).map(tuple),
    st.lists(st.lists(st.none() | st.binary()).map(tuple)).map(tuple),
    st.dictionaries(st.text(), st.none() | longs),
)


@given(everything)
def test_every_value_comes_back_from_its_bytes(value: Everything) -> None:
    data = codec(Everything).encode(value)
    assert codec(Everything).decode(data, 0) == (value, len(data))


@given(everything, st.binary(), st.binary())
def test_a_value_is_read_from_where_it_lies_and_what_is_behind_it_is_left_alone(
    value: Everything, before: bytes, behind: bytes
) -> None:
    data = codec(Everything).encode(value)
    assert codec(Everything).decode(before + data + behind, len(before)) == (value, len(before) + len(data))


@given(everything, st.data())
def test_a_value_that_is_cut_short_is_refused(value: Everything, choose: st.DataObject) -> None:
    data = codec(Everything).encode(value)
    end = choose.draw(st.integers(0, len(data) - 1))
    with pytest.raises(DecodeError):
        codec(Everything).decode(data[:end], 0)


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_being_refused(data: bytes) -> None:
    try:
        value, position = codec(Everything).decode(data, 0)
    except DecodeError:
        return
    assert position <= len(data)
    assert isinstance(value, Everything)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Point, Point(0, Number(-1)), b"\x00\x01"),
        (Point, Point(63, Number(64)), b"\x7e\x80\x01"),
        (Point, Point(-(1 << 63), Number((1 << 63) - 1)), b"\xff" * 9 + b"\x01" + b"\xfe" + b"\xff" * 8 + b"\x01"),
        (tuple[str, bytes], ("hé", b"\x00"), b"\x03h\xc3\xa9\x01\x00"),
        (tuple[str | None, str | None], (None, "a"), b"\x00\x01\x01a"),
        (tuple[bool, Colour], (True, Colour.GREEN), b"\x01\x01"),
        (tuple[float, UUID], (1.0, UUID(int=1)), b"\x00\x00\x00\x00\x00\x00\xf0\x3f" + b"\x00" * 15 + b"\x01"),
        (tuple[Point, ...], (Point(1, Number(1)), Point(2, Number(2))), b"\x02\x02\x02\x04\x04"),
        (Mapping[str, int], {"a": 1, "b": 2}, b"\x02\x01a\x02\x01b\x04"),
    ],
)
def test_the_bytes_are_those_of_the_postcard_specification(kind: type, value: object, expected: bytes) -> None:
    assert codec(kind).encode(value) == expected
    assert codec(kind).decode(expected, 0) == (value, len(expected))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (tuple[Point, ...], b"\xff\xff\xff\xff\x0f"),
        (tuple[Point, ...], b"\xff" * 9 + b"\x01"),
        (tuple[str, ...], b"\x02\xff\xff\xff\xff\x0f"),
        (Mapping[str, int], b"\xff\xff\xff\xff\x0f"),
        (Point, b"\xff" * 10 + b"\x01"),
        (Point, b"\xff" * 9 + b"\x02" + b"\x00"),
        (tuple[bool, bool], b"\x02\x00"),
        (tuple[Colour, ...], b"\x01\x02"),
        (tuple[str, int], b"\x01\xff\x00"),
        (tuple[int | None, int], b"\x05\x00"),
    ],
)
def test_bombs_and_nonsense_are_refused(kind: type, data: bytes) -> None:
    with pytest.raises(DecodeError):
        codec(kind).decode(data, 0)


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1])
def test_a_number_of_more_than_64_bits_is_not_written(number: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        codec(Point).encode(Point(number, Number(0)))


@pytest.mark.parametrize("kind", [object, tuple[Empty, ...], int | str, list[int]])
def test_a_type_that_has_no_bytes_or_no_bound_is_refused_when_it_is_compiled(kind: type) -> None:
    with pytest.raises(TypeError):
        codec(kind)
