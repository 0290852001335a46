"""The facts' commands on real processes: zombies, leaders that are gone while threads live, ports, shared memory."""

import socket
import sys
import time
from dataclasses import replace

import pytest

from fleetops.facts import (
    engine_source,
    holders,
    host_holders,
    identity,
    listeners,
    memory,
    processes,
    segments,
)
from fleetops.model.fact import Missing

MIB = 2**20


def process_of(table, pid):
    return next(process for process in table if process.pid == pid)


def wait_until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it did not come about in 20 s"


def test_a_running_process_is_read_with_its_argv_as_it_is(host):
    argv = ["sh", "-c", "sleep 1000; :", "a b", "", "new\nline", "(x) S 1"]
    pid, _ = host.start("program", argv=argv)
    process = process_of(host.read(processes.FACT), pid)
    assert process.cmdline == tuple(argv)
    assert process.is_alive
    assert process.sid == process.pgid == pid
    assert process.rss_bytes > 100_000


def test_a_name_with_parentheses_blanks_and_newlines_does_not_confuse(host):
    pid, _ = host.start("idle", comm="a) R 1\n(b c")
    process = process_of(host.read(processes.FACT), pid)
    assert process.comm == "a) R 1\n(b c"
    assert process.state == "S"
    assert process.ppid == 1


def test_a_zombie_whose_parent_does_not_wait_is_dead_and_holds_nothing(host):
    pid, _ = host.start("zombie", comm="sglang::schedul")
    host.wait_for_state(pid, "Z")
    process = process_of(host.read(processes.FACT), pid)
    assert (process.comm, process.cmdline, process.rss_bytes) == ("sglang::schedul", (), 0)
    assert process.is_zombie
    assert not process.is_ghost_leader
    assert not process.is_alive


def test_a_zombie_leader_with_a_live_thread_still_holds_memory_device_port_and_segment(host):
    shm = "/dev/shm/sgl_shm_mm_4_ab12"
    pid, (port, tid, *_) = host.start("ghost", shm=shm, size_bytes=32 * MIB)
    host.wait_for_state(pid, "Z")

    process = process_of(host.read(processes.FACT_WITH_PSS), pid)
    assert process.is_ghost_leader
    assert process.rss_bytes == 0
    assert [(thread.tid, thread.state) for thread in process.live_threads] == [(tid, "S")]
    assert process.live_threads[0].rss_bytes > 32 * MIB
    assert process.pss_bytes > 32 * MIB

    held = [one for one in host.read(holders.FACT) if one.pid == pid]
    assert [(one.tid, one.path) for one in held] == [(tid, "/dev/nvidia0")]

    assert [one.owners for one in host.read(listeners.FACT) if one.port == port] == [(pid,)]

    (segment,) = host.read(segments.FACT)
    assert (segment.name, segment.creator_pid, segment.mappers) == (shm, 4, (pid,))


def test_a_process_in_the_kernel_that_no_signal_reaches_shows_as_d(host):
    pid, _ = host.start("stuck", wait=False)
    host.wait_for_state(pid, "D")
    process = process_of(host.read(processes.FACT), pid)
    assert (process.state, process.is_alive) == ("D", True)


def test_the_reading_does_not_show_itself(host):
    table = host.read(processes.FACT)
    assert [process.pid for process in table] == [1]


def test_pss_is_read_only_where_it_is_asked_for(host):
    pid, _ = host.start("idle")
    assert process_of(host.read(processes.FACT), pid).pss_bytes is None
    assert process_of(host.read(processes.FACT_WITH_PSS), pid).pss_bytes > 0


def test_a_command_line_that_blocks_costs_only_itself(host, tmp_path):
    """`timeout` here says that it had to end the first reading, and afterwards each reading of the blocked one."""
    blocked, _ = host.start("program", argv=["sh", "-c", "sleep 1000; :", "blocked"])
    other, _ = host.start("program", argv=["sh", "-c", "sleep 1000; :", "other"])
    fake = tmp_path / "timeout"
    fake.write_text(
        "#!/bin/sh\n"
        "shift 3\n"
        f'case "$*" in *" "*/cmdline*cmdline*) exit 124 ;; */proc/{blocked}/cmdline) exit 124 ;; esac\n'
        'exec "$@"\n'
    )
    fake.chmod(0o755)
    table = host.read(processes.FACT, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert process_of(table, blocked).cmdline == ()
    assert process_of(table, other).cmdline[-1] == "other"


def test_holders_are_told_by_process_and_file(host):
    pid, _ = host.start("holder", paths=["/dev/nvidia0", "/dev/nvidia0", "/dev/nvidiactl", "/dev/null"])
    found = host.read(holders.FACT)
    assert [(one.pid, one.tid, one.path) for one in found] == [
        (pid, pid, "/dev/nvidia0"),
        (pid, pid, "/dev/nvidiactl"),
    ]


def proxmox_tools(folder, init_pid):
    """pct and lxc-info of a host on which container 174 runs, with this first process, and 175 does not."""
    (folder / "pct").write_text(
        "#!/bin/sh\n"
        "echo 'VMID       Status     Lock         Name'\n"
        "echo '174        running                 node-174'\n"
        "echo '175        stopped    backup       node-175'\n"
    )
    (folder / "lxc-info").write_text(f'#!/bin/sh\ntest "$2" = 174 && echo {init_pid}\n')
    for tool in ("pct", "lxc-info"):
        (folder / tool).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_a_hypervisor_tells_a_containers_holder_from_its_own(host, tmp_path):
    own, _ = host.start("holder", paths=["/dev/nvidiactl"])
    _, (init,) = host.start("container", paths=["/dev/nvidia1"])
    path = proxmox_tools(tmp_path, init)
    wait_until(lambda: len(host.read(holders.FACT)) == 2)
    found = {one.path: one for one in host.read(host_holders.FACT, PATH=path)}
    assert (found["/dev/nvidiactl"].pid, found["/dev/nvidiactl"].guest_id) == (own, None)
    assert (found["/dev/nvidia1"].comm, found["/dev/nvidia1"].guest_id) == ("python3", 174)


def test_a_process_below_a_container_belongs_to_it(host, tmp_path):
    """As with Docker in the container: the process lives in a further pid namespace."""
    _, (init,) = host.start("container", paths=["/dev/nvidia1"], depth=2)
    path = proxmox_tools(tmp_path, init)
    wait_until(lambda: host.read(holders.FACT))
    (found,) = host.read(host_holders.FACT, PATH=path)
    assert found.guest_id == 174


def test_nobody_holds_a_device_on_an_idle_host(host):
    assert host.read(holders.FACT) == ()


def test_holders_that_may_not_be_looked_at_are_unknown_not_nobody(host, tmp_path):
    """As for a login without root: the kernel denies the descriptors of other users' processes."""
    denied = "find: '/proc/9/fd/0': Permission denied"
    outcome = replace(host.outcome(holders.FACT), stderr=f"{denied}\n")
    reading = holders.FACT.read(outcome)
    assert isinstance(reading, Missing)
    assert "root" in reading.why


def test_holders_are_found_without_a_find_that_prints(host, tmp_path):
    """As on a machine with BusyBox: `ls -l` tells the same."""
    pid, _ = host.start("holder", paths=["/dev/nvidia1"])
    fake = tmp_path / "find"
    fake.write_text('#!/bin/sh\necho "find: unrecognized: -printf" >&2\nexit 1\n')
    fake.chmod(0o755)
    found = host.read(holders.FACT, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert [(one.pid, one.path) for one in found] == [(pid, "/dev/nvidia1")]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_a_listening_port_is_told_with_address_and_owner(host, address):
    if ":" in address and not socket.has_ipv6:
        pytest.skip("no IPv6")
    pid, (port,) = host.start("listener", address=address)
    (found,) = host.read(listeners.FACT)
    assert (found.port, found.address, found.owners) == (port, address, (pid,))


def test_a_port_that_no_descriptor_shows_has_no_owner(host):
    _, (port, _) = host.start("unowned")
    (found,) = host.read(listeners.FACT)
    assert (found.port, found.owners) == (port, ())


def test_a_segment_whose_maker_is_dead_and_that_nobody_maps(host):
    maker, _ = host.start("zombie")
    name = f"/dev/shm/multi_tokenizer_args_{maker}"
    host.run(["sh", "-c", 'head -c 5000 /dev/zero > "$1"', "make", name])
    (segment,) = host.read(segments.FACT)
    assert (segment.name, segment.kind, segment.size_bytes) == (name, "posix", 5000)
    assert (segment.creator_pid, segment.mappers) == (maker, ())
    assert 0 <= segment.age_s < 60


def test_a_segment_mapped_but_not_open_and_one_open_but_not_mapped(host):
    mapper, _ = host.start("mapper", path="/dev/shm/psm_1 2")
    opener, _ = host.start("holder", paths=["/dev/shm/new\nline"])
    found = {segment.name: segment.mappers for segment in host.read(segments.FACT)}
    assert found == {"/dev/shm/psm_1 2": (mapper,), "/dev/shm/new\nline": (opener,)}


def test_a_process_whose_mappings_cannot_be_read_counts_as_mapper_of_all(host, tmp_path):
    pid, _ = host.start("idle")
    host.run(["sh", "-c", ": > /dev/shm/psm_1"])
    fake = tmp_path / "timeout"
    fake.write_text(
        "#!/bin/sh\n"
        "shift 3\n"
        f'case "$*" in */maps*maps*) exit 124 ;; */proc/{pid}/maps) exit 124 ;; esac\n'
        'exec "$@"\n'
    )
    fake.chmod(0o755)
    (segment,) = host.read(segments.FACT, PATH=f"{tmp_path}:/usr/bin:/bin")
    assert segment.mappers == (pid,)


def test_a_sysv_segment_is_told_with_maker_and_mapper(host):
    pid, (number,) = host.start("sysv")
    (segment,) = host.read(segments.FACT)
    assert (segment.name, segment.kind, segment.size_bytes) == (f"sysv:{number}", "sysv", 4096)
    assert (segment.creator_pid, segment.mappers) == (pid, (pid,))


def test_memory_and_identity_of_this_machine(host):
    assert host.read(memory.FACT).total_bytes > 0
    assert host.read(identity.FACT).uptime_s > 0


def make_package(folder, name="sglang"):
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    return package


def test_an_engine_is_found_in_the_folder_that_is_named(host, tmp_path):
    package = make_package(tmp_path / "with blank")
    (package.parent / "sglang-0.5.9.dist-info").mkdir()
    for named in (package, package.parent, f"{package}/"):
        found = host.read(engine_source.fact("sglang", str(named)))
        assert (found.version, found.folder) == ("0.5.9", str(package))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("version.py", '__version__ = "0.4.6.post2"\n'),
        ("_version.py", "__version__ = version = '0.4.6.post2'\n"),
        ("_version.py", "version: str\n__version__: str = '0.4.6.post2'\n"),
    ],
)
def test_an_engine_without_installation_record_tells_its_own_version(host, tmp_path, file, text):
    package = make_package(tmp_path)
    (package / file).write_text(text)
    assert host.read(engine_source.fact("sglang", str(tmp_path))).version == "0.4.6.post2"


def test_an_engine_whose_release_nothing_tells_has_an_empty_version(host, tmp_path):
    make_package(tmp_path)
    assert host.read(engine_source.fact("sglang", str(tmp_path))).version == ""


def test_an_engine_is_found_through_its_running_server_without_importing_it(host, tmp_path):
    package = make_package(tmp_path, "enginename")
    (package / "version.py").write_text('__version__ = "1.2"\n')
    script = tmp_path / "serve.py"
    script.write_text("import signal\nsignal.pause()\n")
    host.start(
        "program",
        argv=[sys.executable, str(script), "enginename"],
        environment={"PYTHONPATH": f"/nowhere:{tmp_path}"},
    )
    found = host.read(engine_source.fact("enginename", ""))
    assert (found.folder, found.version) == (str(package), "1.2")


def test_a_missing_engine_is_absent(host, tmp_path):
    assert host.read(engine_source.fact("sglang", str(tmp_path / "x"))).gap.value == "absent"
    assert host.read(engine_source.fact("enginename", "")).gap.value == "absent"


@pytest.mark.parametrize(
    "data", ["$(touch HACKED)", "'; touch HACKED; '", "`touch HACKED`", "-x", "a\nb", "*"]
)
def test_a_folder_or_engine_name_is_data(host, tmp_path, data):
    for fact in (engine_source.fact("sglang", f"{tmp_path}/{data}"), engine_source.fact(data, "")):
        reading = host.read(fact)
        assert reading.gap.value == "absent"
    assert list(tmp_path.iterdir()) == []
