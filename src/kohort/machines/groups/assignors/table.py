"""The assignors that a group may choose from, by the names that clients and settings use.

Next hop: uniform.py and range.py.
"""

from collections.abc import Mapping
from typing import Final

from kohort.machines.groups.assignors.assignor import Assign
from kohort.machines.groups.assignors.range import assign_range
from kohort.machines.groups.assignors.uniform import assign_uniform

ASSIGNORS: Final[Mapping[str, Assign]] = {"uniform": assign_uniform, "range": assign_range}
