"""Quantities of bytes: GB is 10^9 bytes, GiB is 2^30; inside the program everything is bytes."""

KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12
KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40


def show_gb(size_bytes: float) -> str:
    """Bytes as decimal gigabytes for a person: one decimal below 100 GB, none above, thousands grouped.

    What would round to nothing is said in MB.
    """
    if MB / 2 <= abs(size_bytes) < GB / 20:
        return f"{size_bytes / MB:,.0f} MB"
    return f"{_rounded(size_bytes / GB)} GB"


def show_gib(size_bytes: float) -> str:
    """Bytes as binary gibibytes for a person."""
    return f"{_rounded(size_bytes / GIB)} GiB"


def _rounded(number: float) -> str:
    if number and abs(number) < 100 and round(number, 1) != round(number):
        return f"{number:,.1f}"
    return f"{number:,.0f}"
