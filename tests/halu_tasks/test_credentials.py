"""What counts as credentials, and what is left of a text or of settings without them."""

import pytest
from cases import CASES

from halu_tasks.core.credentials import is_secret, printable, public, redacted, secret_in
from halu_tasks.core.errors import DataError
from halu_tasks.results.run import own_settings

SECRET = "s3cr3t-canary/42"


@pytest.mark.parametrize("name", CASES["names_of_credentials"])
def test_names_of_credentials(name: str) -> None:
    assert is_secret(name)
    assert public({name: SECRET, "inner": [{name: [SECRET]}], "n": 1}) == {"inner": [{}], "n": 1}
    assert own_settings({name: SECRET, "extra_body": {name: SECRET, "top_k": 5}}, [_DECODING]) == {
        "extra_body": {"top_k": 5}
    }


@pytest.mark.parametrize("name", ["max_tokens", "keywords", "author", "model", "top_k", "monkey", "tokens", "headline"])
def test_other_names_stay(name: str) -> None:
    assert not is_secret(name) and public({name: 1}) == {name: 1}


@pytest.mark.parametrize(("text", "left"), CASES["texts_keep_all_but_the_credentials"])
def test_texts_keep_all_but_the_credentials(text: str, left: str) -> None:
    assert redacted(text) == left == redacted(left)
    assert public([{"at": text}]) == [{"at": left}]
    assert str(DataError(text)) == left


def test_a_key_that_a_server_repeats_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_API_KEY", "none")
    assert redacted(f"401: no such key {SECRET}, none") == "401: no such key ***, none"


def test_where_credentials_are() -> None:
    assert secret_in("http://user:x@host/v1") == secret_in("http://host/v1?api_key=x") == ""
    assert secret_in({"client_args": {"headers": {"Authorization": "x"}}}) == "client_args: headers"
    assert secret_in({"tags": ["a", "token=s3cr3t"], "n": 1}) == "tags: 1"
    assert secret_in(["http://host:8000/v1", None, {"extra_body": [{"top_k": 5}]}]) is None


def test_a_message_moves_no_cursor() -> None:
    assert printable("a\x1b[2Jb\r\x9b1m\u202ec\udc80 é\t\n") == "a\\x1b[2Jb\\r\\x9b1m\\u202ec\\udc80 é\t\n"


class _DECODING:
    max_tokens, temperature, top_p = 1, 0.0, None
