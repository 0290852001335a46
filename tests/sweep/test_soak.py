"""A short form of `make soak`: sweeps in a row hold no more than the first ones did."""

from command_line import CommandLine
from hostile_server import says, truly_but
from soak import SETTLED, soak

SWEEPS = 12
MB = 1_000_000


def test_sweeps_in_a_row_leak_nothing(fleet_of, tmp_path):
    inventory = fleet_of(well=truly_but(lambda text: text), down=9, garbage=says(b"garbage\n"))
    held = list(soak(CommandLine(inventory.path, tmp_path), SWEEPS))
    early, late = held[SETTLED - 1], held[-1]
    assert late.sweeps == SWEEPS
    # A look may fall into the next sweep, which has connections open; what leaks is there at every look.
    assert min(one.threads for one in held[-3:]) <= early.threads + 2
    assert min(one.descriptors for one in held[-3:]) <= early.descriptors + 2
    assert late.rss_bytes - early.rss_bytes < 6 * MB
