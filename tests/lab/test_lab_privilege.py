"""Where a machine does not let the lab run, it says which setting forbids it."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleetops.lab import privilege
from fleetops.lab.privilege import LAB_UID, closed_folder, explain_refusal
from fleetops.model.exit import Exit


def test_the_first_folder_that_is_closed_to_a_uid(tmp_path: Path) -> None:
    inner = tmp_path / "closed/open/file"
    inner.parent.mkdir(parents=True)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o711)
    tmp_path.chmod(0o711)
    (tmp_path / "closed").chmod(0o700)
    assert closed_folder(inner, LAB_UID) == tmp_path / "closed"
    assert closed_folder(inner, os.geteuid()) is None
    (tmp_path / "closed").chmod(0o711)
    assert closed_folder(inner, LAB_UID) is None


def test_a_masked_proc_is_named() -> None:
    refusal = explain_refusal(OSError(errno.EPERM, "mount proc on /proc: Operation not permitted"))
    assert "/proc" in refusal.message
    assert "systempaths=unconfined" in refusal.hint
    assert refusal.exit_code is Exit.REFUSED


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    ],
)
def test_a_forbidding_setting_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, remedy: str
) -> None:
    (tmp_path / name).write_text(f"{value}\n")
    settings = [(str(tmp_path / Path(path).name), bad, fix) for path, bad, fix in privilege._SETTINGS]
    monkeypatch.setattr(privilege, "_SETTINGS", settings)
    refusal = explain_refusal(OSError(errno.EPERM, "unshare"))
    assert remedy in refusal.hint
    assert f"is {value}" in refusal.message


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privilege, "ENTERING", ("/usr/bin/nsenter", "/nonexistent/setsid"))
    with pytest.raises(privilege.LabUnavailable, match="/nonexistent/setsid") as refusal:
        privilege.check_machine()
    assert "util-linux" in refusal.value.hint


@pytest.mark.skipif(not shutil.which("unshare"), reason="no util-linux")
def test_a_machine_without_user_namespaces_gets_a_refusal_not_a_traceback(tmp_path: Path) -> None:
    """A user namespace's own root may forbid further ones: a machine that forbids them, on a small scale."""
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    done = subprocess.run(
        ["unshare", "-U", "-r", "sh", "-c", script, "sh", sys.executable, "-m", "fleetops.cli", "lab", "up"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"FLEETOPS_LAB": str(tmp_path / "lab")},
    )
    assert done.returncode == Exit.REFUSED, done
    assert "sysctl -w user.max_user_namespaces=" in done.stderr
    assert "Traceback" not in done.stderr
