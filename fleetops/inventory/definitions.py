"""The inventory's keys, said once: the loader checks with them, the schema and the reference page are made from them."""

import ipaddress
from typing import get_args

from fleetops.inventory.containers import ListOf, MapOf
from fleetops.inventory.flags import FlagKind, FlagReading
from fleetops.inventory.kinds import Choice, Duration, Flip, Number, Size, Text, Whole
from fleetops.inventory.record import Field, Reading, Record
from fleetops.inventory.thresholds import shipped_thresholds
from fleetops.model.fleet import GuestKind
from fleetops.model.units import GB

ENGINES = ("sglang", "vllm")
DEFAULT_SSH_PORT = 22
_IN_A_LINE = r"[^\x00-\x1f\x7f]"


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


NAME = Text(
    "a name of letters, digits, `.`, `_` and `-` (63 at most, the first a letter or digit)",
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
)
_ADDRESS = Text(
    "an IP address, a host name or an ssh_config alias",
    r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]*",
    judge=_wrong_address,
)
_USER = Text("a login name", r"[A-Za-z0-9_][A-Za-z0-9_.@\\+-]*\$?")
_REMOTE_PATH = Text("an absolute path", rf"/{_IN_A_LINE}*")
_LOCAL_PATH = Text("a path", rf"{_IN_A_LINE}+")
_MACHINE_ID = Text("32 hexadecimal digits", r"[0-9a-fA-F]{32}")
_MODEL = Text("a model's folder or name", rf"(?!-){_IN_A_LINE}+")
_LABEL = Text("text", rf"{_IN_A_LINE}*", loose=True)
_ARGUMENT = Text("text", rf"{_IN_A_LINE}+")
_VARIABLE = Text("a variable's name (letters, digits and `_`)", r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE_VALUE = Text("text without line breaks or NUL", r"[^\x00\r\n]*", loose=True, secret=True)
_FLAG_NAME = Text("a flag's name, without the leading dashes", r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATTERN = Text("a host pattern", rf"{_IN_A_LINE}+")

# What every host has
ADDRESS = Field(
    "address",
    _ADDRESS,
    "where SSH reaches it: an IP address, a name, or an alias of ssh_config",
    required=True,
)
USER = Field(
    "user",
    _USER,
    "the login; root is reached by sudo where it is another",
    otherwise="ssh_config's, else your own name",
)
PORT = Field("port", Whole(1, 65_535), "the SSH port", otherwise="ssh_config's, else 22")
LABELS = Field("labels", MapOf(_LABEL, "labels", NAME), "free words about the host, for people")
MACHINE_ID = Field(
    "machine-id",
    _MACHINE_ID,
    "its /etc/machine-id: whoever answers with another one is not touched",
    otherwise="recorded on first contact",
)
PROTECTED = Field(
    "protected",
    Flip(),
    "nothing is stopped, started, reset or power-cycled there, nor on a hypervisor's guests; nothing overrides it",
    default=False,
)

# What a node has beside that
GUEST_KIND = Field(
    "kind", Choice(get_args(GuestKind)), "lxc for a container, vm for a virtual machine", required=True
)
GUEST_ID = Field("id", Whole(100, 999_999_999), "its number (VMID) on the hypervisor", required=True)
GUEST = Record(
    "a guest", (GUEST_KIND, GUEST_ID), "The node as its hypervisor knows it: `guest: {kind: lxc, id: 174}`."
)
HYPERVISOR_NAME = Field("hypervisor", NAME, "the Proxmox host that it is a guest of", otherwise="bare metal")
GUEST_FIELD = Field[Reading]("guest", GUEST, "the node as its hypervisor knows it", otherwise="bare metal")
GPUS = Field("gpus", Whole(0, 1024), "how many GPUs it must have", otherwise="the count is not judged")
ENGINE = Field("engine", Choice(ENGINES), "the inference engine that runs there", default="sglang")
SOURCE = Field(
    "source",
    _REMOTE_PATH,
    "the engine's package folder on the node, or its parent",
    otherwise="found on the node",
)
PROFILE_NAME = Field(
    "profile",
    NAME,
    "the service that belongs there; `recover` relaunches it",
    otherwise="nothing is relaunched",
)

NODE = Record(
    "a node",
    (
        ADDRESS,
        USER,
        PORT,
        HYPERVISOR_NAME,
        GUEST_FIELD,
        GPUS,
        ENGINE,
        SOURCE,
        PROFILE_NAME,
        LABELS,
        MACHINE_ID,
        PROTECTED,
    ),
    "A machine that runs an engine.",
)
HYPERVISOR = Record("a hypervisor", (ADDRESS, USER, PORT, LABELS, MACHINE_ID, PROTECTED), "A Proxmox host.")

# Profiles
RESERVE = Field("reserve", Size(), "left free for loading, beside what the ranks take", default=40 * GB)
FLOOR = Field(
    "floor",
    Size(minimum=1),
    "below this much available memory the service is ended, so that the node stays reachable",
    default=16 * GB,
)
HOST_MEMORY = Record("host memory", (RESERVE, FLOOR), "What a launch must leave of the node's memory.")
PROFILE_ENGINE = Field("engine", Choice(ENGINES), "the inference engine", required=True)
MODEL = Field("model", _MODEL, "the model's folder on the node, or its name for the engine", required=True)
RANKS = Field(
    "ranks",
    Whole(1, 1024),
    "how many worker processes: tensor-parallel (times pipeline-parallel) size",
    required=True,
)
SERVICE_PORT = Field("port", Whole(1, 65_535), "where the service listens", required=True)
COMMAND = Field(
    "command",
    ListOf(_ARGUMENT, "words: the interpreter or a wrapper", minimum=1),
    "what the engine's module and flags are appended to; of vLLM also the script itself, `[vllm]`",
    default=("python3",),
)
ENVIRONMENT = Field(
    "environment",
    MapOf(_VARIABLE_VALUE, "variables", _VARIABLE),
    "variables of the service; values that look secret are masked wherever they are shown",
)
FLAGS = Field[dict[str, FlagReading]](
    "flags",
    MapOf(FlagKind(), "flags", _FLAG_NAME),
    "the engine's flags without their dashes; a hyphen equals an underscore",
)
HOST_MEMORY_FIELD = Field[Reading](
    "host-memory", HOST_MEMORY, "what a launch must leave of the node's memory"
)
READY_DEADLINE = Field(
    "ready-deadline",
    Duration(minimum=1),
    "how long the service may take to answer its first request",
    default=900.0,
)
WATCH = Field("watch", Duration(), "how long after readiness it is still watched", default=120.0)

PROFILE = Record(
    "a profile",
    (
        PROFILE_ENGINE,
        MODEL,
        RANKS,
        SERVICE_PORT,
        COMMAND,
        ENVIRONMENT,
        FLAGS,
        HOST_MEMORY_FIELD,
        READY_DEADLINE,
        WATCH,
    ),
    "How a service is launched.",
)

# The files
SSH_CONFIG = Field(
    "ssh-config", _LOCAL_PATH, "the ssh_config to read", otherwise="~/.ssh/config and /etc/ssh/ssh_config"
)
KNOWN_HOSTS = Field(
    "known-hosts",
    _LOCAL_PATH,
    "the host keys to believe, and where `trust` records them",
    otherwise="~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts",
)
STATE = Field("state", _LOCAL_PATH, "where journals and records are kept", otherwise="your own state folder")
BREAKER = Field(
    "breaker",
    Whole(1, 1024),
    "with so many nodes under recovery or failed, no other one is recovered until a person says so",
    default=3,
)
SETTINGS = Record(
    "settings",
    (SSH_CONFIG, KNOWN_HOSTS, STATE, BREAKER),
    "Where this inventory keeps its files (relative paths start at the inventory's folder), and what holds for the whole fleet.",
)

# Where checks draw their lines
NUMBERS = Record(
    "thresholds",
    tuple(
        Field(one.name, Number(), f"{one.meaning} ({one.unit})", default=one.value)
        for one in shipped_thresholds()
    ),
    "Numbers, each in the unit that its name ends in.",
)
_GPU_WORD = Text("a word of the GPUs' name", rf"{_IN_A_LINE}+")
FOR_ALL = Field[Reading]("all", NUMBERS, "for every host")
BY_GPU = Field(
    "gpu-models", MapOf[Reading](NUMBERS, "thresholds", _GPU_WORD), "for hosts whose GPUs' name has that word"
)
BY_GROUP = Field("groups", MapOf[Reading](NUMBERS, "thresholds", NAME), "for the hosts of a group")
THRESHOLDS = Record(
    "thresholds by host",
    (FOR_ALL, BY_GPU, BY_GROUP),
    "Where `sweep` draws its lines: a group's numbers before a GPU model's, those before `all`, these before the shipped.",
)

HYPERVISORS = Field("hypervisors", MapOf[Reading](HYPERVISOR, "hypervisors", NAME), "Proxmox hosts by name")
NODES = Field("nodes", MapOf[Reading](NODE, "nodes", NAME), "nodes by name", required=True)
GROUPS = Field(
    "groups",
    MapOf(ListOf(_PATTERN, "host patterns", minimum=1), "groups", NAME),
    "host patterns by group name; used as `@name`",
)
PROFILES = Field("profiles", MapOf[Reading](PROFILE, "profiles", NAME), "launch profiles by name")
SETTINGS_FIELD = Field[Reading](
    "settings", SETTINGS, "where this inventory keeps its files, and what holds for the whole fleet"
)
THRESHOLDS_FIELD = Field[Reading](
    "thresholds", THRESHOLDS, "where `sweep` draws its lines, over the shipped ones"
)

FLEET_FILE = Record(
    "a fleet",
    (HYPERVISORS, NODES, GROUPS, PROFILES, SETTINGS_FIELD, THRESHOLDS_FIELD),
    "`fleet.yaml`: the hosts, and profiles too where one file holds everything.",
)
PROFILES_FILE = Record(
    "a file of profiles",
    (Field("profiles", PROFILES.kind, PROFILES.help, required=True),),
    "`profiles.yaml`, beside `fleet.yaml`.",
)
