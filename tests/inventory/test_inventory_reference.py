"""The reference page says what the definitions say now."""

import subprocess
import sys
from pathlib import Path

import pytest

from fleetops.inventory import definitions as keys
from fleetops.inventory.reference import reference, with_reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "inventory.md"


def test_the_page_is_current():
    page = PAGE.read_text()
    assert with_reference(page) == page, "run: python -m fleetops.inventory.reference docs/inventory.md"


def test_every_key_has_its_row():
    for record in (keys.NODE, keys.HYPERVISOR, keys.PROFILE, keys.GUEST, keys.SETTINGS, keys.HOST_MEMORY):
        for field in record.fields:
            assert f"| `{field.key}` |" in reference()


def test_the_command_writes_the_page(tmp_path):
    stale = tmp_path / "page.md"
    head, _, rest = PAGE.read_text().partition("### fleet.yaml")
    stale.write_text(head + "### old\n" + rest)
    subprocess.run([sys.executable, "-m", "fleetops.inventory.reference", str(stale)], check=True)
    assert stale.read_text() == PAGE.read_text()


def test_a_page_without_the_marks_is_refused():
    with pytest.raises(ValueError, match="no marks"):
        with_reference("# A page\n")
