"""Text as nobody should write it: what breaks parsers, shells and terminals, and texts broken with it."""

import re

from hypothesis import strategies as st

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What must never come out as it is, but for newlines and tabs."""

ESCAPES = (
    "\x1b]0;PWNED\x07",
    "\x1b[2J\x1b[HPWNED",
    "\x1bP+q544e\x1b\\PWNED",
    "\x9b31mPWNED",
    "\x9d52;c;UFdORUQ=\x9cPWNED",
    "\rPWNED",
    "\x08\x08\x08PWNED",
    "\u202ePWNED",
    "\u2066PWNED",
    "\x7fPWNED",
)
"""What a terminal would act on; each holds a word by which a test sees that it came through at all."""

SPITEFUL = (
    "", " ", "-", "--", "---", "-rf", "~", "null", "true", "yes", "on", "0x10", "0o7", "1e999", "-.inf", ".nan", "NaN",
    "9" * 30, "9" * 5000, "-1", "1_000", "1:30", "²", "٣", "[", "]", "{", "}", "[[", "{{", "&a ", "*a", "<<: ", "!!", "!x ", "!!python/object:os.system ",
    "? ", ": ", ":", ",", "#", "|", ">", "%", "@", "`", "'", '"', "\\", "\0", "\t", "\n", "\r", "\r\n", "\n\n", "\x85", "\u2028", "\u2029", "\ufeff", "\x1b[31m",
    "\x7f", "\u202e", "é", "\U0001f600", "e\u0301", "\ud800", '"\\ud800"', '"\\0"', '"\\x1b]0;x\\x07"', "$(touch ran)", "`touch ran`", "';touch ran;'",
    "@all", "@nobody", "*", "node-[1-99999999]", "node-[9-1]", "[0-9][0-9][0-9][0-9][0-9]", "%YAML 9.9\n---\n", "...\n", "...\n---\n",
)  # fmt: skip


@st.composite
def broken(draw: st.DrawFn, texts: tuple[str, ...], most: int = 4) -> str:
    """One of these texts with up to `most` places cut out, doubled, replaced or filled in."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        with_what = draw(
            st.one_of(
                st.sampled_from(SPITEFUL),
                st.text(max_size=6),
                st.just(text[start:end] * 2),
                st.sampled_from(text.splitlines(keepends=True) or [""]),
            )
        )
        text = text[:start] + with_what + text[end:]
    return text


@st.composite
def word_replaced(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    """One of these texts with one word of it replaced by something spiteful: its form stays whole."""
    text = draw(st.sampled_from(texts))
    words = list(re.finditer(r"[\w./-]+", text))
    word = draw(st.sampled_from(words))
    return text[: word.start()] + draw(st.sampled_from(SPITEFUL)) + text[word.end() :]
