"""Whether recover has anything to do: only a whole service that really generates is well; unknown is neither."""

import json
from dataclasses import replace

import pytest
from node_scenes import NODE, detokenizer, holders, launcher, listener, missing, observe, rank

from fleetops.checks import judge
from fleetops.fleet.health import judge_health
from fleetops.model.errors import Refused, Unknown
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.machine import HOLDERS, LISTENERS
from fleetops.model.session import Answer
from fleetops.steps.support.base import Situation

WHOLE = (launcher(), *(rank(number) for number in range(8)), detokenizer())
SERVING = {LISTENERS: (listener(4121),), HOLDERS: holders(*range(4130, 4138))}
ANSWER = Answer(200, json.dumps({"text": " yes", "meta_info": {"completion_tokens": 4}}).encode())


class Service:
    """The node's session and its HTTP port in one; answers from a script, the last one for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def session(self, host):
        return self

    def request(self, port, method, path, body=None, *, deadline_s=10.0):
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def situation(*processes, facts=None, **options):
    observation = observe(*processes, facts=facts or {}, **options)
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
    )


def test_a_whole_service_that_generates_is_well():
    health = judge_health(situation(*WHOLE, facts=SERVING), Service(ANSWER))
    assert "4 tokens were generated" in health.well


@pytest.mark.parametrize(
    "answer",
    [Answer(503, b""), Answer(200, b"{}"), TimeoutError(), ConnectionRefusedError()],
    ids=["503", "200 without tokens", "no answer", "refused"],
)
def test_processes_that_live_and_do_not_generate_are_not_well(answer):
    health = judge_health(situation(*WHOLE, facts=SERVING), Service(answer))
    assert health.well == ""
    assert health.situation.findings[0].check == "not-generating"


def test_one_silence_of_a_busy_server_is_not_believed():
    service = Service(TimeoutError(), ANSWER)
    assert judge_health(situation(*WHOLE, facts=SERVING), service).well
    assert service.asked == 2


def test_a_service_that_is_missing_is_not_well_and_is_not_asked():
    service = Service(ANSWER)
    assert judge_health(situation(), service).well == ""
    assert service.asked == 0


def test_facts_that_are_missing_are_no_reason_to_act_and_no_health():
    with pytest.raises(Unknown, match="cannot be told"):
        judge_health(situation(*WHOLE, facts={**SERVING, GPUS: missing()}), Service(ANSWER))


def test_a_service_that_is_coming_up_is_left_to_come_up():
    starting = (launcher(),)
    with pytest.raises(Refused) as caught:
        judge_health(situation(*starting), Service(ANSWER))
    assert caught.value.guard == "starting"


def test_without_a_profile_and_with_nothing_wrong_there_is_nothing_to_do():
    node = replace(NODE, profile="")
    assert "no profile" in judge_health(situation(node=node, profile=None), Service(ANSWER)).well
