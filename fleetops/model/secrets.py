"""Keeping secrets out of what is shown and kept: values after flags, and in NAME=value words, that look secret."""

import re

MASK = "•••"
_SECRET = re.compile(
    r"(api[-_]?key|token(?!s|iz)|password|passwd|secret|credential|auth(?!or))", re.IGNORECASE
)


def looks_secret(name: str) -> bool:
    """Whether a flag or variable of this name probably holds a secret (`--api-key`, HF_TOKEN, ...)."""
    return bool(_SECRET.search(name))


def mask_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The argv with the values of secret-looking flags and assignments replaced."""
    masked: list[str] = []
    hide_next = False
    for word in argv:
        name, equals, _ = word.partition("=")
        if hide_next and not word.startswith("-"):
            masked.append(MASK)
        elif equals and looks_secret(name) and re.fullmatch(r"[-\w.]+", name):
            masked.append(f"{name}={MASK}")
        else:
            masked.append(word)
        hide_next = word.startswith("-") and not equals and looks_secret(word)
    return tuple(masked)
