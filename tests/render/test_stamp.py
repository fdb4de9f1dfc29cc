"""The stamp of a rendered document tells a hand edit from a stale text, by content alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.render.stamp import is_merge_conflict, is_rendered, is_untouched, stamped

BODIES = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=200).map(
    lambda text: text + "\n"
)


@given(body=BODIES)
def test_what_was_stamped_is_untouched(body):
    """A document as rendered is recognised as rendered and as untouched."""
    text = stamped("plan.md", body)
    assert is_rendered("plan.md", text)
    assert not is_rendered("copy.md", text)
    assert is_untouched("plan.md", text)
    assert text.startswith(body)


@given(body=BODIES, other=BODIES, data=st.data())
def test_any_change_of_the_body_is_an_edit(body, other, data):
    """A character put anywhere into the body makes the document edited, and still rendered."""
    text = stamped("plan.md", body)
    place = data.draw(st.integers(0, len(body) - 1))
    assert not is_untouched("plan.md", text[:place] + "x" + text[place:])
    if other != body:
        assert not is_untouched("plan.md", text.replace(body, other, 1))


def test_text_without_a_stamp_is_not_ours():
    """A file that gamekit did not write has no stamp and is not untouched."""
    assert not is_rendered("plan.md", "# Plan\n")
    assert not is_untouched("plan.md", "# Plan\n")


def test_json_carries_its_stamp_as_a_comment_key():
    """A JSON document stays JSON, and an edit of it is seen."""
    text = stamped("x.schema.json", json.dumps({"type": "object"}, indent=2) + "\n")
    assert json.loads(text)["type"] == "object"
    assert is_untouched("x.schema.json", text)
    assert not is_untouched("x.schema.json", text.replace("object", "array"))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "null", '{"$comment": 5}'])
def test_json_of_others_is_not_ours(text):
    """JSON without our comment, or no JSON at all, is not untouched."""
    assert not is_untouched("x.json", text)


def test_merge_conflict_needs_both_markers():
    """Only a text with both ends of a conflict counts as one."""
    assert is_merge_conflict("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    assert not is_merge_conflict("<<<<<<< ours\n")
    assert not is_merge_conflict("plain >>>>>>> text")
