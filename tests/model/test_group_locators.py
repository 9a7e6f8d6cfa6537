"""Locators of groups: readable where the name is, and never ambiguous."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.model.group_locators import group_locator, group_of_slug, group_slug


@pytest.mark.parametrize(
    ("group_id", "locator"),
    [
        ("orders-app.v2", "acme/consumer-groups/orders-app.v2"),
        ("Orders App/1", "acme/consumer-groups/Orders%20App%2F1"),
        ("grüppe", "acme/consumer-groups/gr%C3%BCppe"),
        ("..", "acme/consumer-groups/%2E%2E"),
        ("%", "acme/consumer-groups/%25"),
        ("", "acme/consumer-groups/%"),
    ],
)
def test_a_locator_is_the_name_in_a_form_that_urls_bear(group_id: str, locator: str) -> None:
    assert group_locator("acme", group_id) == locator


@given(st.text())
def test_a_slug_tells_the_name(group_id: str) -> None:
    slug = group_slug(group_id)
    assert re.fullmatch(r"[A-Za-z0-9._~%-]+", slug)
    assert slug not in (".", "..")
    assert group_of_slug(slug) == group_id
