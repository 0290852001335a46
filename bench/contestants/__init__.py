"""Who is measured: one file for each tool."""

from bench.contestants import ansible, clush, fabric, fleetops, parallel_ssh, pssh, pyinfra, xargs_ssh
from bench.contestants.base import Contestant

SWIFT: tuple[Contestant, ...] = (
    fleetops.FLEETOPS,
    xargs_ssh.CURVE25519,
    fabric.POOL,
    parallel_ssh.PARALLEL_SSH,
    pyinfra.PYINFRA,
)
"""Those who take no more than some tens of milliseconds for a host."""

AS_SHIPPED: tuple[Contestant, ...] = (xargs_ssh.DEFAULTS, pssh.PSSH, clush.CLUSH, ansible.ANSIBLE)
"""Those who start an ssh for each host, with the key exchange that it prefers."""

__all__ = ["AS_SHIPPED", "SWIFT", "Contestant"]
