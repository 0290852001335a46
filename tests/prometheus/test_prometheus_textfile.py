"""`--textfile`: whoever reads at whatever moment reads one sweep whole; a failed write leaves the old one."""

import os
import stat
import threading
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sweep_scenes import host, sweep

from fleetops.cli._publishing import publishing, textfile
from fleetops.cli._textfile import must_be_writable, write_textfile
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.exit import Exit


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fleetops.prom"


def test_everybody_may_read_it_and_nothing_is_left_beside_it(file):
    old = os.umask(0o077)
    try:
        write_textfile(file, textfile(sweep()))
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert list(file.parent.iterdir()) == [file]
    assert list(text_string_to_metric_families(file.read_text()))


def test_a_reader_never_sees_a_part_of_one(file):
    """Two texts of different length, written in turns while another thread reads: it only ever sees one or the other."""
    small = textfile(sweep())
    large = textfile(sweep(hosts=[host(f"node-{number}") for number in range(400)]))
    write_textfile(file, small)
    seen, done = set(), threading.Event()

    def look():
        while not done.is_set():
            seen.add(file.read_bytes())

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for _ in range(60):
            write_textfile(file, large)
            write_textfile(file, small)
    finally:
        done.set()
        reader.join()
    assert seen <= {small, large}
    assert seen


def test_what_is_being_written_is_in_no_file_that_node_exporter_reads(file, monkeypatch):
    beside = []
    monkeypatch.setattr(os, "fsync", lambda _: beside.extend(file.parent.iterdir()))
    write_textfile(file, b"x 1\n")
    assert beside[0].suffix != ".prom"


def test_it_is_on_the_disk_before_it_has_its_name(file, monkeypatch):
    order, sync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda one: (order.append("fsync"), sync(one)))
    monkeypatch.setattr(Path, "replace", lambda one, to: (order.append("replace"), replace(one, to)))
    write_textfile(file, b"x 1\n")
    assert order == ["fsync", "replace", "fsync"]


def test_a_full_disk_leaves_the_old_one_and_no_draft(file, monkeypatch):
    write_textfile(file, b"old 1\n")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FleetopsError, match="No space left on device"):
        write_textfile(file, b"new 1\n")
    assert file.read_bytes() == b"old 1\n"
    assert list(file.parent.iterdir()) == [file]


def test_sweeps_go_on_where_it_cannot_be_written_and_say_so(file, monkeypatch):
    told = []
    with publishing(file=file, address=None, every_s=None, clock=lambda: 0.0, tell=told.append) as publish:
        assert publish(sweep()) is Exit.FINE
        monkeypatch.setattr("tempfile.mkstemp", _refused)
        assert publish(sweep()) is Exit.FAILED
    assert len(told) == 1
    assert "Read-only file system" in told[0]


def _refused(**_):
    raise OSError(30, "Read-only file system")


def _link(folder):
    (folder / "link.prom").symlink_to("/dev/null")
    return folder / "link.prom"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda folder: folder / "nowhere/fleetops.prom", "there is no folder"),
        (lambda folder: folder, "no ordinary file"),
        (_link, "no ordinary file"),
        (lambda folder: Path("/dev/null"), "no ordinary file"),
    ],
    ids=["no folder", "a folder", "a link", "a device"],
)
def test_what_can_never_be_written_is_said_before_the_first_sweep(tmp_path, make, told):
    with pytest.raises(UsageError, match=told):
        must_be_writable(make(tmp_path))


def test_a_name_that_node_exporter_does_not_read_is_noted(tmp_path):
    told = []
    with publishing(
        file=tmp_path / "fleetops.txt", address=None, every_s=None, clock=lambda: 0.0, tell=told.append
    ):
        pass
    assert "*.prom" in told[0]
