"""Releases in order: `0.5.5 < 0.5.5.post2 < 0.5.5.post3 < 0.5.6`."""

import re

_PART = re.compile(r"(\d+)|(rc|post|dev)(\d*)")
# Before the release itself, and after it.
_PLACE = {"dev": -2, "rc": -1, "post": 1}
_NUMBER = 2


def release_key(version: str) -> tuple[tuple[int, int], ...]:
    """A key that sorts releases; raises ValueError for what is no version. A local part (`+cpu`) does not count."""
    text = version.strip().lower().lstrip("v").partition("+")[0].replace("-", ".")
    found = _PART.findall(text)
    if not text or not text[0].isdigit() or not found:
        raise ValueError(f"not a version: {version!r}")
    numbers = [(_NUMBER, int(number)) for number, _, _ in found if number]
    while len(numbers) > 1 and numbers[-1] == (_NUMBER, 0):
        numbers.pop()
    marks = [(_PLACE[mark], int(number or 0)) for _, mark, number in found if mark]
    # The closing (0, 0) stands between what comes before a release and what comes after it.
    return (*numbers, *marks, (0, 0)) if marks else (*numbers, (0, 0))


def at_least(version: str, least: str) -> bool:
    """Whether `version` is `least` or later."""
    return release_key(version) >= release_key(least)


def is_at_least(version: str, least: str) -> bool:
    """The same where the version may be unknown or no release: that counts as the newest."""
    try:
        return at_least(version, least)
    except ValueError:
        return True
