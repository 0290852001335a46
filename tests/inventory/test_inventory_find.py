"""The inventory is looked for in a fixed order, and what was named must exist."""

import pytest

from fleetops.inventory import find_inventory
from fleetops.model.errors import UsageError


@pytest.fixture
def places(tmp_path):
    """A home and a working folder, each with an inventory, and one that only a name leads to."""
    for folder in ("home/.config/fleetops", "xdg/fleetops", "cwd/inventory", "named"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "fleet.yaml").write_text("nodes: {}")
    return tmp_path


def find(places, option=None, **environ):
    return find_inventory(option, environ=environ, cwd=places / "cwd").relative_to(places)


def test_the_option_wins(places):
    assert str(find(places, str(places / "named"), FLEETOPS_INVENTORY="elsewhere")) == "named"


def test_then_the_variable_relative_to_the_working_folder(places):
    found = find_inventory(None, environ={"FLEETOPS_INVENTORY": "../named"}, cwd=places / "cwd")
    assert found.resolve() == places / "named"


def test_then_the_folder_that_stands_here(places):
    assert str(find(places, HOME=str(places / "home"))) == "cwd/inventory"


def test_then_the_users_own(places):
    (places / "cwd/inventory/fleet.yaml").unlink()
    assert str(find(places, HOME=str(places / "home"))) == "home/.config/fleetops"
    assert str(find(places, HOME="/nowhere", XDG_CONFIG_HOME=str(places / "xdg"))) == "xdg/fleetops"


def test_an_empty_variable_names_nothing(places):
    assert str(find(places, FLEETOPS_INVENTORY="")) == "cwd/inventory"


def test_home_may_be_written_as_a_tilde(places):
    assert str(find(places, "~/.config/fleetops", HOME=str(places / "home"))) == "home/.config/fleetops"


@pytest.mark.parametrize(
    ("option", "environ", "by"),
    [("no", {}, "--inventory"), (None, {"FLEETOPS_INVENTORY": "no"}, "$FLEETOPS_INVENTORY")],
)
def test_what_was_named_must_exist(places, option, environ, by):
    with pytest.raises(UsageError) as caught:
        find(places, option, **environ)
    assert caught.value.message == f"the inventory that {by} names does not exist: {places}/cwd/no"


def test_where_there_is_none_every_place_is_named(tmp_path):
    with pytest.raises(UsageError) as caught:
        find_inventory(None, environ={"HOME": "/home/me"}, cwd=tmp_path)
    for place in (
        "--inventory",
        "$FLEETOPS_INVENTORY",
        f"{tmp_path}/inventory/fleet.yaml",
        "/home/me/.config/fleetops/fleet.yaml",
    ):
        assert place in caught.value.message
    assert "fleetops lab up" in caught.value.hint
