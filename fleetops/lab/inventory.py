"""Write the lab's fleet as fleetops' own inventory, so that `--inventory` is all a command needs to work on it."""

from fleetops.lab.fleet import FLEET, LabHost
from fleetops.lab.paths import Layout

_HEAD = """\
# The embedded lab's fleet, written by `fleetops lab up`. The shape is that of the shipped example; only the
# addresses are this machine's own, and `settings` keeps the lab's keys and state inside the lab's folder.
"""

_PROFILES = """\
# How services are launched in the lab; sizes and flags are the incident's, the watch is short.

profiles:
  # The size at which the incident's node came back: 48 GB in each of 8 ranks, 384 GB in all.
  hicache48:
    engine: sglang
    model: /models/example
    ranks: 8                            # becomes --tp 8
    port: 30000
    command: [python3]                  # `-m sglang.launch_server` and the flags follow
    flags:
      enable-hierarchical-cache: true
      hicache-size: {value: 48, unit: GB, scope: per-rank}
      mem-fraction-static: 0.88
      enable-metrics: true
    host-memory: {reserve: 40 GB, floor: 16 GB}
    ready-deadline: 90s
    watch: 2s

  # The same, at the largest size that fits the node at that moment.
  hicache-auto:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    flags:
      enable-hierarchical-cache: true
      hicache-size: {value: auto, unit: GB, scope: per-rank}
      mem-fraction-static: 0.88
      enable-metrics: true
    host-memory: {reserve: 40 GB, floor: 16 GB}
    ready-deadline: 90s
    watch: 2s

  # The incident: 300 was believed to be GB in all. `launch` refuses it with the arithmetic.
  hicache300:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    flags:
      enable-hierarchical-cache: true
      hicache-size: {value: 300, unit: GB, scope: per-rank}
      mem-fraction-static: 0.88
      enable-metrics: true
    host-memory: {reserve: 40 GB, floor: 16 GB}
    ready-deadline: 90s
    watch: 2s

  # What the neighbour node-175 runs on its own two GPUs.
  small:
    engine: sglang
    model: /models/small
    ranks: 2
    port: 30000
    flags:
      mem-fraction-static: 0.88
      enable-metrics: true
    host-memory: {reserve: 8 GB, floor: 4 GB}
    ready-deadline: 90s
    watch: 2s

  # vLLM, which lies on node-190 beside SGLang: 40 GiB of its KV cache are on the host, over both ranks.
  vllm-small:
    engine: vllm
    model: /models/small
    ranks: 2                            # becomes --tensor-parallel-size 2
    port: 8000
    command: [python3]                  # `-m vllm.entrypoints.cli.main serve MODEL` and the flags follow
    flags:
      gpu-memory-utilization: 0.88
      kv-offloading-size: {value: 40, unit: GiB, scope: total}
    host-memory: {reserve: 8 GB, floor: 4 GB}
    ready-deadline: 90s
    watch: 2s
"""


def write_inventory(layout: Layout, ports: dict[str, int]) -> None:
    """fleet.yaml and profiles.yaml for hosts that listen on these ports."""
    layout.inventory.mkdir()
    hypervisors = [host for host in FLEET if host.kind == "hypervisor"]
    nodes = [host for host in FLEET if host.kind != "hypervisor"]
    racks = sorted({host.rack for host in nodes if host.rack})
    text = (
        _HEAD
        + f"""
settings:
  ssh-config: {layout.ssh / "config"}
  known-hosts: {layout.ssh / "known_hosts"}
  state: {layout.state}

hypervisors:
{"".join(_host(host, ports[host.name]) for host in hypervisors)}
nodes:
{"".join(_host(host, ports[host.name]) + _node(host) for host in nodes)}
groups:
{"".join(_group(rack, nodes) for rack in racks)}"""
    )
    (layout.inventory / "fleet.yaml").write_text(text)
    (layout.inventory / "profiles.yaml").write_text(_PROFILES)


def _host(host: LabHost, port: int) -> str:
    return (
        f"  {host.name}:\n    address: {host.address}\n    port: {port}\n    user: root\n"
        f"    machine-id: {host.machine_id}\n    labels: {{rack: {host.rack}}}\n"
    )


def _node(host: LabHost) -> str:
    lines = [f"gpus: {len(host.minors)}"]
    if host.hypervisor:
        lines = [
            f"hypervisor: {host.hypervisor}",
            f"guest: {{kind: {host.kind}, id: {host.guest_id}}}",
            *lines,
        ]
    if host.engine:
        lines += ["engine: sglang", "source: /root/sglang/python/sglang"]
    if host.profile:
        lines.append(f"profile: {host.profile}")
    return "".join(f"    {line}\n" for line in lines)


def _group(rack: str, nodes: list[LabHost]) -> str:
    names = ", ".join(f'"{host.name}"' for host in nodes if host.rack == rack)
    return f"  rack-{rack}: [{names}]\n"
