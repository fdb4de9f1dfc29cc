"""Redaction: names, homes and secrets never reach a record; what is none of these stays."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamekit.host.redact import HIDDEN, Redactor
from gamekit.host.secret_names import is_secret_name

ALICE = Redactor(
    frozenset({"alice.w"}), frozenset({"/data/people/alice.w"}), frozenset({"hunter2-hunter2"})
)
NOBODY = Redactor()

# As a shell takes it without quotes, and as an argument may be.
secret_values = st.text(
    string.ascii_letters + string.digits + "._~+/-,:;=!@%^*", min_size=8, max_size=60
).filter(lambda value: not value.startswith("-"))
any_values = st.text(string.printable, min_size=8, max_size=60).filter(
    lambda value: not value.startswith("-")
)
secret_names = st.sampled_from(
    [
        "HF_TOKEN", "OPENAI_API_KEY", "api-key", "apiKey", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD",
        "admin_api_key", "WANDB_API_KEY_2", "access_token", "client_secret", "GITHUB_PAT", "passwd",
    ]
)  # fmt: skip
around = st.text(string.ascii_lowercase + " ", max_size=7)  # shorter than any secret here


@given(secret_names, secret_values, around, around, st.sampled_from(["=", ": "]))
def test_values_of_secret_names_are_taken_out(
    name: str, value: str, before: str, after: str, sign: str
) -> None:
    """Whatever stands behind KEY= or key: in a text is gone, and its name stays."""
    redacted = NOBODY.text(f"{before} {name}{sign}{value} {after}")
    assert value not in redacted.replace(HIDDEN, "")
    assert name in redacted


@given(secret_names, any_values, st.booleans())
def test_values_of_secret_flags_are_taken_out(name: str, value: str, joined: bool) -> None:
    """--api-key VALUE and --api-key=VALUE lose the value, whatever characters it has."""
    flag = f"--{name}"
    arguments = [f"{flag}={value}"] if joined else [flag, value]
    command = NOBODY.command(["sglang", "serve", *arguments, "--port", "30000"])
    hidden = [f"{flag}={HIDDEN}"] if joined else [flag, HIDDEN]
    assert command == ["sglang", "serve", *hidden, "--port", "30000"]


@given(secret_names, secret_values, st.sampled_from("= "))
def test_values_of_secret_flags_are_taken_out_of_a_text(name: str, value: str, sign: str) -> None:
    """A command within a text, such as one for --launch, loses them as well."""
    redacted = NOBODY.text(f"sglang serve --{name}{sign}{value} --port 30000")
    assert redacted == f"sglang serve --{name}{sign}{HIDDEN} --port 30000"


@given(
    secret_values, st.sampled_from(["Bearer ", "bearer  ", "Authorization: Bearer ", "X-Api-Key: "])
)
def test_bearer_headers_are_taken_out(value: str, header: str) -> None:
    """The credentials of such a header are gone."""
    assert value not in NOBODY.text(f"curl -H '{header}{value}' http://host").replace(HIDDEN, "")


@given(
    st.text(string.ascii_letters + string.digits + "!$*._-", min_size=4, max_size=30), st.booleans()
)
def test_passwords_in_urls_are_taken_out(password: str, with_user: bool) -> None:
    """user:password@ (or a token alone) in front of a host is gone, and the host stays."""
    login = f"joe:{password}" if with_user else password
    redacted = NOBODY.text(f"get https://{login}@host.example:8000/v1?x=1 now")
    assert redacted == f"get https://{HIDDEN}@host.example:8000/v1?x=1 now"


@given(
    st.text(string.ascii_lowercase + string.digits + "_-", min_size=1, max_size=20),
    st.sampled_from(["/home", "/Users"]),
)
def test_home_folders_are_taken_out(user: str, homes: str) -> None:
    """A folder below /home or /Users loses its owner's name."""
    assert NOBODY.text(f"cat {homes}/{user}/models/x") == "cat ~/models/x"


@given(st.text(max_size=200))
def test_a_second_pass_changes_nothing(text: str) -> None:
    """Redaction is idempotent."""
    once = ALICE.text(text)
    assert ALICE.text(once) == once


@given(secret_names, secret_values, st.sampled_from(["=", ": ", " "]), around)
def test_a_second_pass_changes_nothing_of_secrets(
    name: str, value: str, sign: str, after: str
) -> None:
    """Redaction is idempotent also where there was something to take out."""
    once = ALICE.text(f"--{name}{sign}{value} Bearer {value} https://{value}@h {after}")
    assert ALICE.text(once) == once


def test_the_user_and_the_home_of_this_process_are_known() -> None:
    """What the environment says of user, home and secrets is taken out wherever it stands."""
    redactor = Redactor.of_this_process(
        {"USER": "carla", "HOME": "/srv/homes/carla", "SOME_TOKEN": "opensesame"}
    )
    text = redactor.text("carla ran /srv/homes/carla/run.sh, it said: opensesame")
    assert text == f"[user] ran ~/run.sh, it said: {HIDDEN}"


def test_the_folder_of_a_shell_is_no_password() -> None:
    """PWD is where the user is: paths below it are recorded."""
    redactor = Redactor.of_this_process({"PWD": "/models", "OLDPWD": "/models/old", "HOME": "/"})
    assert redactor.text("serve /models/old/target") == "serve /models/old/target"


def test_accounts_that_are_nobodys_name_stay() -> None:
    """root, ubuntu and the like are not taken out of commands."""
    redactor = Redactor.of_this_process({"USER": "root", "HOME": "/"})
    assert redactor.text("root of the tree /usr/bin") == "root of the tree /usr/bin"


@pytest.mark.parametrize(
    "text",
    [
        "gamekit bench serving_decode --set max_tokens=128 --set requests=7",
        "SGLANG_SIMULATE_ACC_LEN=2.6 sglang serve --speculative-num-draft-tokens 4",
        "--tokenizer-path /models/hf --speculative-token-map map.pt --skip-tokenizer-init",
        "time_per_output_token=5.04 eos_token=2 http://10.1.2.3:30000/v1",
        "NCCL_ALGO=allreduce:tree NCCL_DEBUG=INFO CUDA_VISIBLE_DEVICES=0,1",
        "finished early: 57 of 128 tokens (stop)",
        "monkey=1 turkey: bird keyboard=us",
        "time_to_first_token: 30.1 forward_pass=2 key_cache=4 token_ids=7 public_key: shown",
        "Decode batch, #token: 480, token usage: 0.03, #new-token: 7, #queue-req: 0",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Commands and messages of benchmarks pass unchanged."""
    assert NOBODY.text(text) == text


@pytest.mark.parametrize(
    "token",
    [
        "hf_" + "a1B2" * 8, "sk-proj-" + "x9" * 12, "ghp_" + "Z" * 36, "glpat-" + "q" * 20,
        "AKIA" + "ABCD1234" * 2, "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "nvapi-" + "k" * 40,
    ],
)  # fmt: skip
def test_known_shapes_of_tokens_are_taken_out(token: str) -> None:
    """A token is known by its shape where no name stands before it."""
    assert NOBODY.text(f"failed with {token} today") == f"failed with {HIDDEN} today"


def test_a_megabyte_of_beginnings_of_tokens_is_read_once() -> None:
    """Text that begins a web token over and over stays, and a whole one behind it is taken out."""
    beginnings = "eyJaaaaaaaa-" * 90_000
    whole = "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"
    assert NOBODY.text(f"{beginnings} {whole}") == f"{beginnings} {HIDDEN}"


def test_data_loses_what_secret_fields_hold() -> None:
    """An engine's arguments keep their names; what a secret one holds is gone, null stays null."""
    told = {
        "api_key": "abc", "admin_api_key": None, "eos_token": "</s>",
        "nested": [{"hf_token": ["a", "b"], "model_path": "/home/joe/m"}],
    }  # fmt: skip
    assert NOBODY.data(told) == {
        "api_key": HIDDEN,
        "admin_api_key": None,
        "eos_token": "</s>",
        "nested": [{"hf_token": HIDDEN, "model_path": "~/m"}],
    }


def test_a_file_that_is_no_text_is_still_recorded() -> None:
    """Half characters of a file name become question marks, so that a record can be written."""
    assert NOBODY.text("bad \udc80 name") == "bad ? name"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('x={"api_key":"K"}', 'x={"api_key":•}'),
        ('-x \'{"a": {"api_key":"K L", "b": 1}}\'', '-x \'{"a": {"api_key":•, "b": 1}}\''),
        ('{"api_keys": ["K", "L"], "b": 1}', '{"api_keys": •, "b": 1}'),
        (r'"{\"api_key\": \"K L\", \"b\": 1}"', r'"{\"api_key\": •, \"b\": 1}"'),
        ("['serve', '--api-key', 'K', '--port', '1']", "['serve', '--api-key', •, '--port', '1']"),
        ("bash -c 'serve --api-key K --port 1'", "bash -c 'serve --api-key • --port 1'"),
        (r"-x Authorization:\ Basic\ K --port 1", "-x Authorization:• --port 1"),
        (r"Args(api_key='it\'s K', b=1)", "Args(api_key=•, b=1)"),
    ],
)
def test_secrets_within_another_value_are_taken_out(text: str, left: str) -> None:
    """JSON, lists and the command of a shell lose what their own secret names hold, and no more."""
    hidden = left.replace("•", HIDDEN)
    assert NOBODY.text(text) == hidden
    assert NOBODY.text(hidden) == hidden


@pytest.mark.parametrize("unit", ['key="\\', "key=[", 'key=\\"', "--a ", "=   ", "a'b\"-c "])
def test_a_long_line_is_read_once(unit: str) -> None:
    """A megabyte of what a value or a name begins with ends, and a secret behind it is found."""
    redactor = Redactor(secrets=frozenset({"a'b\"-c-d-e", "abc"}))
    assert "K1K1" not in redactor.text(f"{unit * (1_000_000 // len(unit))}\n api_key=K1K1")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("KEY", True), ("api_keys", True), ("MYKEY", True), ("AWS_ACCESS_KEY_ID", True),
        ("AWS_SECRET_ACCESS_KEY", True), ("-k", True), ("API_TOKENS", True), ("dbpassword", True),
        ("key_base64", True), ("keyfile", False), ("max_tokens", False), ("", False),
        ("tokenizer", False), ("key_cache", False), ("num_key_value_heads", False), ("-t", False),
        ("eos_token_id", False), ("token_ids", False), ("forward_pass", False), ("hotkey", False),
    ],
)  # fmt: skip
def test_secret_names_are_told_by_their_words(name: str, secret: bool) -> None:
    """Whole words decide, not letters inside others."""
    assert is_secret_name(name) is secret
