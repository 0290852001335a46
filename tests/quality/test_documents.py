"""The generated pages say what the program does now, and links in the documents lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_the_generated_pages_are_current() -> None:
    checked = subprocess.run(
        [sys.executable, "tools/document.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize(
    "usage",
    [
        "fleetops run [options] HOSTS [HOSTS ...] (-- COMMAND [ARGUMENT ...] | --shell LINE)",
        'fleetops launch --profile P [--measure] [--dry-run] [--scripts] [--yes] [--waive GUARD="REASON"] [NODES ...]',
        "fleetops inventory check",
    ],
)
def test_usage_lines_are_the_parsers_own_less_what_every_command_takes(usage: str) -> None:
    assert usage in (ROOT / "docs/commands.md").read_text().splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_shown_to_the_reader_exist(page: Path) -> None:
    from fleetops.cli.program import subcommands

    known = {command.NAME for command in subcommands()} | {"COMMAND"}
    # A page of decisions or a changelog may name what is yet to come; a shell line to type may not.
    typed = re.findall(r"^\s*\$ fleetops ([a-z][-a-z]+)", page.read_text(), flags=re.MULTILINE)
    assert set(typed) <= known
