"""Which source would run: what the profile's own interpreter imports is what counts, asked as a start would ask it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import NODE
from proof_scenes import asking, launching

from fleetops.fleet.prove import Running, is_interpreter, prove, source_to_run
from fleetops.model.engine import ENGINE_SOURCE, EngineSource
from fleetops.model.errors import Unreachable
from fleetops.model.proof import Explanation

PYTHON = (sys.executable,)


@pytest.fixture
def site(tmp_path: Path):
    """Make a folder with a package sglang of this release; gives the package's folder."""

    def make(name: str, version: str = "0.5.9") -> Path:
        package = tmp_path / name / "sglang"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise SystemExit('it must not be imported')\n")
        (package / "version.py").write_text(f'__version__ = "{version}"\n')
        return package

    return make


def running(
    session: LocalSession, *, imports: Path | None, found: Path | None, named: str = "", command=PYTHON
) -> Running:
    environment = {"PYTHONPATH": str(imports.parent)} if imports else {}
    profile = asking(command=command, environment=environment)
    facts = (
        {ENGINE_SOURCE: EngineSource(engine="sglang", version="0.5.9", folder=str(found))} if found else {}
    )
    situation = launching(profile, facts=facts, node=replace(NODE, source=named))
    return source_to_run(situation, profile, session.run)


def test_what_was_found_and_is_imported_is_read(site):
    package = site("one")
    seen = running(LocalSession(), imports=package, found=package)
    assert (seen.source.folder, seen.doubt, seen.note) == (str(package), "", "")


def test_a_link_to_the_same_folder_is_the_same(site, tmp_path):
    package = site("one")
    (tmp_path / "link").symlink_to(package.parent)
    seen = running(
        LocalSession(), imports=package, found=tmp_path / "link/sglang", named=str(tmp_path / "link")
    )
    assert (seen.source.folder, seen.doubt) == (str(tmp_path / "link/sglang"), "")


def test_what_the_inventory_names_and_the_interpreter_would_not_import_proves_nothing(site):
    named, other = site("named"), site("other")
    seen = running(LocalSession(), imports=other, found=named, named=str(named))
    assert seen.source is None
    assert str(named) in seen.doubt
    assert str(other) in seen.doubt


def test_without_a_name_in_the_inventory_the_interpreters_own_package_is_read_with_its_own_release(site):
    found, imported = site("found"), site("imported", "0.5.23")
    seen = running(LocalSession(), imports=imported, found=found)
    assert (seen.source.folder, seen.source.version) == (str(imported), "0.5.23")


def test_an_interpreter_that_finds_nothing_leaves_a_found_folder_in_doubt_and_a_named_one_at_its_word(site):
    package = site("one")
    assert (
        "finds no package sglang, though one lies in"
        in running(LocalSession(), imports=None, found=package).doubt
    )
    named = running(LocalSession(), imports=None, found=package, named=str(package))
    assert named.source.folder == str(package)
    assert "by itself finds no sglang" in named.note


def test_where_nothing_is_found_at_all_it_is_said():
    assert "finds no package sglang" in running(LocalSession(), imports=None, found=None).doubt


def test_what_the_facts_could_not_see_is_looked_for_as_root(site):
    package, session = site("one"), LocalSession()
    seen = running(session, imports=package, found=None, named=str(package))
    assert (seen.source.folder, seen.doubt) == (str(package), "")
    assert all(command.root for command in session.ran)


def test_an_interpreter_that_is_not_there_cannot_be_asked(site):
    package = site("one")
    seen = running(LocalSession(), imports=package, found=package, command=("python3.99",))
    assert "could not be asked" in seen.doubt


def test_a_wrapper_is_not_run_to_be_asked_and_the_plan_says_so(site, tmp_path):
    package, trace = site("one"), tmp_path / "ran"
    wrapper = tmp_path / "serve.sh"
    wrapper.write_text(f"#!/bin/sh\ntouch {trace}\n")
    wrapper.chmod(0o755)
    seen = running(LocalSession(), imports=package, found=package, command=(str(wrapper),))
    assert seen.source.folder == str(package)
    assert "is a wrapper that cannot be asked" in seen.note
    assert not trace.exists()


@pytest.mark.parametrize(
    ("command", "can_be_asked"),
    [
        ("python3", True),
        ("/opt/venv/bin/python3.12 -u", True),
        ("numactl --interleave=all /usr/bin/python3", True),
        ("env OMP_NUM_THREADS=1 nice", False),
        ("env OMP_NUM_THREADS=1 python3", True),
        ("taskset -c 0-15 python3 -X utf8", False),
        ("python3 serve.py", False),
        ("python3 -m wrapper", False),
        ("sh -c python3", False),
        ("nice serve.sh python3", False),
        ("uv run python", False),
        ("docker run sglang python3", False),
    ],
)
def test_only_a_plain_interpreter_is_asked(command, can_be_asked):
    assert is_interpreter(tuple(command.split())) is can_be_asked


def test_secrets_of_the_environment_never_stand_in_an_argv(site):
    package, session = site("one"), LocalSession()
    profile = asking(command=PYTHON, environment={"PYTHONPATH": str(package.parent), "HF_TOKEN": "s3cret"})
    situation = launching(profile, node=replace(NODE, source=str(package)))
    source_to_run(situation, profile, session.run)
    assert not any("s3cret" in word for command in session.ran for word in command.argv)


def test_a_profile_for_another_engine_than_the_nodes_is_looked_up_by_its_own_package(tmp_path):
    package = tmp_path / "lib" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    profile = asking(engine="vllm", command=PYTHON, environment={"PYTHONPATH": str(package.parent)})
    facts = {ENGINE_SOURCE: EngineSource(engine="sglang", version="0.5.9", folder="/root/sglang")}
    seen = source_to_run(launching(profile, facts=facts), profile, LocalSession().run)
    assert (seen.source.engine, seen.source.folder) == ("vllm", str(package))


def test_a_node_that_cannot_be_asked_leaves_every_flag_unproven_with_the_reason():
    def lost(command):
        raise Unreachable("node-174: connection lost", host="node-174")

    after = prove(launching(asking()), lost, pytest.fail)
    assert after.proofs["hicache_size"].verdict == "unproven"
    assert after.proofs["hicache_size"].unproven_because == "node-174: connection lost"


def test_the_models_config_is_read_with_it(site, tmp_path):
    package = site("one")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"num_hidden_layers": 61}))
    profile = asking(command=PYTHON, environment={"PYTHONPATH": str(package.parent)}, model=str(model))
    found = EngineSource(engine="sglang", version="0.5.9", folder=str(package))
    read: list[str] = []

    def explain(ask, source, flags):
        read.append(source.folder)
        return {
            flag: Explanation(flag=flag, engine="sglang", version="0.5.9", verdict="proven") for flag in flags
        }

    after = prove(launching(profile, facts={ENGINE_SOURCE: found}), LocalSession().run, explain)
    assert after.model_config == {"num_hidden_layers": 61}
    assert read == [str(package)]
