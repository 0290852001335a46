"""The detokenizer process: token numbers in, text out (managers/detokenizer_manager.py)."""

import os
import signal
from typing import NoReturn

from fleetops.lab.engine import kernel
from fleetops.lab.engine.vocabulary import text_of
from fleetops.lab.engine.wiring import Wiring


def run(wiring: Wiring) -> NoReturn:
    """Turn tokens into text until either side is gone."""
    kernel.set_title("sglang::detokenizer")
    kernel.when_parent_dies(signal.SIGKILL)
    for each in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(each, signal.SIG_DFL)
    if wiring.port:
        wiring.port.close()
    tokens, texts = wiring.tokens[1], wiring.texts[0]
    while message := tokens.receive():
        if "out" in message:
            out = [[rid, text_of(token), finish, prompt] for rid, token, finish, prompt in message["out"]]
            message = {"out": out}
        texts.send(message)
    os._exit(0)
