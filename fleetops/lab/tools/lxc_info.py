"""lxc-info -n ID [-p] [-s] [-H]."""

import sys

from fleetops.lab.tools.proxmox import FOLDERS, Guest


def main(words: list[str]) -> int:
    """Run with the words after the command's name."""
    name = _name(words)
    found = Guest("lxc", int(name)) if name.isdecimal() else None
    if found is None or not (FOLDERS["lxc"] / f"{name}.conf").exists():
        print(f"lxc-info: {name}: {name} doesn't exist", file=sys.stderr)
        return 1
    bare = _has(words, "H", "--no-humanize")
    pid, running = found.pid(), found.status() == "running"
    everything = not (_has(words, "p", "--pid") or _has(words, "s", "--state"))
    if everything and not bare:
        print(f"{'Name:':<16}{name}")
    if everything or _has(words, "s", "--state"):
        state = "RUNNING" if running else "STOPPED"
        print(state if bare else f"{'State:':<16}{state}")
    if running and (everything or _has(words, "p", "--pid")):
        print(pid if bare else f"{'PID:':<16}{pid}")
    return 0


def _name(words: list[str]) -> str:
    for spelling in ("-n", "--name"):
        if spelling in words[:-1]:
            return words[words.index(spelling) + 1]
    return next((word.partition("=")[2] for word in words if word.startswith("--name=")), "")


def _has(words: list[str], letter: str, word: str) -> bool:
    short = [each for each in words if each.startswith("-") and not each.startswith("--")]
    return word in words or any(letter in each[1:] for each in short if each != "-n")
