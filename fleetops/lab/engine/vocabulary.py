"""The words that the stand-in model says."""

_TEXT = (
    "the node holds its memory while a rank waits for pages that the host has lent to every other process and "
    "nobody counts them twice so each number means what its source says when one asks it slowly and in order "
    "before the next launch takes more than there is left to give"
)
WORDS = _TEXT.split()
SIZE = len(WORDS)


def text_of(token: int) -> str:
    """One token's text, with the blank that comes before it."""
    return " " + WORDS[token % SIZE]


def count_tokens(text: str) -> int:
    """How many tokens a prompt has: one for each word, at least one."""
    return max(1, len(text.split()))
