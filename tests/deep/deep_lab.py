"""The deep lab: a Proxmox host in namespaces of its own, whose containers are LXC's, with lxcfs and OpenSSH.

The host is one process tree (`host/boot.sh`), held by this process: with its first process every container, mount and link
of it ends. What lies outside is one folder in each of this machine's cgroup hierarchies, and that is removed last.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deep_files import GUESTS, HOST_NAME, write_host, write_inventory, write_keys, write_node

from fleetops.lab.linux import die_with_parent

HERE = Path(__file__).parent
CGROUPS = Path("/sys/fs/cgroup")
NEEDED = (
    "lxc-start",
    "lxc-stop",
    "lxc-info",
    "lxcfs",
    "sshd",
    "ssh-keygen",
    "ip",
    "nsenter",
    "unshare",
    "pivot_root",
)
NAMESPACES = ("mount", "pid", "net", "uts", "ipc", "cgroup")
CGROUP = "fleetops-deep-"
PATIENCE_S = 20.0


PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def why_not(path: str = PATH) -> str:
    """What this machine lacks for the deep lab, "" where it has all; programs are looked for in `path`."""
    if os.geteuid() != 0:
        return "the deep lab needs root"
    missing = [name for name in NEEDED if not shutil.which(name, path=path)]
    missing += [] if Path("/usr/bin/python3").exists() else ["/usr/bin/python3"]
    if missing:
        return f"the deep lab needs {', '.join(missing)} (Debian: lxc lxcfs openssh-server iproute2 procps python3)"
    if not (CGROUPS / "memory/memory.limit_in_bytes").exists():
        return "the deep lab needs a memory hierarchy of cgroup version 1; of version 2 there are recordings"
    if not Path("/dev/fuse").exists():
        return "the deep lab needs /dev/fuse"
    return ""


@dataclass(frozen=True)
class DeepLab:
    """The lab while it is up.

    Attributes:
        pid: the host's first process, as this machine counts.
        cgroup: the name of its folder in each of this machine's hierarchies.
    """

    folder: Path
    pid: int
    cgroup: str

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory"

    @property
    def root(self) -> Path:
        """The host's own root folder, seen from here."""
        return Path(f"/proc/{self.pid}/root")

    def operator(self) -> list[str]:
        """What a command of the operator's begins with: a network that reaches the lab's hosts and nothing else."""
        return operator(self.pid)

    def on_host(self, *argv: str, check: bool = True, stdin: str = "") -> str:
        """What a command prints in the host, in its cgroups like what it starts itself."""
        words = [
            "nsenter",
            f"--target={self.pid}",
            *(f"--{name}" for name in NAMESPACES),
            "--root",
            "--wdns=/",
        ]
        done = subprocess.run(
            [*words, "--", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *argv],
            preexec_fn=lambda: join(self.cgroup),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, (argv, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def in_node(self, guest_id: int, *argv: str, check: bool = True, stdin: str = "") -> str:
        """What a command prints inside a container, without SSH."""
        return self.on_host("lxc-attach", "-n", str(guest_id), "--", *argv, check=check, stdin=stdin)

    def init_of(self, guest_id: int) -> int:
        """The container's first process as the host counts."""
        return int(self.on_host("lxc-info", "-n", str(guest_id), "-p", "-H"))

    def fresh(self, guest_id: int, limit_bytes: int) -> None:
        """A clean node, up and answering SSH."""
        files = self.folder / f"node-{guest_id}"
        shutil.copytree(files, self.root / f"run/files-{guest_id}", dirs_exist_ok=True)
        self.on_host("/etc/deep/fresh", str(guest_id), f"/run/files-{guest_id}", str(limit_bytes))
        self.await_ssh(f"10.99.0.{guest_id}")

    def await_ssh(self, address: str) -> None:
        """Until an SSH server says its name there."""
        knock = f"import socket; print(socket.create_connection(({address!r}, 22), 1).recv(4).decode())"
        deadline = time.monotonic() + PATIENCE_S
        while True:
            done = subprocess.run(
                [*self.operator(), "/usr/bin/python3", "-I", "-S", "-c", knock],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.stdout.startswith("SSH-"):
                return
            assert time.monotonic() < deadline, (address, done.stderr)
            time.sleep(0.05)


@contextlib.contextmanager
def deep_lab(folder: Path) -> Iterator[DeepLab]:
    """The lab, up; gone afterwards, whatever happened in it. `folder` is empty and has a name of its own."""
    write_keys(folder)
    write_inventory(folder)
    write_host(folder)
    for guest_id in GUESTS:
        write_node(folder, guest_id)
    cgroup = f"{CGROUP}{os.getpid()}-{folder.name}"
    _sweep()
    process = _boot(folder, cgroup)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said == b"up\n", (folder / "boot.log").read_text()
        first = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        lab = DeepLab(folder, int(first[0]), cgroup)
        (folder / "pid").write_text(str(lab.pid))
        lab.await_ssh("10.99.0.1")
        yield lab
    finally:
        _end(process)
        _leave(cgroup)


def operator(pid: int) -> list[str]:
    """The same, of the lab whose host's first process is `pid`."""
    return ["nsenter", f"--net=/proc/{pid}/root/run/netns/operator"]


def _boot(folder: Path, cgroup: str) -> "subprocess.Popen[bytes]":
    """Start the host in namespaces of its own; it says `up` once it is."""
    (folder / "run").mkdir()
    words = [
        "unshare",
        *(f"--{name}" for name in NAMESPACES),
        "--fork",
        "--kill-child",
        "sh",
        str(HERE / "host/boot.sh"),
    ]
    with (folder / "boot.log").open("wb") as log:
        return subprocess.Popen(
            [*words, str(folder / "run"), str(folder / HOST_NAME), masked(), *map(str, GUESTS)],
            preexec_fn=lambda: (die_with_parent(), join(cgroup)),  # noqa: PLW1509 - no thread is there yet
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
        )


def masked() -> str:
    """Folders of this machine that are nobody's business there: homes, work, what runs, what was logged."""
    own = {f"/{Path(each).resolve().parts[1]}" for each in (HERE, Path.cwd())} - {
        "/usr",
        "/var",
        "/etc",
        "/opt",
    }
    return ":".join(
        sorted(
            {
                "/root",
                "/home",
                "/mnt",
                "/media",
                "/srv",
                "/tmp",
                "/run",
                "/var/log",
                "/var/tmp",
                "/var/lib/lxc",
                *own,
            }
        )
    )


def _own_cgroups(name: str) -> list[Path]:
    """The lab's folder in each hierarchy of version 1, below this process's own."""
    found = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers:
            found.append(CGROUPS / controllers.removeprefix("name=") / path.strip("/") / name)
    return found


def join(name: str) -> None:
    """Put this process into the lab's cgroups, made where they are not there yet."""
    for folder in _own_cgroups(name):
        if not folder.exists():
            folder.mkdir()
            if folder.is_relative_to(CGROUPS / "cpuset"):
                for each in ("cpuset.cpus", "cpuset.mems"):
                    (folder / each).write_text((folder.parent / each).read_text())
        (folder / "cgroup.procs").write_text(str(os.getpid()))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL the lab's first process, and wait until the kernel has ended all that was under it."""
    process.send_signal(signal.SIGKILL)  # unshare ends, and takes the first process along
    process.wait(PATIENCE_S)
    if process.stdout:
        process.stdout.close()


def _leave(name: str) -> None:
    """Remove the lab's cgroups, once the last process has left them."""
    deadline = time.monotonic() + PATIENCE_S
    for top in _own_cgroups(name):
        _thaw(top)
    for top in _own_cgroups(name):
        while not _remove(top):
            assert time.monotonic() < deadline, f"{top} is not empty: {(top / 'cgroup.procs').read_text()}"
            time.sleep(0.01)


def _sweep() -> None:
    """Remove the cgroups that a lab left whose process was killed."""
    found = [each for top in _own_cgroups("") for each in top.glob(f"{CGROUP}*")]
    left = [one for one in found if not Path(f"/proc/{one.name.removeprefix(CGROUP).split('-')[0]}").exists()]
    for each in left:
        _thaw(each)
    for each in left:
        _remove(each)


def _thaw(top: Path) -> None:
    """What a test froze heeds no signal, not even SIGKILL, until it is thawed."""
    for state in top.rglob("freezer.state"):
        with contextlib.suppress(FileNotFoundError):
            state.write_text("THAWED")


def _remove(top: Path) -> bool:
    """Remove a cgroup and those below it; whether it is gone."""
    for folder in (*sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True), top):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return not top.exists()
