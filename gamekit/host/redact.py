"""Takes user names, home folders, secrets, tokens and keys out of what a run records."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gamekit.host.known_secrets import KnownSecrets, worth_knowing
from gamekit.host.named_secrets import named_secrets
from gamekit.host.secret_names import is_secret_name

HIDDEN = "[redacted]"
USER = "[user]"

_ARGUMENT = re.compile(r"(?P<name>-{0,2}[A-Za-z_][A-Za-z0-9_.\-]*)=.", re.DOTALL)
_AUTHORIZATION = re.compile(
    r"""(?i)\b((?:proxy-)?authorization["']?(?:\\?\s)*+[:=](?:\\?\s)*+["']?)"""
    r"""(?!\[redacted\](?:["'\s]|\Z))(?:[^\s"'\\]|\\(?!\s))++(?:(?:\\?[ \t])++[^\s"']+)?"""
)
_BEARER = re.compile(r"""(?i)\b(bearer(?:\\?\s)+)[^\s"']+""")
_IN_URL = re.compile(
    r"(?<![A-Za-z0-9+.\-])([A-Za-z0-9+.\-]++://)(?!\[redacted\]@)[^\s/?#\"'@]*(?:@[^\s/?#\"'@]*)*@"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL)
_SHAPES = re.compile(
    r"""\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_\-]{16,}|gh[opsur]_[A-Za-z0-9]{16,}"""
    r"""|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_\-]{16,}|xox[abprs]-[A-Za-z0-9\-]{10,}"""
    r"""|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_\-]{30,}|nvapi-[A-Za-z0-9_\-]{16,}|pypi-[A-Za-z0-9_\-]{16,})"""
)
# A run of characters without the second part is none and is taken whole all the same: where it ends
# is looked for once, and not from each eyJ in it.
_WEB_TOKEN = re.compile(
    r"\beyJ[A-Za-z0-9_\-]{8,}+(?P<rest>\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?)?"
)
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+\-])[A-Za-z0-9._%+\-]++@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+\b"
)
_HOME = re.compile(r"(?<![\w.\-])/(?:home|Users)/[^/\s:\"',;]+")
# Accounts that are nobody's name, and would be taken out of half of all commands.
_NOBODY = re.compile(
    r"(?i)root|users?|admin|administrator|ubuntu|debian|ec2-user|nobody|daemon|runner|docker"
    r"|gamekit|sglang|vllm|python|home|test|guest|service|default"
)
# Of a shell: where it is and was, and no passwords.
_FOLDERS = frozenset({"PWD", "OLDPWD"})
_SHORTEST_USER = 3


@dataclass(frozen=True)
class Redactor:
    """Knows what must not be recorded: these users, home folders and secret values.

    Everything it returns is unchanged by a second pass.
    """

    users: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of_this_process(cls, environ: Mapping[str, str] = os.environ) -> Redactor:
        """The redactor for the user, home folder and secret environment values of this process."""
        users = {environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")}
        homes = {environ.get("HOME", "")}
        try:
            account = pwd.getpwuid(os.getuid())
        except KeyError:  # a container whose user has no account
            pass
        else:
            users.add(account.pw_name)
            homes.add(account.pw_dir)
        secrets = {
            value
            for name, value in environ.items()
            if is_secret_name(name) and name not in _FOLDERS
        }
        return cls(
            frozenset(
                user
                for user in users
                if len(user) >= _SHORTEST_USER and not _NOBODY.fullmatch(user)
            ),
            frozenset(home.rstrip("/") for home in homes if len(Path(home).parts) > 1),
            worth_knowing(secrets),
        )

    def text(self, text: str) -> str:
        """``text`` without what must not be recorded, as UTF-8 can hold it."""
        text = text.encode("utf-8", "replace").decode()
        text = self._known.without(text)
        text = _PEM.sub(HIDDEN, text)
        text = _IN_URL.sub(rf"\1{HIDDEN}@", text)
        text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", text)
        text = _BEARER.sub(rf"\1{HIDDEN}", text)
        text = _without_values(text)
        text = _WEB_TOKEN.sub(lambda one: HIDDEN if one["rest"] else one[0], text)
        text = _SHAPES.sub(HIDDEN, text)
        text = _EMAIL.sub(USER, text)
        if self._homes is not None:
            text = self._homes.sub("~", text)
        text = _HOME.sub("~", text)
        return text if self._users is None else self._users.sub(USER, text)

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The arguments of a command; the one after a secret flag is taken out whole."""
        kept: list[str] = []
        hide = False
        for argument in arguments:
            if hide and not argument.startswith("--"):
                kept.append(HIDDEN)
            else:
                pair = _ARGUMENT.match(argument)
                secret = pair is not None and is_secret_name(pair["name"])
                kept.append(f"{pair['name']}={HIDDEN}" if secret and pair else self.text(argument))
            hide = argument.startswith("-") and "=" not in argument and is_secret_name(argument)
        return kept

    def data(self, value: Any, name: str = "") -> Any:
        """JSON-like data: every text redacted, and whatever a secret name holds taken out whole."""
        if name and is_secret_name(name) and value not in (None, "", False, True):
            return HIDDEN
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.data(item, str(key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(item) for item in value]
        return value

    @cached_property
    def _known(self) -> KnownSecrets:
        return KnownSecrets(self.secrets, HIDDEN)

    @cached_property
    def _users(self) -> re.Pattern[str] | None:
        return _any_of(self.users, r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])")

    @cached_property
    def _homes(self) -> re.Pattern[str] | None:
        return _any_of(self.homes, r"(?<![\w.\-])", r"(?![\w.\-])")


def _any_of(texts: Iterable[str], before: str, after: str) -> re.Pattern[str] | None:
    found = sorted(texts, key=len, reverse=True)
    if not found:
        return None
    return re.compile(f"(?i:{before}(?:{'|'.join(map(re.escape, found))}){after})")


def _without_values(text: str) -> str:
    """``text`` without what stands behind the names of secrets."""
    kept: list[str] = []
    done = 0
    for begin, end in named_secrets(text):
        kept += [text[done:begin], HIDDEN]
        done = end
    return "".join([*kept, text[done:]])
