"""Commands as text for the remote shell. Nothing else in the project quotes for a shell on a host.

What travels is always the same few constant lines of POSIX `sh`; arguments join them single-quoted and nowhere
else. Every call prints a marker (`NONCE:STATUS` and a newline) on both of its streams when it starts, so that what a
login shell's start-up files print is told apart, and a batch prints one more after each of its parts. The start marker
of a single command carries the number of its shell's process, by which it can be ended early.
"""

import secrets
from collections.abc import Sequence

from fleetops.model.command import Command, shell
from fleetops.model.errors import UsageError

KILL_AFTER_S = 2.0
"""How long after its deadline a process group that ignored SIGTERM gets SIGKILL."""

GIVE_UP_AFTER_S = 2.0
"""How long after that a batch leaves a part behind that SIGKILL could not end (state D)."""

# The subshell is where stderr is pointed back to the caller's: what a shell itself says of a killed child ("Killed",
# with the whole line in bash) is not the command's output.
_RUN = (
    'printf "%s:%s\\n" "$1" "$$"; printf "%s:\\n" "$1" >&2; shift; exec 3>&2 2>/dev/null; '
    '(exec "$@") 2>&3 3>&-; exit "$?"'
)
# The same for a change that is given standard input: where the connection breaks before all of it has come, nothing is run.
# What was sent ends with the nonce; `$(...)` and the shell's own printf keep it out of every argv and every file.
_RUN_WHOLE = (
    'printf "%s:%s\\n" "$1" "$$"; printf "%s:\\n" "$1" >&2; unset input; input=$(cat); '
    'case $input in *"$1") input=${input%"$1"} ;; *) echo "its input did not come whole: nothing was run" >&2; exit 1 ;; '
    'esac; shift; exec 3>&2 2>/dev/null; printf %s "$input" | (exec "$@") 2>&3 3>&-; exit "$?"'
)
# A `timeout` that gets SIGTERM does what it does at its deadline: SIGTERM to its process group, SIGKILL a little later.
# The nonce in its command line proves that the process is still the one whose start marker gave this number.
_END = (
    'grep -qF -- "$1" "/proc/$2/cmdline" && for child in $(cat "/proc/$2/task/$2/children"); do '
    'kill -TERM "$child"; done'
)
_READ_SCRIPT = 'printf "%s:\\n" "$1"; printf "%s:\\n" "$1" >&2; exec sh'


def new_nonce() -> str:
    """A word that no output contains by chance or by intent."""
    return secrets.token_hex(16)


def ask_marker(nonce: str) -> str:
    """What sudo prints on stderr when it wants the password."""
    return f"{nonce}-ask:"


def quote(word: str) -> str:
    """One word for a POSIX shell, whatever it contains. Raises UsageError for NUL, which no argument can hold."""
    if "\0" in word:
        raise UsageError("an argument holds a NUL byte, which no program can be given")
    return "'" + word.replace("'", "'\\''") + "'"


def encode(text: str) -> bytes:
    """Text as the bytes it came from: UTF-8, with undecodable bytes carried through."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UsageError(f"an argument holds a character that has no bytes: {error.reason}") from error


def decode(data: bytes) -> str:
    """Bytes from a host as text; undecodable bytes are carried through."""
    return data.decode("utf-8", "surrogateescape")


def check(command: Command) -> None:
    """Raises UsageError for a command that no host could be asked to run."""
    encode(_bounded(command, KILL_AFTER_S))


def command_line(command: Command, nonce: str, *, sudo: bool = False) -> bytes:
    """The line that runs one command: in its own process group, ended by `timeout` when its deadline passes.

    Args:
        command: what to run; its standard input travels separately.
        nonce: what its start marker is made of.
        sudo: start it through sudo, which asks for a password with `ask_marker(nonce)` if it needs one.
    """
    script = _RUN_WHOLE if _is_fed_whole(command) else _RUN
    return _line(script, nonce, _bounded(command, KILL_AFTER_S), sudo=sudo)


def command_input(command: Command, nonce: str) -> bytes:
    """What is sent to the standard input of the same line."""
    return encode(command.stdin + (nonce if _is_fed_whole(command) else ""))


def _is_fed_whole(command: Command) -> bool:
    """Half of what a change is to write or to start is worse than nothing; a shell's variable holds no NUL."""
    return command.changes and bool(command.stdin) and "\0" not in command.stdin


def end_command(nonce: str, shell_pid: str, *, root: bool) -> Command:
    """What ends a call early that `command_line` started under this nonce, as its deadline would."""
    return shell(_END, nonce, shell_pid, deadline_s=KILL_AFTER_S, root=root)


def batch_line(nonce: str, *, sudo: bool = False) -> bytes:
    """The line that starts the `sh` to which a batch's script is sent."""
    return _line(_READ_SCRIPT, nonce, "", sudo=sudo)


def _line(script: str, nonce: str, call: str, *, sudo: bool) -> bytes:
    become = f"sudo -S -p {quote(ask_marker(nonce))} -- " if sudo else ""
    return encode(f"exec {become}sh -c {quote(script)} fleetops {nonce} {call}".rstrip())


def _bounded(command: Command, kill_after_s: float) -> str:
    if not command.argv:
        raise UsageError("there is no command to run")
    words = " ".join(quote(word) for word in command.argv)
    return f"timeout -k {kill_after_s:.3f} {max(command.deadline_s, 0.01):.3f} {words}"


def batch_script(commands: Sequence[Command], nonce: str) -> bytes:
    """The script that runs several commands one after the other.

    It is one compound command, so a script of which only a part arrives runs nothing. The outer `timeout` costs a
    process and buys that a part in state D, for which the inner one would wait for ever, is left behind.
    Output goes straight through: no temporary files, no pipes but for a part's own standard input.
    """
    parts = "\n".join(_part(command) for command in commands)
    mark = f'mark() {{ set -- "$?"; printf \'{nonce}:%s\\n\' "$1"; printf \'{nonce}:%s\\n\' "$1" >&3; }}'
    return encode(f"{{ exec 3>&2 2>/dev/null\n{mark}\n{parts}\n}}\n")


def _part(command: Command) -> str:
    last_resort_s = command.deadline_s + KILL_AFTER_S + GIVE_UP_AFTER_S
    call = f"(exec timeout -s KILL {last_resort_s:.3f} {_bounded(command, KILL_AFTER_S)}) 2>&3 3>&-"
    return f"{_feeding(command.stdin)}{call}{'' if command.stdin else ' </dev/null'}\nmark"


def _feeding(stdin: str) -> str:
    """The builtin that writes a part's standard input; `%b` only where NUL has to be spelled."""
    if not stdin:
        return ""
    if "\0" not in stdin:
        return f"printf %s {quote(stdin)} | "
    return f"printf %b {quote(stdin.replace(chr(92), chr(92) * 2).replace(chr(0), chr(92) + '0000'))} | "
