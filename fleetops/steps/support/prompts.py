"""Prompts to measure with: each its own, so that no prefix cache can answer for it, and the same from the same seed."""

import random

# Common short words: most tokenizers have each as one token, together with the blank before it.
_TEXT = """
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point
home water room mother area money story fact month lot right study book eye job word business issue
side kind head house service friend father power hour game line end member law car city community
name president team minute idea kid body information back parent face others level office door
health person art war history party result change morning reason research girl guy moment air
teacher force education foot boy age policy music market sense nation plan college interest
"""
_WORDS = _TEXT.split()


def prompt(seed: int, number: int, words: int) -> str:
    """The `number`th prompt of a seed, of that many words."""
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - it only has to differ
    return " ".join(chance.choices(_WORDS, k=words))
