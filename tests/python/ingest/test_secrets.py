"""Passwords and keys in notes."""

import time

import pytest

from hypertwin.ingest.secrets import looks_secret


@pytest.mark.parametrize(
    "text",
    [
        "root password: hunter2",
        "Owner: Ann\nPassword = hunter2",
        "PASSWD:hunter2",
        "admin pwd=hunter2",
        "Kennwort: Sommer2024",
        "Passwort lautet Sommer2024",
        "the password is hunter2",
        '{"secret": "abc"}',
        "api_key=abcdef",
        "API key : abcdef",
        "token=abcdef",
        "db-password => x",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "key AKIAIOSFODNN7EXAMPLE of the bucket",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_" + "a" * 20,
        "glpat-" + "a" * 16,
        "xoxb-" + "1" * 10,
        "https://ann:hunter2@example.com/x",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    ],
)
def test_a_password_or_key(text: str) -> None:
    assert looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Oracle database of the shop",
        "password in the vault",
        "the password was changed on 2024-01-01",
        "Password:",
        "password: ",
        "compass: north",
        "secretary: Ann",
        "owner: ann@example.com",
        "https://example.com:8443/x",
        "AKIA",
        "tokens",
        "admin   5.0.7.0-28213  https://10.46.29.190:8443",
    ],
)
def test_other_notes(text: str) -> None:
    assert not looks_secret(text)


@pytest.mark.parametrize(
    "text", ["pass" * 20_000, "a://" + "b:" * 40_000, "eyJ" + "a" * 70_000, "password" + " " * 70_000]
)
def test_hostile_notes_take_no_time(text: str) -> None:
    began = time.process_time()
    looks_secret(text)
    assert time.process_time() - began < 1
