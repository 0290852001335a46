"""Durations for a person: the one or two units that matter."""


def show_duration(seconds: float) -> str:
    """`41 days`, `3 h 20 min`, `12 min`, `5 min 12 s`, `8 s`; days stand alone, and below 10 minutes seconds count."""
    left = max(0, round(seconds))
    if left >= 2 * 86_400:
        return f"{left // 86_400} days"
    if left >= 3_600:
        return _two(left, 3_600, "h", 60, "min")
    if left >= 600:
        return f"{left // 60} min"
    if left >= 60:
        return _two(left, 60, "min", 1, "s")
    return f"{left} s"


def show_delay(seconds: float) -> str:
    """`8.7 ms`, `42 ms`, `1.24 s`: what a person waits for one token; from a minute on as a duration."""
    if seconds >= 60:
        return show_duration(seconds)
    if seconds >= 0.9995:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.00995 else f"{seconds * 1000:.0f} ms"


def _two(left: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = left % large // small
    return f"{left // large} {large_name}" + (f" {rest} {small_name}" if rest else "")
