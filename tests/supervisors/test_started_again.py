"""What starts a service again and was not found to: it is named, and ends the run, whatever the playbook does after a failed rung."""

from dataclasses import replace

import pytest
from node_scenes import NODE, SHELL, launcher, observe
from supervisor_scenes import keepers, under

from fleetops.checks import judge
from fleetops.model.command import Outcome
from fleetops.model.fleet import Inventory
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.desk import RunDesk, Tools
from fleetops.playbook.journal import Journal
from fleetops.playbook.runner import Runner
from fleetops.steps.support.base import Situation
from fleetops.store.database import Store

BARE = replace(NODE, hypervisor="", guest=None)
STOP = Entry(step="stop-service", options={"grace": 0}, until=("ranks",), deadline_s=60, on_failure="next")


class Prompt:
    """A node on which somebody has typed a loop at a prompt: what is ended comes again, by the login shell."""

    host = "node-174"

    def __init__(self):
        self.ended = False

    def run(self, command, on_output=None):
        self.ended = self.ended or "KILL" in command.argv
        return Outcome(status=0, stdout="{}")

    def look(self):
        fresh = replace(launcher(), pid=9000, pgid=9000, sid=9000, ppid=SHELL.pid, start_ticks=99_000)
        return observe(*((fresh,) if self.ended else under(SHELL.pid)), node=BARE, facts=keepers())


@pytest.mark.parametrize("on_failure", ["stop", "next"])
def test_a_loop_that_was_typed_at_a_prompt_is_named_and_the_shell_is_left_alone(tmp_path, on_failure):
    node = Prompt()
    tools = Tools(
        inventory=Inventory(path=".", nodes={"node-174": BARE}),
        observe=node.look,
        prove=lambda situation: situation,
        session=lambda _name: node,
        store=Store(tmp_path),
        sink=lambda _event: None,
        sleep=lambda _seconds: None,
    )
    now = node.look()
    situation = Situation(
        inventory=tools.inventory, observation=now, findings=judge(now), before=now, run_id="run"
    )
    book = Playbook(name="kill", summary="", entries=(replace(STOP, on_failure=on_failure), STOP))
    result = Runner(book, RunDesk(tools, Journal(tmp_path, "run"), situation)).run()
    assert (result.status, result.guard) == ("refused", "supervisor")
    assert f"has been started again by pid {SHELL.pid} (-bash) on node-174" in result.why
