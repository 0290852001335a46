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


# `api_key='x'` in a settings dump, `--api-key x` in a process table, `"token": "x"` in JSON, `Bearer x` in a header.
_ASSIGNED = re.compile(
    r"""(?P<name>[\w-]*(?:api[-_]?key|token(?!s|iz)|password|passwd|secret|credential)[\w-]*["']?)"""
    r"""(?P<between>\s*[=:]\s*|(?<=\S)\s+)(?P<quote>["']?)(?P<value>[^\s"',;)}\]]+)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?i)\b(bearer)\s+[\w.~+/=-]{8,}")
_NO_SECRETS = {"none", "null", "true", "false"}


def mask_text(text: str) -> str:
    """A log or a process table with whatever looks like a secret's value replaced; words and numbers around it stay."""
    return _BEARER.sub(rf"\1 {MASK}", _ASSIGNED.sub(_masked, text))


def _masked(match: re.Match[str]) -> str:
    name, between, value = match["name"], match["between"], match["value"]
    is_flag = name.startswith("--")
    if (
        value.lower() in _NO_SECRETS
        or (not between.strip(" \t") and not is_flag)
        or (is_flag and value.startswith("-"))
    ):
        return match[0]
    return f"{name}{between}{match['quote']}{MASK}"
