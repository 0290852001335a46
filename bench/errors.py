"""Why a piece gives no figures. Neither stops the other pieces."""


class NoFigures(Exception):  # noqa: N818 - the two below are named for what the reader is told
    """A piece that came to nothing."""


class NotHere(NoFigures):
    """Something that it needs is not on this machine; says what, and how to get it."""


class DidNotStart(NoFigures):
    """Something that it started did not come up; says what it said."""
