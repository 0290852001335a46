"""A load on a real HTTP server: how many at once, which prompts, what is counted, and what became of what failed."""

import threading
import time

import pytest
from fake_service import counts, serving, streamed, text
from local_session import LocalSession

from fleetops.model.load import Load, TroubleKind
from fleetops.steps.support.asking import Asking
from fleetops.steps.support.measuring import Measuring
from fleetops.steps.support.prompts import prompt

LOAD = Load(concurrency=3, prompt_tokens=20, output_tokens=10, requests=12)
WARM = 1  # what comes before the load


def asking(port, key=""):
    session = LocalSession()

    def opener(method, path, body, *, headers, deadline_s):
        return session.stream(port, method, path, body, headers=headers, deadline_s=deadline_s)

    return Asking(open=opener, key=key)


def measure(service, load=LOAD, key="", **options):
    return Measuring(asking(service.port, key), "some-model", load, **options).run()


def kinds(found):
    return {one.kind: one.count for one in found.errors}


class TestWhatIsAsked:
    def test_so_many_requests_and_never_more_at_once(self):
        with serving(streamed(step_s=0.005)) as service:
            found = measure(service)
        assert len(service.asked) == 12 + WARM
        assert service.most == 3
        assert len(found.whole) == 12
        assert found.errors == ()

    def test_every_prompt_is_another_one(self):
        with serving(streamed()) as service:
            measure(service)
        prompts = [body["prompt"] for body in service.asked]
        assert len({text[:40] for text in prompts}) == len(prompts)

    def test_two_runs_ask_different_prompts_and_the_same_seed_asks_the_same(self):
        def asked(**options):
            with serving(streamed()) as service:
                measure(service, **options)
            return {body["prompt"] for body in service.asked}

        assert not asked() & asked()
        assert asked(seed=7) == asked(seed=7)

    def test_the_prompts_get_the_asked_length_by_the_services_own_count(self):
        with serving(streamed(tokens_per_word=1.6)) as service:
            found = measure(service, Load(concurrency=2, prompt_tokens=100, output_tokens=2, requests=4))
        assert found.prompt_lengths.median == pytest.approx(100, abs=1)

    def test_the_answers_have_the_asked_length_whatever_the_model_would_end_on(self):
        with serving(streamed()) as service:
            found = measure(service)
        assert {body["max_tokens"] for body in service.asked[WARM:]} == {10}
        assert all(body["ignore_eos"] and body["temperature"] == 0 for body in service.asked)
        assert (found.output_lengths.shortest, found.output_lengths.longest) == (10, 10)

    def test_a_key_goes_into_the_header_and_nowhere_else(self):
        with serving(streamed(), key="sk-secret") as service:
            assert asking(service.port, "sk-secret").model() == "some-model"
            found = measure(service, key="sk-secret")
        assert {headers["Authorization"] for headers in service.headers} == {"Bearer sk-secret"}
        assert "sk-secret" not in repr(asking(1, "sk-secret"))
        assert found.errors == ()


class TestWhatIsCounted:
    def test_rates_and_delays_of_a_service_with_a_known_pace(self):
        with serving(streamed(step_s=0.02)) as service:
            found = measure(service, Load(concurrency=2, prompt_tokens=5, output_tokens=20, requests=6))
        assert 0.019 < found.between_tokens_s.median < 0.04
        assert 0.019 < found.first_token_s.median < 0.1
        assert 25 < found.tokens_per_s_per_stream < 51
        assert 50 < found.tokens_per_s < 105

    def test_tokens_come_from_the_counts_not_from_the_events(self):
        with serving(streamed(step_s=0.02, events_of=4)) as service:
            found = measure(service, Load(concurrency=2, prompt_tokens=5, output_tokens=40, requests=4))
        assert found.tokens_per_event == 4
        assert 100 < found.tokens_per_s_per_stream < 220

    def test_a_service_that_does_not_stream_is_measured_as_far_as_that_goes(self):
        def answer(to, body):
            time.sleep(0.05)
            to.say_json({"choices": [{"text": "x"}], **_usage(20, body["max_tokens"])})

        with serving(answer) as service:
            found = measure(service)
        assert found.not_streamed == 12
        assert found.first_token_s is None
        assert 200 < found.tokens_per_s < 3 * 10 / 0.05 * 1.2

    def test_how_far_it_is_can_be_asked_meanwhile(self):
        with serving(streamed(step_s=0.01)) as service:
            measuring = Measuring(asking(service.port), "m", LOAD)
            seen = []
            measuring.run(on_end=lambda: seen.append(measuring.tally()))
        assert [one.answered for one in seen] == sorted(one.answered for one in seen)
        assert (seen[-1].answered, seen[-1].begun, seen[-1].tokens) == (12, 12, 120)


def _usage(prompt, output):
    return {"usage": counts(prompt, output)["usage"]}


def broken_off(to, body):
    to.begin()
    to.event(text())
    to.hang_up()


def ended_early(to, body):
    to.begin()
    to.event({**text(), **_usage(20, 1)})
    to.end()


def error_event(to, body):
    to.begin()
    to.event(text())
    to.event({"error": {"message": "the KV cache is full", "code": 500}})
    to.end()


def without_counts(to, body):
    to.begin()
    to.event(text("length"))
    to.event("[DONE]")
    to.end()


def not_json(to, body):
    to.begin()
    to.chunk(b"data: {half\n\n")
    to.end()


def without_tokens(to, body):
    to.begin()
    to.event(counts(20, 0))
    to.event("[DONE]")
    to.end()


def a_page(to, body):
    to.say(b"<html>Bad gateway</html>", "text/html")


def unavailable(to, body):
    to.say_json({"object": "error", "message": "The request queue is full.", "code": 503}, 503)


def garbage(to, body):
    to.wfile.write(b"this is not HTTP\r\n\r\n")
    to.hang_up()


def short(to, body):
    to.send_response(200)
    to.send_header("Content-Type", "application/json")
    to.send_header("Content-Length", "1000")
    to.end_headers()
    to.wfile.write(b'{"choices"')
    to.hang_up()


BROKEN = {
    broken_off: (TroubleKind.BROKEN, "the answer broke off"),
    ended_early: (TroubleKind.BROKEN, "broke off"),
    error_event: (TroubleKind.SERVER_ERROR, "the KV cache is full"),
    without_counts: (TroubleKind.NO_USAGE, "usage"),
    not_json: (TroubleKind.MALFORMED, "Expecting property name"),
    without_tokens: (TroubleKind.EMPTY, "without a single token"),
    a_page: (TroubleKind.MALFORMED, "Expecting value"),
    unavailable: (TroubleKind.STATUS, "503: The request queue is full."),
    garbage: (TroubleKind.BROKEN, "not an HTTP answer"),
    short: (TroubleKind.BROKEN, "990 bytes short"),
}


class TestWhatGoesWrong:
    @pytest.mark.parametrize("answer", BROKEN, ids=lambda answer: answer.__name__)
    def test_it_is_counted_under_what_became_of_it(self, answer):
        """Every third request goes wrong; the others are measured."""
        good, number = streamed(), iter(range(100))

        def sometimes(to, body):
            (answer if next(number) % 3 == 2 else good)(to, body)

        kind, message = BROKEN[answer]
        with serving(sometimes) as service:
            found = measure(service)
        assert kinds(found) == {kind: 4}
        assert message in found.errors[0].message
        assert len(found.whole) == 8

    @pytest.mark.parametrize("answer", BROKEN, ids=lambda answer: answer.__name__)
    def test_where_all_goes_wrong_the_first_requests_end_it(self, answer):
        kind, _ = BROKEN[answer]
        with serving(answer) as service:
            found = measure(service)
        assert kinds(found) == {kind: 2, TroubleKind.NOT_BEGUN: 12}
        assert found.whole == ()
        assert found.tokens_per_s is None

    def test_one_failed_warm_up_may_be_chance(self):
        good, number = streamed(), iter(range(100))

        def answer(to, body):
            (good if next(number) else unavailable)(to, body)

        with serving(answer) as service:
            found = measure(service)
        assert kinds(found) == {TroubleKind.STATUS: 1}
        assert len(found.whole) == 12

    def test_nothing_that_listens(self):
        with serving(streamed()) as service:
            pass
        found = measure(service)
        assert kinds(found) == {TroubleKind.REFUSED: 1, TroubleKind.NOT_BEGUN: 12}

    def test_a_service_that_goes_away_meanwhile_is_not_asked_for_the_rest(self):
        """Its port closes; what has not begun yet is said to be so."""
        good = streamed()
        with serving(good) as service:
            asker = asking(service.port)
            asked = []

            def opener(method, path, body, **options):
                asked.append(path)
                if len(asked) > 6:
                    raise ConnectionRefusedError("nothing answers")
                return asker.open(method, path, body, **options)

            found = Measuring(Asking(open=opener), "m", LOAD).run()
        assert len(found.whole) == 5
        assert kinds(found)[TroubleKind.NOT_BEGUN] >= 4
        assert sum(kinds(found).values()) + len(found.whole) == 12

    def test_what_the_service_says_of_the_key_is_masked(self):
        def echo(to, body):
            to.say_json({"error": f"bad key {to.headers['Authorization']}"}, 401)

        with serving(echo) as service:
            found = measure(service, key="sk-0123456789")
        assert "sk-0123456789" not in str(found)
        assert "401: bad key" in found.errors[1].message or "401: bad key" in found.errors[0].message


class TestDeadlines:
    @staticmethod
    def hang(to, body):
        to.begin()
        to.event(text())
        to.service.closing.wait(20)
        to.hang_up()

    def test_one_request_that_hangs_costs_only_itself(self):
        good, number = streamed(), iter(range(100))

        def answer(to, body):
            (self.hang if next(number) == 4 else good)(to, body)

        with serving(answer) as service:
            found = measure(service, request_s=0.5)
        assert kinds(found) == {TroubleKind.DEADLINE: 1}
        assert len(found.whole) == 11

    def test_a_service_that_hangs_is_not_waited_for_again_and_again(self):
        with serving(self.hang) as service:
            began = time.monotonic()
            found = measure(service, request_s=0.3)
        assert time.monotonic() - began < 3
        assert kinds(found) == {TroubleKind.DEADLINE: 1, TroubleKind.NOT_BEGUN: 12}

    def test_the_time_for_all_ends_it_and_what_was_measured_stays(self):
        with serving(streamed(step_s=0.02)) as service:
            began = time.monotonic()
            load = Load(concurrency=3, prompt_tokens=20, output_tokens=10, requests=60)
            found = measure(service, load, within_s=1)
        assert time.monotonic() - began < 3
        assert len(found.whole) >= 1
        assert kinds(found)[TroubleKind.NOT_BEGUN] > 10
        assert sum(kinds(found).values()) + len(found.whole) == 60


def test_an_interruption_gives_what_was_measured_so_far():
    stop = threading.Event()

    def interrupt():
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    with serving(streamed(step_s=0.01)) as service:
        found = Measuring(asking(service.port), "m", LOAD).run(on_end=interrupt)
    assert found.interrupted
    assert 2 <= len(found.whole) <= 5
    assert found.errors == ()
    assert len(found.attempts) < 12
    assert found.tokens_per_s is not None


def test_a_prompt_has_as_many_words_as_asked_for_and_only_its_seed_and_number_make_it():
    assert len(prompt(1, 2, 300).split()) == 300
    assert prompt(1, 2, 30) == prompt(1, 2, 30)
    assert len({prompt(seed, number, 8) for seed in range(20) for number in range(20)}) == 400
