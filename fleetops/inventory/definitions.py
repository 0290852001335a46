"""The inventory's keys, said once: the loader checks with them, the schema and the reference page are made from them."""

from typing import get_args

from fleetops.inventory import forms
from fleetops.inventory import sweep_definitions as sweep
from fleetops.inventory.containers import ListOf, MapOf
from fleetops.inventory.flags import FlagKind, FlagReading
from fleetops.inventory.kinds import Choice, Duration, Flip, Size, Whole
from fleetops.inventory.record import Field, Reading, Record
from fleetops.model.fleet import GuestKind
from fleetops.model.units import GB

ENGINES = ("sglang", "vllm")
DEFAULT_SSH_PORT = 22
# What every host has
ADDRESS = Field(
    "address",
    forms.ADDRESS,
    "where SSH reaches it: an IP address, a name, or an alias of ssh_config",
    required=True,
)
USER = Field(
    "user",
    forms.USER,
    "the login; root is reached by sudo where it is another",
    otherwise="ssh_config's, else your own name",
)
PORT = Field("port", Whole(1, 65_535), "the SSH port", otherwise="ssh_config's, else 22")
LABELS = Field("labels", MapOf(forms.LABEL, "labels", forms.NAME), "free words about the host, for people")
MACHINE_ID = Field(
    "machine-id",
    forms.MACHINE_ID,
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
HYPERVISOR_NAME = Field(
    "hypervisor", forms.NAME, "the Proxmox host that it is a guest of", otherwise="bare metal"
)
GUEST_FIELD = Field[Reading]("guest", GUEST, "the node as its hypervisor knows it", otherwise="bare metal")
GPUS = Field("gpus", Whole(0, 1024), "how many GPUs it must have", otherwise="the count is not judged")
ENGINE = Field("engine", Choice(ENGINES), "the inference engine that runs there", default="sglang")
SOURCE = Field(
    "source",
    forms.REMOTE_PATH,
    "the engine's package folder on the node, or its parent",
    otherwise="found on the node",
)
PROFILE_NAME = Field(
    "profile",
    forms.NAME,
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
MODEL = Field(
    "model", forms.MODEL, "the model's folder on the node, or its name for the engine", required=True
)
RANKS = Field(
    "ranks",
    Whole(1, 1024),
    "how many worker processes: tensor-parallel (times pipeline-parallel) size",
    required=True,
)
SERVICE_PORT = Field("port", Whole(1, 65_535), "where the service listens", required=True)
COMMAND = Field(
    "command",
    ListOf(forms.ARGUMENT, "words: the interpreter or a wrapper", minimum=1),
    "what the engine's module and flags are appended to; of vLLM also the script itself, `[vllm]`",
    default=("python3",),
)
ENVIRONMENT = Field(
    "environment",
    MapOf(forms.VARIABLE_VALUE, "variables", forms.VARIABLE),
    "variables of the service; values that look secret are masked wherever they are shown",
)
FLAGS = Field[dict[str, FlagReading]](
    "flags",
    MapOf(FlagKind(), "flags", forms.FLAG_NAME),
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
    "ssh-config",
    forms.LOCAL_PATH,
    "the ssh_config to read",
    otherwise="~/.ssh/config and /etc/ssh/ssh_config",
)
KNOWN_HOSTS = Field(
    "known-hosts",
    forms.LOCAL_PATH,
    "the host keys to believe, and where `trust` records them",
    otherwise="~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts",
)
STATE = Field(
    "state", forms.LOCAL_PATH, "where journals and records are kept", otherwise="your own state folder"
)
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

HYPERVISORS = Field(
    "hypervisors", MapOf[Reading](HYPERVISOR, "hypervisors", forms.NAME), "Proxmox hosts by name"
)
NODES = Field("nodes", MapOf[Reading](NODE, "nodes", forms.NAME), "nodes by name", required=True)
GROUPS = Field(
    "groups",
    MapOf(ListOf(forms.PATTERN, "host patterns", minimum=1), "groups", forms.NAME),
    "host patterns by group name; used as `@name`",
)
PROFILES = Field("profiles", MapOf[Reading](PROFILE, "profiles", forms.NAME), "launch profiles by name")
SETTINGS_FIELD = Field[Reading](
    "settings", SETTINGS, "where this inventory keeps its files, and what holds for the whole fleet"
)
FLEET_FILE = Record(
    "a fleet",
    (
        HYPERVISORS,
        NODES,
        GROUPS,
        PROFILES,
        SETTINGS_FIELD,
        sweep.THRESHOLDS_FIELD,
        sweep.CHECKS,
        sweep.POLICIES,
    ),
    "`fleet.yaml`: the hosts, and profiles too where one file holds everything.",
)
PROFILES_FILE = Record(
    "a file of profiles",
    (Field("profiles", PROFILES.kind, PROFILES.help, required=True),),
    "`profiles.yaml`, beside `fleet.yaml`.",
)
