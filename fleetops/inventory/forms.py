"""What texts in an inventory look like: names, addresses, paths, patterns."""

import ipaddress
import re

from fleetops.inventory.kinds import Text

IN_A_LINE = r"[^\x00-\x1f\x7f]"


def _wrong_address(text: str) -> str:
    """What is wrong with an address that has a safe form, "" if nothing; names are left to the resolver."""
    numeric = text.replace(".", "").isdigit()
    if ":" not in text and not numeric:
        return ""
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        host, _, port = text.rpartition(":")
        if host and ":" not in host and port.isdigit():
            return f"an address has no port in it: write `address: {host}` and `port: {port}`"
        return f"`{text}` is neither an IP address nor a host name"
    return ""


def _wrong_pattern(text: str) -> str:
    """What is wrong with a regular expression, "" if nothing."""
    try:
        re.compile(text)
    except re.error as error:
        return f"not a regular expression: {error}"
    return ""


NAME = Text(
    "a name of letters, digits, `.`, `_` and `-` (63 at most, the first a letter or digit)",
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
)
ADDRESS = Text(
    "an IP address, a host name or an ssh_config alias",
    r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*",
    judge=_wrong_address,
)
USER = Text("a login name", r"[A-Za-z0-9_][A-Za-z0-9_.@\\+-]*\$?")
REMOTE_PATH = Text("an absolute path", rf"/{IN_A_LINE}*")
LOCAL_PATH = Text("a path", rf"{IN_A_LINE}+")
MACHINE_ID = Text("32 hexadecimal digits", r"[0-9a-fA-F]{32}")
MODEL = Text("a model's folder or name", rf"(?!-){IN_A_LINE}+")
LABEL = Text("text", rf"{IN_A_LINE}*", loose=True)
ARGUMENT = Text("text", rf"{IN_A_LINE}+")
VARIABLE = Text("a variable's name (letters, digits and `_`)", r"[A-Za-z_][A-Za-z0-9_]*")
VARIABLE_VALUE = Text("text without line breaks or NUL", r"[^\x00\r\n]*", loose=True, secret=True)
FLAG_NAME = Text("a flag's name, without the leading dashes", r"[A-Za-z0-9][A-Za-z0-9._-]*")
PATTERN = Text("a host pattern", rf"{IN_A_LINE}+")
HOURS = Text(
    "hours of the day like `22:00-06:00`", r"([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]"
)
EXPRESSION = Text("a regular expression", rf"{IN_A_LINE}+", judge=_wrong_pattern)
