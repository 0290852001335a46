"""A stop whose looks fail, or show an end that systemd has not noticed: what could not be read is not gone."""

from node_scenes import NODE, detokenizer, launcher, missing, observe, rank
from supervisor_scenes import keepers, loop, under, unit

from fleetops.checks import judge
from fleetops.model.command import Outcome
from fleetops.model.fleet import Inventory
from fleetops.model.machine import PROCESSES
from fleetops.steps.stop_service import STEP
from fleetops.steps.support.base import Situation

WHOLE = (launcher(), *(rank(number) for number in range(8)), detokenizer())
SEEN = {f"{one.pid}:{one.start_ticks}" for one in WHOLE}
UNREAD = observe(facts={PROCESSES: missing()})


class FailingEyes:
    """A desk that sees `first`, then each of `then`, the last for ever; its clock is moved by waiting alone."""

    def __init__(self, first, *then):
        self.first, self.then = first, list(then)
        self.situation = self._seen(first)
        self.signals = []
        self.clock = 0.0

    def _seen(self, observation):
        return Situation(
            inventory=Inventory(path=".", nodes={NODE.name: NODE}),
            observation=observation,
            findings=judge(observation),
            before=self.first,
            run_id="run",
        )

    def look(self):
        self.situation = self._seen(self.then.pop(0) if len(self.then) > 1 else self.then[0])
        return self.situation

    def change(self, action):
        signal, *processes = action.command.argv[4:]
        self.signals.append((signal, set(processes)))
        return Outcome(status=0)

    def tell(self, text):
        pass

    def now(self):
        return self.clock

    def wait(self, seconds):
        self.clock += seconds


def stopped(desk):
    return STEP.run(desk, STEP.settle({"grace": 2, "broken-grace": 2}))


def test_a_table_that_is_never_read_again_ends_nobodys_grace_and_no_kill_is_left_out():
    desk = FailingEyes(observe(*WHOLE), UNREAD)
    assert stopped(desk) == "0 ended on TERM, 10 by KILL"
    assert desk.signals == [("TERM", SEEN), ("KILL", SEEN)]
    assert desk.clock == 2


def test_a_table_that_is_read_again_is_believed():
    desk = FailingEyes(observe(*WHOLE), UNREAD, observe())
    assert stopped(desk) == "10 ended on TERM"
    assert desk.signals == [("TERM", SEEN)]


def test_a_loops_shell_that_cannot_be_seen_to_be_gone_is_killed_before_what_it_started():
    desk = FailingEyes(observe(*under(2000), loop(), facts=keepers()), UNREAD)
    stopped(desk)
    shell = {"2000:12000"}
    assert desk.signals[:2] == [("TERM", shell), ("KILL", shell)]


def going_down(sub="final-sigterm"):
    by = unit(active="deactivating", sub=sub, pids=(), main_pid=0)
    return observe(facts=keepers(units=(by,)))


def test_a_unit_that_systemd_still_takes_down_is_waited_for():
    ended = observe(facts=keepers(units=(unit(active="inactive", sub="dead", pids=(), main_pid=0),)))
    desk = FailingEyes(observe(*WHOLE, facts=keepers(units=(unit(),))), going_down(), going_down(), ended)
    assert stopped(desk).startswith("10 ended when asked; stopped through unit sglang.service")
    assert desk.clock == 1


def test_and_no_longer_than_systemd_itself_waits():
    desk = FailingEyes(observe(*WHOLE, facts=keepers(units=(unit(),))), going_down())
    stopped(desk)
    assert desk.clock == 100
