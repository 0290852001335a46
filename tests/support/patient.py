"""Who waits for a change, on a clock of its own."""


class Patient:
    """Keeps what it was told; a wait takes no time but on its own clock."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.clock_s = 0.0

    def tell(self, text: str) -> None:
        self.told.append(text)

    def now(self) -> float:
        return self.clock_s

    def wait(self, seconds: float) -> None:
        self.clock_s += seconds
