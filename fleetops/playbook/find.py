"""Which playbooks there are: the shipped ones, and the user's own in `playbooks/` beside the inventory."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fleetops.inventory.problems import DocumentInvalid, Problem, did_you_mean
from fleetops.model.errors import UsageError
from fleetops.model.playbook import PackageStep, PlaybookEntry
from fleetops.playbook.book import Playbook
from fleetops.playbook.load import PlaybookInvalid, load_playbook
from fleetops.resources import resource_folder
from fleetops.steps import all_steps

OWN_FOLDER = "playbooks"
_SUFFIX = ".yaml"


@dataclass(frozen=True, kw_only=True)
class Found:
    """A playbook's file. `shadows`: an own one that is taken in place of the shipped one of its name."""

    path: Path
    own: bool
    shadows: bool = False

    @property
    def name(self) -> str:
        """By which it is asked for."""
        return self.path.stem


def found_playbooks(inventory: Path | None) -> tuple[Found, ...]:
    """Those that are run by name, in order of their names; `inventory`: its folder or file, None where there is none."""
    shipped = {path.stem: path for path in resource_folder("playbooks").glob(f"*{_SUFFIX}")}
    found = {name: Found(path=path, own=False) for name, path in shipped.items()}
    for path in _own_files(inventory):
        found[path.stem] = Found(path=path, own=True, shadows=path.stem in shipped)
    return tuple(found[name] for name in sorted(found))


def find_playbook(word: str, inventory: Path | None, cwd: Path) -> Found:
    """The playbook of that name, or the file where it is a path (with a slash, or ending in .yaml). Raises UsageError."""
    if "/" in word or word.endswith(_SUFFIX):
        return Found(path=cwd / word, own=True)
    found = {one.name: one for one in found_playbooks(inventory)}
    if word not in found:
        hint = did_you_mean(word, found) or f"known playbooks: {', '.join(found)}"
        raise UsageError(f"there is no playbook {word!r}", hint=hint)
    return found[word]


def read_found(found: Found) -> Playbook:
    """Read and check it; an own one says from which file it comes. Raises PlaybookInvalid."""
    book = load_playbook(found.path)
    return replace(book, file=str(found.path)) if found.own else book


def read_all(found: Iterable[Found]) -> tuple[Playbook, ...]:
    """Read and check each. Raises PlaybookInvalid with the problems of all of them."""
    books: list[Playbook] = []
    problems: list[Problem] = []
    for one in found:
        try:
            books.append(read_found(one))
        except DocumentInvalid as error:
            problems += error.problems
    if problems:
        raise PlaybookInvalid("playbooks:", tuple(problems))
    return tuple(books)


def listed(found: Iterable[Found]) -> tuple[PlaybookEntry, ...]:
    """Each as it is listed; one with problems beside the others."""
    return tuple(map(_listed, found))


def _listed(one: Found) -> PlaybookEntry:
    entry = PlaybookEntry(name=one.name, file=str(one.path), own=one.own, shadows=one.shadows)
    try:
        book = read_found(one)
    except DocumentInvalid as error:
        return replace(entry, problems=tuple(map(str, error.problems)))
    except UsageError as error:
        return replace(entry, problems=(error.message,))
    return replace(entry, summary=book.summary, steps=tuple(step.step for step in book.entries))


def package_steps() -> tuple[PackageStep, ...]:
    """What installed packages bring, as far as it can be told without loading them."""
    return tuple(
        PackageStep(step=one.name, package=one.package, refused=one.refused) for one in all_steps().offers
    )


def _own_files(inventory: Path | None) -> list[Path]:
    if inventory is None:
        return []
    folder = (inventory if inventory.is_dir() else inventory.parent) / OWN_FOLDER
    try:
        return [path for path in folder.iterdir() if path.suffix == _SUFFIX] if folder.is_dir() else []
    except OSError as error:
        raise UsageError(f"cannot look for playbooks in {folder}: {error.strerror}") from error
