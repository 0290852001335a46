"""What a node's facts add up to: the verdict, and where memory, GPUs and ranks went."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fleetops.fleet.summary import summarise
from fleetops.model.engine import Rank
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS, Gpus, LostGpu
from fleetops.model.machine import HOLDERS, LISTENERS, MEMORY, PROCESSES, SEGMENTS, Holder, Listener
from fleetops.model.report import PortUse, Verdict
from fleetops.model.units import GB, GIB

Changed = Callable[..., Observation]
TIMED_OUT = Missing(Gap.TIMED_OUT, "no answer in 10 s")


def answering(**changes: object) -> PortUse:
    return replace(PortUse(port=30000, listens=True, answers=True), **changes)


class TestVerdict:
    def test_nothing_runs_and_nothing_is_held(self, idle: Observation) -> None:
        assert summarise(idle).verdict is Verdict.IDLE

    def test_every_rank_lives_and_the_port_answers(self, serving: Observation) -> None:
        assert summarise(serving, answering()).verdict is Verdict.SERVING

    def test_every_rank_lives_and_the_port_is_silent(self, serving: Observation) -> None:
        silent = answering(answers=None, silent=True)
        assert summarise(serving, silent).verdict is Verdict.SILENT

    def test_every_rank_lives_and_the_port_says_not_yet(self, serving: Observation) -> None:
        assert summarise(serving, answering(answers=False)).verdict is Verdict.STARTING

    def test_a_rank_in_d_for_a_moment_is_still_there(self, serving: Observation, changed: Changed) -> None:
        (one,) = serving.services
        first, *others = one.ranks
        waiting = Rank(number=0, process=replace(first.process, state="D"))
        seen = changed(serving, {}, services=(replace(one, ranks=(waiting, *others)),))
        assert summarise(seen, answering()).verdict is Verdict.SERVING

    def test_dead_ranks_wedge_it_whatever_the_port_says(self, wedged: Observation) -> None:
        assert summarise(wedged, answering()).verdict is Verdict.WEDGED

    def test_ranks_without_their_launcher_are_wedged(self, serving: Observation, changed: Changed) -> None:
        (one,) = serving.services
        orphans = changed(serving, {}, services=(replace(one, launcher=None),))
        assert summarise(orphans, answering()).verdict is Verdict.WEDGED

    def test_before_the_first_rank_has_its_title_it_is_starting(
        self, serving: Observation, changed: Changed
    ) -> None:
        (one,) = serving.services
        loading = changed(serving, {LISTENERS: ()}, services=(replace(one, ranks=()),))
        assert summarise(loading).verdict is Verdict.STARTING

    def test_ranks_that_are_missing_without_a_trace_wedge_it(
        self, serving: Observation, changed: Changed
    ) -> None:
        (one,) = serving.services
        lost = changed(serving, {}, services=(replace(one, ranks=one.ranks[:3]),))
        assert summarise(lost, answering()).verdict is Verdict.WEDGED

    def test_gpu_memory_that_nobody_holds_is_not_clean(self, idle: Observation, changed: Changed) -> None:
        assert summarise(changed(idle, {GPUS: gpu_list(idle, 30 * GIB)})).verdict is Verdict.UNCLEAN

    @pytest.mark.parametrize("fact", [PROCESSES, GPUS, SEGMENTS], ids=lambda key: key.name)
    def test_an_idle_look_with_a_fact_missing_is_unknown(
        self, idle: Observation, changed: Changed, fact: object
    ) -> None:
        assert summarise(changed(idle, {fact: TIMED_OUT})).verdict is Verdict.UNKNOWN

    def test_a_service_whose_port_could_not_be_read_is_unknown(
        self, serving: Observation, changed: Changed
    ) -> None:
        assert summarise(changed(serving, {LISTENERS: TIMED_OUT})).verdict is Verdict.UNKNOWN


def test_another_machine_is_not_idle(idle: Observation) -> None:
    another = replace(idle, node=replace(idle.node, machine_id="0bad"))
    assert summarise(another).verdict is Verdict.ANOTHER


LOST = Gpus(
    driver_version="570",
    gpus=(),
    problems=("GPU 1 is lost",),
    lost=(LostGpu(bdf="0000:01:00.0", said="GPU 1 is lost"),),
    listed=7,
)


def test_a_lost_gpu_is_the_headline(
    idle: Observation, serving: Observation, wedged: Observation, changed: Changed
) -> None:
    assert summarise(changed(idle, {GPUS: LOST})).verdict is Verdict.GPU_LOST
    assert summarise(changed(serving, {GPUS: LOST}), answering()).verdict is Verdict.GPU_LOST
    assert summarise(changed(wedged, {GPUS: LOST})).verdict is Verdict.WEDGED


@pytest.mark.parametrize("failing", [(("fb_memory_usage/used", "ERR!"),), None], ids=["one", "all"])
def test_gpus_of_which_no_memory_was_read_are_not_idle(
    idle: Observation, changed: Changed, failing: tuple[tuple[str, str], ...] | None
) -> None:
    seen = idle.node_facts.value(GPUS)
    assert seen is not None
    unread = tuple(replace(gpu, failing=failing) for gpu in seen.gpus[:1]) if failing else ()
    found = summarise(changed(idle, {GPUS: replace(seen, gpus=unread)}))
    assert found.gpus is not None
    assert found.gpus.unread
    assert found.verdict is not Verdict.IDLE


def gpu_list(observation: Observation, used_bytes: int) -> object:
    seen = observation.node_facts.value(GPUS)
    assert seen is not None
    return replace(seen, gpus=tuple(replace(gpu, memory_used_bytes=used_bytes) for gpu in seen.gpus))


class TestMemory:
    def test_what_nobody_accounts_for_is_named(self, wedged: Observation) -> None:
        memory = summarise(wedged).memory
        assert memory is not None
        # 439.4 gone: 4 idle, 12 shared and unmapped, 20 in processes (a ghost's threads included).
        assert round(memory.gone_bytes / GB, 1) == 439.4
        assert memory.processes_bytes is not None
        assert round(memory.processes_bytes / GB) == 20
        assert memory.unexplained_bytes is not None
        assert round(memory.unexplained_bytes / GB) == 403

    def test_an_idle_node_has_nothing_to_explain(self, idle: Observation) -> None:
        memory = summarise(idle).memory
        assert memory is not None
        assert memory.unexplained_bytes == 0
        assert memory.largest == ()

    def test_shared_memory_that_is_mapped_is_not_counted_twice(
        self, wedged: Observation, changed: Changed
    ) -> None:
        segments = wedged.node_facts.value(SEGMENTS)
        assert segments is not None
        mapped = changed(wedged, {SEGMENTS: tuple(replace(one, mappers=(4121,)) for one in segments)})
        memory = summarise(mapped).memory
        assert memory is not None
        assert memory.unexplained_bytes is not None
        assert round(memory.unexplained_bytes / GB) == 403 + 12

    def test_pss_wins_over_rss(self, serving: Observation, changed: Changed) -> None:
        table = serving.node_facts.value(PROCESSES)
        assert table is not None
        read = changed(serving, {PROCESSES: tuple(replace(one, pss_bytes=GB) for one in table)})
        memory = summarise(read).memory
        assert memory is not None
        assert memory.processes_bytes == len(table) * GB

    def test_without_a_process_table_nothing_is_explained(self, idle: Observation, changed: Changed) -> None:
        memory = summarise(changed(idle, {PROCESSES: TIMED_OUT})).memory
        assert memory is not None
        assert memory.unexplained_bytes is None

    def test_without_meminfo_there_is_no_memory_part(self, idle: Observation, changed: Changed) -> None:
        assert summarise(changed(idle, {MEMORY: TIMED_OUT})).memory is None


class TestGpus:
    def test_dead_and_stuck_ranks_are_told_apart(self, wedged: Observation) -> None:
        gpus = summarise(wedged).gpus
        assert gpus is not None
        assert gpus.holders is not None
        assert [holder.kind for holder in gpus.holders] == ["zombie leader", "zombie leader", "rank in D"]

    def test_idle_use_is_not_held(self, idle: Observation, changed: Changed) -> None:
        seen = idle.node_facts.value(GPUS)
        assert seen is not None
        assert idle.baseline is not None
        resting = replace(idle.baseline, gpu_used_bytes={gpu.uuid: GIB for gpu in seen.gpus})
        gpus = summarise(replace(changed(idle, {GPUS: gpu_list(idle, GIB)}), baseline=resting)).gpus
        assert gpus is not None
        assert (gpus.held_bytes, gpus.holding) == (0, ())

    def test_a_stranger_on_the_gpus_is_a_process(self, idle: Observation, changed: Changed) -> None:
        gpus = summarise(changed(idle, {HOLDERS: (Holder(pid=1, tid=1, path="/dev/nvidia0"),)})).gpus
        assert gpus is not None
        assert gpus.holders is not None
        assert [(holder.kind, holder.pid) for holder in gpus.holders] == [("process", 1)]

    def test_holders_that_could_not_be_read_are_not_nobody(
        self, wedged: Observation, changed: Changed
    ) -> None:
        gpus = summarise(changed(wedged, {HOLDERS: TIMED_OUT})).gpus
        assert gpus is not None
        assert gpus.holders is None


class TestRanks:
    def test_the_incident(self, wedged: Observation) -> None:
        ranks = summarise(wedged).ranks
        assert ranks is not None
        assert (len(ranks.zombies), len(ranks.ghosts), len(ranks.stuck), len(ranks.live)) == (5, 2, 1, 0)
        assert [parent.pid for parent in ranks.negligent] == [4121]
        assert ranks.expected == 8


class TestPort:
    def test_a_socket_without_a_visible_owner(self, wedged: Observation) -> None:
        port = summarise(wedged).port
        assert port is not None
        assert (port.port, port.listens, port.owners) == (30000, True, ())

    def test_the_profile_names_the_port_of_an_idle_node(self, idle: Observation, changed: Changed) -> None:
        taken = changed(idle, {LISTENERS: (Listener(port=30000, address="::", inode=1, owners=(1,)),)})
        port = summarise(taken).port
        assert port is not None
        assert port.listens
        assert summarise(taken).verdict is Verdict.UNCLEAN
