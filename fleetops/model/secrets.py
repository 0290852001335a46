"""Keeping secrets out of what is shown and kept: values after flags, in NAME=value words and in URLs, and issued tokens."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "•••"
_SECRET = re.compile(
    r"(api[-_]?key|token(?!s|iz)|password|passwd|secret|credential|auth(?!or))", re.IGNORECASE
)
# Shorter ones would take ordinary words out of a text.
_LEAST_KNOWN = 6


def looks_secret(name: str) -> bool:
    """Whether a flag or variable of this name probably holds a secret (`--api-key`, HF_TOKEN, ...)."""
    return bool(_SECRET.search(name))


def mask_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The argv with the values of secret-looking flags and assignments replaced, and what looks like one inside a word."""
    masked: list[str] = []
    hide_next = False
    for word in argv:
        name, equals, _ = word.partition("=")
        if hide_next and not word.startswith("-"):
            masked.append(MASK)
        elif equals and looks_secret(name) and re.fullmatch(r"[-\w.]+", name):
            masked.append(f"{name}={MASK}")
        else:
            masked.append(mask_text(word))
        hide_next = word.startswith("-") and not equals and looks_secret(word)
    return tuple(masked)


# `api_key='x'` in a settings dump, `--api-key x` in a process table, `"token": "x"` in JSON, `Bearer x` in a header.
# Only from the telling word on, and nothing without a bound: one long line of a log must not take minutes.
_ASSIGNED = re.compile(
    r"""(?P<name>(?:api[-_]?key|token(?!s|iz)|password|passwd|secret|credential)[\w-]{0,80}+["']?)"""
    r"""(?P<between>\s*[=:]\s*|(?<=\S)\s+)"""
    r"""(?:(?P<quote>["'])(?P<quoted>(?:(?!(?P=quote))[^\\\n]|\\.)+)(?=(?P=quote))|(?P<value>["']?[^\s"',;)}\]]+))""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?i)\b(bearer)\s+[\w.~+/=-]{8,}")
_BEFORE_NAME = re.compile(r"[\w-]{0,80}\Z")
_NO_SECRETS = {"none", "null", "true", "false"}
# `scheme://user:password@host`: the user stays.
_IN_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://[^\s/?#:@'\"]{0,200}):[^\s/'\"]{1,500}@")
# What issues them gives them a form: Hugging Face, OpenAI and its like, GitHub, GitLab, Slack, AWS, NVIDIA, JSON Web Tokens.
_ISSUED = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|nvapi-[\w-]{20,}|(?<!-)eyJ[\w-]{10,4000}+\.eyJ[\w-]{10,4000}+\.[\w-]+)"
)


def mask_text(text: str) -> str:
    """A log or a process table with whatever looks like a secret's value replaced; words and numbers around it stay."""
    return _mask_by_form(_BEARER.sub(rf"\1 {MASK}", _ASSIGNED.sub(_masked, text)))


def masked(body: Any, known: Iterable[str] = ()) -> Any:
    """What JSON can hold, masked string by string, so that it stays well-formed: by names of keys and by the texts themselves.

    The secrets that are `known` as such go wherever they stand.
    """
    if isinstance(body, str):
        return mask_known(mask_text(body), known)
    if isinstance(body, Mapping):
        return {key: _masked_item(key, value, known) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [masked(one, known) for one in body]
    return body


def mask_known(text: str, known: Iterable[str]) -> str:
    """The text without these secrets; one that is too short to be told from an ordinary word stays."""
    for secret in sorted({one for one in known if len(one) >= _LEAST_KNOWN}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _masked_item(key: Any, value: Any, known: Iterable[str]) -> Any:
    if (
        looks_secret(str(key))
        and isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and value
    ):
        return MASK
    if key == "argv" and isinstance(value, list) and all(isinstance(word, str) for word in value):
        return [mask_known(word, known) for word in mask_argv(tuple(value))]
    return masked(value, known)


def _mask_by_form(text: str) -> str:
    return _ISSUED.sub(MASK, _IN_URL.sub(rf"\1:{MASK}@", text))


def _masked(match: re.Match[str]) -> str:
    name, between = match["name"], match["between"]
    value = match["quoted"] or match["value"]
    head = _BEFORE_NAME.search(match.string[max(0, match.start() - 80) : match.start()])
    is_flag = f"{head[0] if head else ''}{name}".startswith("--")
    if (
        value.lower() in _NO_SECRETS
        or (not between.strip(" \t") and not is_flag)
        or (is_flag and value.startswith("-"))
    ):
        return match[0]
    opening = match["quote"] or (value[0] if value[0] in "\"'" and len(value) > 1 else "")
    return f"{name}{between}{opening}{MASK}"
