"""docs/releases.md is a table that a person can rely on: dated, complete, every row with every cell."""

import re
from pathlib import Path

import yaml
from release_truth import HERE

PAGE = Path(__file__).resolve().parents[3] / "docs/releases.md"
PLACE = re.compile(r"[\w/]+\.py:\d+")


def tables() -> dict[str, list[list[str]]]:
    """The title of each section -> its rows, the head first."""
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif line.startswith("|") and not line.startswith("| ---"):
            found.setdefault(title, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def test_the_page_has_the_day_on_which_it_was_written() -> None:
    assert re.search(r"on 20\d\d-\d\d-\d\d: ", PAGE.read_text())


def test_every_row_has_every_cell() -> None:
    for title, (head, *rows) in tables().items():
        assert rows, title
        assert {len(row) for row in rows} == {len(head)}, title


def test_every_release_that_was_read_is_there() -> None:
    read = set(yaml.safe_load((HERE / "places.yaml").read_text()))
    shown = {row[0] for row in tables()["SGLang `hicache_size`"][1:]}
    assert read <= shown


def test_what_is_proven_is_shown_with_its_places() -> None:
    for title, (head, *rows) in tables().items():
        for row in (dict(zip(head, cells, strict=True)) for cells in rows):
            if row["verdict"] == "proven":
                assert row["unit"], (title, row)
                assert row["scope"], (title, row)
                assert PLACE.search(row["declared"]), (title, row)
                assert PLACE.search(row["size made of it"]), (title, row)
