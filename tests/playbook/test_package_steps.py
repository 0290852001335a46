"""Steps of packages: found by their entry point, loaded when a playbook names one, refused with the package's name."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import clean_environment
from package_site import install

from fleetops.model.errors import Refused
from fleetops.steps import shipped_steps
from fleetops.steps.support.packages import Steps, StepUnusable

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/step-package"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
BOOK = "summary: x\nsteps:\n  - step: least-uptime\n    options: {least: 1h}\n  - step: keep-evidence\n"
STEP = """
from fleetops.model.plan import PlannedStep
from fleetops.steps.support.base import OptionSpec, Step
STEP = Step(name="NAME", summary="x", plan=lambda s, o: PlannedStep(step="NAME", title="x"), run=lambda d, o: "x"EXTRA)
"""


class Site:
    """A folder on Python's path, as an installer would leave it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        self.site.mkdir()

    def install(self, package: str, points: str, modules: dict[str, str], version: str = "1.0") -> None:
        install(self.site, package, points, modules, version)

    def install_step(self, package: str, name: str, extra: str = "", text: str = "") -> None:
        module = package.replace("-", "_")
        source = text or STEP.replace("NAME", name).replace("EXTRA", extra)
        self.install(package, f"[fleetops.steps]\n{name} = {module}:STEP\n", {module: source})

    def book(self, text: str) -> str:
        path = self.folder / "book.yaml"
        path.write_text(text)
        return str(path)

    def __call__(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "fleetops", *words],
            cwd=self.folder,
            env={**clean_environment(), "PYTHONPATH": str(self.site), "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert "defect in fleetops" not in done.stderr
        return done


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def example(site: Site) -> Site:
    """The example of the documentation, installed."""
    points = PROJECT["entry-points"]["fleetops.steps"]
    text = "[fleetops.steps]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
    site.install(PROJECT["name"], text, {"fleetops_uptime": (EXAMPLE / "fleetops_uptime.py").read_text()})
    return site


def using(name: str) -> str:
    return f"summary: x\nsteps:\n  - step: {name}\n"


def test_a_package_brings_a_step_that_playbooks_can_name(example):
    checked = example("playbook", "check", example.book(BOOK))
    assert (checked.returncode, checked.stdout) == (0, f"{example.folder}/book.yaml: no problem\n")


def test_its_options_are_checked_like_those_of_shipped_steps(example):
    checked = example("playbook", "check", example.book(BOOK.replace("least: 1h", "most: 1h")))
    assert checked.returncode == 2
    assert "book.yaml:4:15" in checked.stderr


def test_it_is_listed_with_its_package(example):
    body = json.loads(example("playbook", "list", "--json").stdout)
    assert body["package_steps"] == [
        {"step": "least-uptime", "package": "fleetops-uptime 1.0", "refused": ""}
    ]


def test_without_the_package_the_step_is_not_known(site):
    checked = site("playbook", "check", site.book(BOOK))
    assert checked.returncode == 2
    assert "book.yaml:3:11" in checked.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("STEP = 3", "is no fleetops.steps.support.base.Step, but int"),
        ("OTHER = 3", "AttributeError"),
        ("raise SystemExit('goodbye')", "SystemExit: goodbye"),
        (STEP.replace("NAME", "other").replace("EXTRA", ""), "calls itself other"),
        (
            STEP.replace("NAME", "ours").replace(
                "EXTRA", ", options={'n': OptionSpec(kind='float', default=1, meaning='x')}"
            ),
            "has an option of kind float",
        ),
        (STEP.replace("NAME", "ours").replace("EXTRA", ", guards=('identiti',)"), "names guard identiti"),
    ],
    ids=["import", "no-step", "no-attribute", "exit", "other-name", "option", "guard"],
)
def test_a_broken_one_is_named_where_a_playbook_names_it(site, text, told):
    site.install_step("fleetops-ours", "ours", text=text)
    checked = site("playbook", "check", site.book(using("ours")))
    assert checked.returncode == 2
    assert "book.yaml:3:11" in checked.stderr
    assert "fleetops-ours 1.0" in checked.stderr or "guard" in told
    assert told in checked.stderr


def test_a_broken_one_disturbs_no_other_playbook(site):
    site.install_step("fleetops-ours", "ours", text="import no_such_module")
    assert site("playbook", "check", "recover").returncode == 0
    listed = json.loads(site("playbook", "list", "--json").stdout)
    assert [one["problems"] for one in listed["playbooks"]] == [[]] * len(listed["playbooks"])


def test_a_shipped_name_stays_the_shipped_steps(site):
    site.install_step("fleetops-evil", "stop-service", text="raise RuntimeError('loaded')")
    assert site("playbook", "check", "kill").returncode == 0
    checked = site("playbook", "check")
    assert checked.returncode == 1
    assert "refused: a shipped step has that name" in checked.stdout
    assert "fleetops-evil 1.0" in checked.stdout


def test_two_packages_with_one_name_are_both_refused(site):
    site.install_step("fleetops-a", "ours")
    site.install_step("fleetops-b", "ours")
    checked = site("playbook", "check", site.book(using("ours")))
    assert checked.returncode == 2
    assert "fleetops-a 1.0" in checked.stderr
    assert "fleetops-b 1.0" in checked.stderr


def test_a_package_whose_entry_points_make_no_sense_is_told_and_the_others_are_there(site):
    site.install("fleetops-odd", "[fleetops.steps]\nthis is no entry point\n", {})
    site.install_step("fleetops-ours", "ours")
    assert site("playbook", "check", site.book(using("ours"))).returncode == 0
    steps = json.loads(site("playbook", "list", "--json").stdout)["package_steps"]
    odd = next(one for one in steps if one["package"] == "fleetops-odd 1.0")
    assert "its entry points cannot be read" in odd["refused"]


def test_nothing_of_a_package_is_loaded_by_other_commands(site):
    left = site.folder / "loaded"
    site.install_step("fleetops-ours", "ours", text=f"open({str(left)!r}, 'w')")
    for words in (("playbook", "list"), ("playbook", "check"), ("runs",), ("playbook", "check", "recover")):
        site(*words)
    assert not left.exists()
    site("playbook", "check", site.book(using("ours")))
    assert left.exists()


def test_a_defect_in_a_step_is_told_as_its_packages(site, monkeypatch):
    text = (
        STEP.replace("NAME", "ours")
        .replace("EXTRA", "")
        .replace('run=lambda d, o: "x"', "run=lambda d, o: d.no")
    )
    site.install_step("fleetops-defect", "ours", text=text)
    monkeypatch.syspath_prepend(str(site.site))
    step = Steps(shipped_steps())["ours"]
    assert step.plan(None, None).step == "ours"
    with pytest.raises(StepUnusable) as caught:
        step.run(object(), step.settle({}))
    told = "step ours of package fleetops-defect 1.0 has failed in its run: AttributeError: 'object' object has no"
    assert caught.value.message.startswith(told)
    assert "(fleetops_defect.py:" in caught.value.message


def test_what_a_step_says_itself_stays_its_own_word(site, monkeypatch):
    text = "from fleetops.model.errors import Refused\n" + STEP.replace("NAME", "ours").replace("EXTRA", "")
    text += "from dataclasses import replace\ndef no(desk, options): raise Refused('no', guard='g')\nSTEP = replace(STEP, run=no)\n"
    site.install_step("fleetops-refusing", "ours", text=text)
    monkeypatch.syspath_prepend(str(site.site))
    with pytest.raises(Refused, match=r"^no$"):
        Steps(shipped_steps())["ours"].run(None, None)
