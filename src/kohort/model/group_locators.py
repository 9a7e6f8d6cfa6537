"""Where a group is found by its name: <org>/consumer-groups/<slug>, the slug being the name in a form that URLs bear.

Two groups never have the same slug, and a slug tells the name. Who a group is, whatever it is called, its identity says
(ListedGroup.identity); a group that was deleted and came back has the locator of before, and another identity.
"""

from typing import Final
from urllib.parse import quote, unquote

_NO_NAME: Final = "%"
"""The slug of the group without a name: no other has it, since % is always written %25."""
_STEPS: Final = {".": "%2E", "..": "%2E%2E"}
"""Names that a URL would take for steps along its path."""


def group_slug(group_id: str) -> str:
    """Letters, digits, "-", ".", "_" and "~" as they are; every other byte of its UTF-8 as %XX."""
    if not group_id:
        return _NO_NAME
    return _STEPS.get(group_id) or quote(group_id, safe="", errors="surrogatepass")


def group_of_slug(slug: str) -> str:
    return "" if slug == _NO_NAME else unquote(slug, errors="surrogatepass")


def group_locator(org: str, group_id: str) -> str:
    return f"{org}/consumer-groups/{group_slug(group_id)}"
