"""nvidia-smi, as far as fleetops and an operator's fingers use it. The driver behind it is `fleetops.lab.driver`."""

import sys
from collections.abc import Sequence

from fleetops.lab.driver import VERSION, Driver, current_guest
from fleetops.lab.engine.kernel import ignore_polite_signals, wait_in_kernel
from fleetops.lab.tools import smi_change, smi_query
from fleetops.lab.tools.smi_view import View, views
from fleetops.lab.tools.smi_xml import report

BAD_ARGUMENT = 2
NOT_FOUND = 6
LOST = 15
MISMATCH = 18  # nvml.h, NVML_ERROR_LIB_RM_VERSION_MISMATCH
OTHER_LIBRARY = "570.195"
_TAKES_VALUE = {"-i": "id", "--id": "id", "-pm": "persistence", "--persistence-mode": "persistence"}
_FLAGS = {
    "-L": "list",
    "--list-gpus": "list",
    "-q": "query",
    "--query": "query",
    "-x": "xml",
    "--xml-format": "xml",
    "-r": "reset",
    "--gpu-reset": "reset",
    "--help-query-gpu": "help-query-gpu",
    "--version": "version",
}
_VALUES = ("--query-gpu", "--query-compute-apps", "--format", "--id", "--persistence-mode")


class BadArgument(ValueError):  # noqa: N818 - named for what the tool says
    """What the command line asks for is not known; the message is what the tool prints."""


class GpuLost(Exception):  # noqa: N818 - named for what the tool says
    """A GPU that was to be shown has fallen off the bus; the message is what the tool prints."""


def main(words: list[str]) -> int:
    """Run with the words after the command's name: for ever where the driver hangs, unless it is not asked at all."""
    if _reaches_driver(words) and Driver().faults().hangs:
        ignore_polite_signals()
        wait_in_kernel()
    return tell(words)


def only_asks(words: list[str]) -> bool:
    """Whether this is a question that the driver answers at once."""
    changes = {"-r", "--gpu-reset", "-pm", "--persistence-mode"}
    return not changes & {word.partition("=")[0] for word in words} and not Driver().faults().hangs


def tell(words: list[str]) -> int:
    """Answer, whether the driver hangs or not."""
    try:
        return _run(_parse(words))
    except BadArgument as error:
        print(error)
        return BAD_ARGUMENT
    except GpuLost as error:
        print(error)
        return LOST
    except smi_query.UnknownField as error:
        print(f'Field "{error}" is not a valid field to query.\n')
        return BAD_ARGUMENT


def _reaches_driver(words: Sequence[str]) -> bool:
    try:
        return not {"version", "help-query-gpu"} & set(_parse(words))
    except BadArgument:
        return False


def _parse(words: Sequence[str]) -> dict[str, str]:
    if list(words) in (["nvlink", "-s"], ["nvlink", "--status"]):
        return {"nvlink": ""}
    asked: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if equals and name in _VALUES:
            asked[_TAKES_VALUE.get(name, name.lstrip("-"))] = value
        elif word in _TAKES_VALUE and rest:
            asked[_TAKES_VALUE[word]] = rest.pop(0)
        elif word in _FLAGS:
            asked[_FLAGS[word]] = ""
        else:
            raise BadArgument(
                f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n{word}"
            )
    return asked


def _run(asked: dict[str, str]) -> int:
    if "version" in asked:
        print(
            f"NVIDIA-SMI version  : {VERSION}\nNVML version        : 570.133\nDRIVER version      : {VERSION}"
        )
        return 0
    if "help-query-gpu" in asked:
        print("\n".join(f'"{name}"' for name in smi_query.FIELDS))
        return 0
    driver = Driver()
    if current_guest() in driver.faults().mismatch:
        print(
            f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {OTHER_LIBRARY}"
        )
        return MISMATCH
    try:
        attached = views(driver)
    except FileNotFoundError:
        attached = []
    if not attached:
        print("No devices were found")
        return NOT_FOUND
    shown = _select(attached, asked["id"]) if "id" in asked else attached
    if not shown:
        print(f"No devices were found matching {asked['id']}")
        return NOT_FOUND
    return _answer(driver, asked, _without_lost(shown, listed="list" in asked), len(attached))


def _select(attached: Sequence[View], ids: str) -> list[View]:
    """GPUs by index, UUID or PCI address, as `-i` takes them; all must exist."""
    names = [name.strip().lower() for name in ids.split(",")]
    found = []
    for name in names:
        match = [view for view in attached if name in _names(view)]
        if not match:
            return []
        found += match
    return found


def _without_lost(shown: list[View], *, listed: bool) -> list[View]:
    """`-L` lists the others beside the complaint (sample list_gpus_one_lost); everything else stops there."""
    lost = [view for view in shown if view.state.lost]
    said = "\n".join(
        f"Unable to determine the device handle for GPU {view.gpu.bdf[4:]}: GPU is lost. "
        "Reboot the system to recover this GPU"
        for view in lost
    )
    if lost and not listed:
        raise GpuLost(said)
    if lost:
        print(said)
    return [view for view in shown if not view.state.lost]


def _names(view: View) -> set[str]:
    bdf = view.gpu.bdf.lower()
    return {str(view.index), view.gpu.uuid.lower(), bdf, bdf.removeprefix("0000")}


def _answer(driver: Driver, asked: dict[str, str], shown: list[View], attached: int) -> int:
    if "reset" in asked:
        return smi_change.reset(driver, shown)
    if "persistence" in asked:
        if asked["persistence"] not in {"0", "1"}:
            raise BadArgument(f"Invalid persistence mode: {asked['persistence']}")
        return smi_change.set_persistence(driver, shown, on=asked["persistence"] == "1")
    options = asked.get("format", "").split(",")
    if "list" in asked:
        text = smi_query.listing(shown)
    elif "nvlink" in asked:
        text = smi_query.links(shown)
    elif "query-gpu" in asked:
        text = smi_query.gpu_table(shown, asked["query-gpu"], options)
    elif "query-compute-apps" in asked:
        text = smi_query.app_table(shown, asked["query-compute-apps"], options)
    elif "query" in asked or "xml" in asked:
        text = report(shown, attached)
    else:
        text = smi_query.table(shown)
    sys.stdout.write(text)
    return 0
