"""Points in time as a person reads them, by this machine's clock."""

import time

DAY_S = 86_400.0


def show_moment(at: float) -> str:
    """`2026-12-01 14:02`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
