"""known_hosts as OpenSSH writes and reads it."""

import base64
import stat
import subprocess
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.model.errors import FleetopsError
from fleetops.ssh.known_hosts import HostKey, KnownHosts, Verdict, parse, record_name

BODY, OTHER = (base64.b64encode(text).decode() for text in (b"key", b"another"))
KEY = HostKey("ssh-ed25519", BODY)


def verdict(tmp_path, text, name, key=KEY):
    file = tmp_path / "known_hosts"
    file.write_text(text)
    return KnownHosts().verdict([file], name, key)


def test_a_port_other_than_22_belongs_to_the_name():
    assert record_name("10.1.230.174", 22) == "10.1.230.174"
    assert record_name("10.1.230.174", 2222) == "[10.1.230.174]:2222"


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        ("node-174", "node-174", Verdict.KNOWN),
        ("node-174", "NODE-174", Verdict.KNOWN),
        ("10.1.230.174,node-174", "node-174", Verdict.KNOWN),
        ("[node-174]:2222", "[node-174]:2222", Verdict.KNOWN),
        ("[node-174]:2222", "node-174", Verdict.UNKNOWN),
        ("*.example.com", "a.example.com", Verdict.KNOWN),
        ("*.example.com,!b.example.com", "b.example.com", Verdict.UNKNOWN),
        ("[*.example.com]:2222", "[a.example.com]:2222", Verdict.KNOWN),
        ("node-17?", "node-174", Verdict.KNOWN),
        ("node-175", "node-174", Verdict.UNKNOWN),
    ],
)
def test_names_and_patterns(tmp_path, names, name, expected):
    assert verdict(tmp_path, f"{names} ssh-ed25519 {BODY} comment\n", name)[0] is expected


def test_the_place_of_a_record_is_told(tmp_path):
    text = f"# a comment\n\nnode-174 ssh-ed25519 {OTHER}\n"
    assert verdict(tmp_path, text, "node-174") == (Verdict.CHANGED, f"{tmp_path}/known_hosts:3")


def test_one_matching_key_among_several_is_enough(tmp_path):
    text = f"node-174 ssh-rsa {OTHER}\nnode-174 ssh-ed25519 {BODY}\n"
    assert verdict(tmp_path, text, "node-174")[0] is Verdict.KNOWN


def test_revoked_wins_over_known(tmp_path):
    text = f"node-174 ssh-ed25519 {BODY}\n@revoked * ssh-ed25519 {BODY}\n"
    assert verdict(tmp_path, text, "node-174")[0] is Verdict.REVOKED


def test_a_certificate_authority_is_no_host_key(tmp_path):
    assert verdict(tmp_path, f"@cert-authority * ssh-ed25519 {BODY}\n", "node-174")[0] is Verdict.UNKNOWN


def test_names_hashed_by_openssh_are_found(tmp_path):
    file = tmp_path / "known_hosts"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    kind, body, *_ = (tmp_path / "key.pub").read_text().split()
    file.write_text(f"node-174,[10.1.230.174]:2222 {kind} {body}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    assert "node-174" not in file.read_text()
    for name in ("node-174", "[10.1.230.174]:2222"):
        assert KnownHosts().verdict([file], name, HostKey(kind, body))[0] is Verdict.KNOWN
    assert KnownHosts().verdict([file], "node-175", HostKey(kind, body))[0] is Verdict.UNKNOWN


def test_the_fingerprint_is_ssh_keygens(tmp_path):
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    kind, body, *_ = (tmp_path / "key.pub").read_text().split()
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", tmp_path / "key.pub"], check=True, capture_output=True, text=True
    ).stdout
    assert HostKey(kind, body).fingerprint == shown.split()[1]


@given(st.text())
def test_no_text_is_too_odd_to_read(text):
    list(parse(text))


def test_a_file_that_cannot_be_read_is_an_error_not_an_unknown_host(tmp_path):
    with pytest.raises(FleetopsError, match="cannot read the known host keys"):
        KnownHosts().verdict([tmp_path], "node-174", KEY)


def test_a_missing_file_records_nothing(tmp_path):
    assert KnownHosts().verdict([tmp_path / "none"], "node-174", KEY) == (Verdict.UNKNOWN, "")


def test_recording_appends_privately_and_is_seen_at_once(tmp_path):
    file = tmp_path / "new" / "known_hosts"
    records = KnownHosts()
    assert records.verdict([file], "node-174", KEY)[0] is Verdict.UNKNOWN
    records.record(file, "node-174", KEY)
    assert records.verdict([file], "node-174", KEY)[0] is Verdict.KNOWN
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_recording_keeps_every_byte_that_was_there(tmp_path):
    file = tmp_path / "known_hosts"
    file.write_bytes(b"# caf\xe9\nnode-1 ssh-ed25519 " + OTHER.encode())  # neither UTF-8 nor a last newline
    KnownHosts().record(file, "node-174", KEY)
    before, line = file.read_bytes().rsplit(b"\n", 2)[:2]
    assert before == b"# caf\xe9\nnode-1 ssh-ed25519 " + OTHER.encode()
    assert line == f"node-174 ssh-ed25519 {BODY}".encode()


def test_recording_follows_a_link(tmp_path):
    (tmp_path / "real").write_text("")
    (tmp_path / "known_hosts").symlink_to("real")
    KnownHosts().record(tmp_path / "known_hosts", "node-174", KEY)
    assert (tmp_path / "known_hosts").is_symlink()
    assert "node-174" in (tmp_path / "real").read_text()


def test_records_made_at_once_do_not_lose_one_another(tmp_path):
    file = tmp_path / "known_hosts"
    threads = [
        threading.Thread(target=KnownHosts().record, args=(file, f"node-{number}", KEY))
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {line.split()[0] for line in file.read_text().splitlines()} == {
        f"node-{number}" for number in range(20)
    }
