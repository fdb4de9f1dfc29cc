"""Tells by the name of a variable, flag, header or field whether it holds a secret."""

from __future__ import annotations

import re

# api_key, apiKey-2 and API_KEY_2 have the same words.
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ANYWHERE = re.compile(
    r"(?:secrets?|passwords?|passwd|passphrase|credentials?|apikeys?|authorization)"
)
_AT_END = re.compile(r"(?:keys?|tokens?|auth|pat|pwd|pass|cookies?|bearer)")
# mykey and DBPASSWORD, where nothing parts the words.
_GLUED = re.compile(r"\w+(?:key|token|secret|password|passwd|passphrase)")
# What says which of several keys it is, or how it is written.
_BEHIND = re.compile(
    r"b|base|hex|raw|plain|string|old|new|prod|production|staging|dev|primary|secondary"
)
_ENGLISH = re.compile(r"(?:mon|tur|don|hoc|joc|whis|lac|hot|pub|sub|sort|group|row)key")
# What makes of the word behind it something that opens no door: tokens that a model reads, keys of
# a table or of an attention, passes of a network.
_HARMLESS_BEFORE = {
    "token": re.compile(
        r"output|input|draft|prompt|eos|bos|pad|per|stop|mask|unk|image|audio|video|new|first|last"
        r"|next|inter|special|start|end|begin|sep|cls|tool|think|cached|accepted|generated|decoded"
        r"|each"
    ),
    "key": re.compile(
        r"public|sort|cache|group|partition|routing|hash|dict|foreign|map|config|query|missing"
        r"|unexpected|weight|param|metric|label"
    ),
    "pass": re.compile(r"forward|backward|first|second|prefill|decode|warmup|draft|verify"),
}
# Of tokens in the plural only these: max_tokens counts what a model reads.
_OF_DOORS = frozenset({"api", "access", "auth", "admin", "refresh", "bearer", "hf"})


def is_secret_name(name: str) -> bool:
    """Whether a variable, flag or field of that name holds something that must not be recorded.

    The words of the name decide, parted by signs or by capitals. Secret is one that has ``secret``,
    ``password``, ``passwd``, ``passphrase``, ``credential``, ``apikey`` or ``authorization``
    anywhere, or ends with ``key``, ``token``, ``auth``, ``pat``, ``pwd``, ``pass``, ``cookie`` or
    ``bearer``; behind these may stand what says which one it is or how it is written
    (``ACCESS_KEY_ID``, ``key_base64``). A last word that ends with ``key``, ``token`` or a word of
    the first kind counts as well (``MYKEY``), and so does the flag ``-k``.

    Harmless are the names that models and tables know: tokens that are read (``max_tokens``,
    ``eos_token``, ``token_id``), ``public_key``, ``cache_key``, ``forward_pass``; and what only
    begins with such a word, or holds it within another: ``tokenizer``, ``key_cache``, ``keyfile``.
    """
    if name == "-k":
        return True
    words = [word.lower() for word in _WORDS.findall(name)]
    if any(map(_ANYWHERE.fullmatch, words)):
        return True
    while len(words) > 1 and (_BEHIND.fullmatch(words[-1]) or words[-2:] == ["key", "id"]):
        del words[-1]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "tokens":
        return before in _OF_DOORS
    if _AT_END.fullmatch(last):
        harmless = _HARMLESS_BEFORE.get("key" if last == "keys" else last)
        return harmless is None or not harmless.fullmatch(before)
    return (
        _GLUED.fullmatch(last) is not None
        and not _ENGLISH.fullmatch(last)
        and not _HARMLESS_BEFORE["token"].fullmatch(last.removesuffix("token"))
    )
