"""Who a group is, whatever it is called: cgp_ and a ULID, minted with its first record and kept across empty times.

Next hop: state.py, which keeps the identities.
"""

from typing import Final

from kohort.machines.contract import Moment

_PREFIX: Final = "cgp_"
_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID_CHARACTERS: Final = 26
_RANDOM_BYTES: Final = 10
_IDENTITY: Final = 1 << 32
"""The number of this fresh id among those of a moment: a decision makes at most one group."""


def mint_identity(moment: Moment) -> str:
    """48 bits of time and 80 of chance, 5 to a character."""
    chance = moment.fresh_id(_IDENTITY)[:_RANDOM_BYTES]
    number = moment.now_ms << (8 * _RANDOM_BYTES) | int.from_bytes(chance, "big")
    shifts = range(5 * (_ULID_CHARACTERS - 1), -1, -5)
    return _PREFIX + "".join(_CROCKFORD[number >> shift & 31] for shift in shifts)
