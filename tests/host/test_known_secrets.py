"""Secrets of a command are found wherever it holds them, and known again however written."""

from __future__ import annotations

import json
import shlex
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.host.known_secrets import secrets_of, worth_knowing
from gamekit.host.redact import HIDDEN, Redactor


def knowing(*secrets: str) -> Redactor:
    """A redactor that knows these."""
    return Redactor(secrets=worth_knowing(secrets))


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "KEY1"],
        ["--api-key=KEY1"],
        ["-k", "KEY1"],
        ["MYKEY=KEY1"],
        ["AWS_ACCESS_KEY_ID=KEY1"],
        ["--extra", '{"api_key": "KEY1"}'],
        ["--extra={'a': [{'x': 1, 'api_key': 'KEY1'}]}"],
        ["--extra", '{"headers": {"Authorization": "Bearer KEY1"}}'],
        ["--extra", '{"arguments": "--api-key KEY1"}'],
        ["--extra={api_key:KEY1, x:1}"],
        ["--header", "Authorization: Bearer KEY1"],
        ["--header", "X-Api-Key: KEY1"],
        ["bash", "-c", 'TOKEN=KEY1 serve --extra \'{"api_key": "KEY1"}\''],
    ],
)
def test_secrets_are_found_wherever_a_command_holds_them(words: list[str]) -> None:
    """Behind flags, signs and headers, in JSON and in the command of a shell, beside others."""
    assert "KEY1" in set(secrets_of(["serve", "--password", "other", *words, "--port", "1"]))


@pytest.mark.parametrize("text", ['{"max_tokens": "KEY1"}', "{", "[[[", "--port KEY1", "a: KEY1"])
def test_what_no_secret_name_holds_is_no_secret(text: str) -> None:
    """Other values of a command are none, and what is no JSON either does not matter."""
    assert list(secrets_of([text])) == []


odd_secrets = st.text(string.ascii_letters + "'\"\\ /é%€😀\n-", min_size=10, max_size=30).filter(
    lambda one: one.strip() == one and sum(char.isalpha() for char in one) > 5
)


@given(odd_secrets)
def test_secrets_are_known_again_however_they_are_written(secret: str) -> None:
    """Python, JSON, a shell and a URL write quotes, backslashes and other signs differently."""
    writings = [
        secret, repr(secret), repr(f"'{secret}'"), repr(f"\"'{secret}"), ascii(secret),
        json.dumps(secret), json.dumps(secret, ensure_ascii=False), json.dumps(json.dumps(secret)),
        repr(json.dumps(secret)), shlex.quote(secret), quote(secret), quote(secret, safe=""),
    ]  # fmt: skip
    for written in writings:
        hidden = knowing(secret).text(f"before <{written}> behind")
        assert "before" in hidden
        assert "behind" in hidden
        assert hidden.removeprefix("before <").removesuffix("> behind").strip("'\"\\") == HIDDEN


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("api='abc', x=1", f"api='{HIDDEN}', x=1"),
        ("['serve', 'abc']", f"['serve', '{HIDDEN}']"),
        ("serve --with abc --port 1", f"serve --with {HIDDEN} --port 1"),
        ("given: abc", f"given: {HIDDEN}"),
        ('{"given": "abc"}', f'{{"given": "{HIDDEN}"}}'),
        ("abc", HIDDEN),
    ],
)
def test_a_short_secret_is_hidden_where_it_stands_as_a_value(text: str, hidden: str) -> None:
    """Whole, behind a sign, a quote or a flag."""
    assert knowing("abc").text(text) == hidden


@pytest.mark.parametrize(
    "text",
    ["INFO: abc is a word", "the abc of it", "x=abcd", "path=/models/abc-7b", "abcabc", "a=abc.de"],
)
def test_a_short_secret_leaves_words_as_they_are(text: str) -> None:
    """What is part of a sentence, of another word or of a path is no value of its own."""
    assert knowing("abc").text(text) == text


def test_what_stands_for_no_secret_is_not_searched_for() -> None:
    """``None``, ``true`` and the like are values of many arguments, and so are single digits."""
    text = "Namespace(api_base=None, x=true, tp=8)"
    assert knowing("None", "true", "8").text(text) == text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("key sk-proj-a1b2c3...", f"key {HIDDEN}..."),
        ("key sk-proj-… was", f"key {HIDDEN}… was"),
        ("partial sk-proj-a1b2 D4e5f6G7h8i9", f"partial {HIDDEN} {HIDDEN}"),
        ("***G7h8i9J0", f"***{HIDDEN}"),
        ("'sk-proj-a1b2...h8i9J0'", f"'{HIDDEN}...h8i9J0'"),
    ],
)
def test_the_beginning_and_the_end_of_a_secret_are_hidden(text: str, hidden: str) -> None:
    """An engine that prints a key cut gives away no more than a few characters of it."""
    assert knowing("sk-proj-a1b2c3D4e5f6G7h8i9J0", "xxD4e5f6G7h8i9").text(text) == hidden


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("password123456", "the password is wrong"),
        ("sk-proj-a1b2c3D4e5f6", "sk-proj-other"),
        ("/models/keys/mine1", "ls /models/other2"),
    ],
)
def test_what_a_secret_only_begins_like_stays(secret: str, text: str) -> None:
    """Words, paths and the beginnings that all keys of a kind have are not pieces of one."""
    assert knowing(secret).text(text) == text


@given(odd_secrets, st.text("abc'\"\\=: .-", max_size=30))
def test_a_second_pass_changes_nothing(secret: str, around: str) -> None:
    """Redaction is idempotent with odd, short and cut secrets as well."""
    redactor = knowing(secret, "abc", "b-c")
    once = redactor.text(f"{around}{secret}{around}{secret[:9]}...{around}--x abc")
    assert redactor.text(once) == once
