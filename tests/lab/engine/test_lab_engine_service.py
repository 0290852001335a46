"""A healthy service: what its processes, its log, its memory and its endpoints show."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine_machine import Engine, listens


def test_its_processes_are_those_of_the_real_engine(healthy: Engine) -> None:
    launcher, *children = healthy.kin()
    assert launcher.cmdline[1:] == healthy.argv[1:]
    assert {child.ppid for child in children} == {launcher.pid}
    titles = sorted(" ".join(child.cmdline) for child in children)
    assert titles == ["sglang::detokenizer", *(f"sglang::scheduler_TP{number}" for number in range(8))]
    assert {child.comm for child in children} == {"sglang::schedul", "sglang::detoken"}


def test_every_rank_holds_every_gpus_files(healthy: Engine) -> None:
    expected = {"nvidiactl", "nvidia-uvm", *(f"nvidia{minor}" for minor in range(8))}
    for rank in healthy.ranks():
        held = {path.readlink().name for path in Path(f"/proc/{rank.pid}/fd").iterdir()}
        assert expected <= held


def test_memory_is_taken_as_asked(healthy: Engine) -> None:
    taken = healthy.machine.driver.ledger.totals()
    pools = 8 * 683061 * 70272
    assert taken.host_bytes["host"] == pools + 8 * 1_050_000_000
    static_mib = 0.88 * 96294
    assert set(taken.gpu_mib) == set(range(8))
    assert all(static_mib < mib < 96294 for mib in taken.gpu_mib.values())


def test_a_megabyte_is_really_touched_for_each_gigabyte(healthy: Engine) -> None:
    for rank in healthy.ranks():
        text = Path(f"/proc/{rank.pid}/status").read_text()
        assert int(re.search(r"RssAnon:\s+(\d+) kB", text)[1]) * 1024 > 48 * 10**6


def test_its_segments_are_named_as_there(healthy: Engine) -> None:
    names = healthy.machine.segments
    assert sum(bool(re.fullmatch(r"nccl-[A-Za-z0-9]{6}", name)) for name in names) == 8
    assert sum(bool(re.fullmatch(r"psm_[0-9a-f]{8}", name)) for name in names) == 1
    owner = healthy.ranks()[0].pid
    assert sum(name.startswith(f"sgl_shm_broadcast_{owner}_") for name in names) == 1


def test_the_log_tells_the_stages_in_the_engines_order(healthy: Engine) -> None:
    stages = [
        r"server_args=ServerArgs\(model_path='.*hicache_size=48",
        r"TP0\] Init torch distributed begin\.$",
        r"TP0\] Init torch distributed ends\. elapsed=[\d.]+ s, mem usage=[\d.]+ GB$",
        r"TP0\] Load weight begin\. avail mem=[\d.]+ GB$",
        r"^Loading safetensors checkpoint shards: 100% Completed \| 8/8 ",
        r"TP0\] Load weight end\. elapsed=.* s, type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=",
        r"TP0\] KV Cache is allocated\. #tokens: 231120, KV size: 15\.13 GB$",
        r"TP0\] Memory pool end\. avail mem=[\d.]+ GB$",
        r"TP0\] Capture cuda graph begin\. This can take up to several minutes\.",
        r"TP0\] Capture cuda graph end\. Time elapsed: [\d.]+ s\. mem usage=[\d.]+ GB\. avail mem=[\d.]+ GB\.$",
        r"TP0\] max_total_num_tokens=231120, chunked_prefill_size=8192, .* available_gpu_mem=[\d.]+ GB$",
        r"TP0\] Allocating 48\.00 GB host memory for hierarchical KV cache\.$",
        r"\] INFO:     Started server process \[\d+\]$",
        r"\] INFO:     Application startup complete\.$",
        r"\] INFO:     Uvicorn running on http://127\.0\.0\.1:\d+ \(Press CTRL\+C to quit\)$",
        r"\] The server is fired up and ready to roll!$",
    ]
    places = [re.search(stage, healthy.log, re.MULTILINE) for stage in stages]
    assert all(places), [stage for stage, place in zip(stages, places, strict=True) if not place]
    assert [place.start() for place in places] == sorted(place.start() for place in places)
    assert re.search(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d TP0\] ", healthy.log, re.MULTILINE)


def test_every_rank_logs_its_host_pool_and_only_rank_0_the_capacity(healthy: Engine) -> None:
    assert healthy.log.count("Allocating 48.00 GB host memory for hierarchical KV cache.") == 8
    assert healthy.log.count("max_total_num_tokens=") == 1


def test_the_endpoints_that_only_tell(healthy: Engine) -> None:
    name = str(healthy.machine.model)
    assert healthy.ask("/health")[0] == healthy.ask("/health_generate")[0] == 200
    (model,) = json.loads(healthy.ask("/v1/models")[1])["data"]
    assert (model["id"], model["object"], model["max_model_len"]) == (name, "model", 163840)
    told = json.loads(healthy.ask("/get_server_info")[1])
    assert (told["max_total_num_tokens"], told["hicache_size"], told["version"]) == (231120, 48, "0.5.9")
    assert told["internal_states"][0]["memory_usage"]["token_capacity"] == 231120
    assert json.loads(healthy.ask("/get_model_info")[1])["model_path"] == name
    assert "deprecated" in healthy.log


def test_metrics_tell_both_pools(healthy: Engine) -> None:
    text = healthy.ask("/metrics")[1]
    assert re.search(
        r'^sglang:max_total_num_tokens\{engine_type="unified",.*\} 231120\.0$', text, re.MULTILINE
    )
    assert re.search(r"^sglang:hicache_host_total_tokens\{.*\} 683061\.0$", text, re.MULTILINE)


def test_what_does_not_exist_or_is_not_understood(healthy: Engine) -> None:
    assert healthy.ask("/ready") == (404, '{"detail":"Not Found"}')
    assert healthy.ask("/generate")[0] == 405
    assert healthy.ask("/v1/completions", {"max_tokens": 4})[0] == 400
    assert healthy.ask("/v1/completions", ["no object"])[0] == 400
    assert healthy.ask("/v1/completions", {"prompt": "x", "max_tokens": 0})[0] == 400
    assert healthy.ask("/v1/chat/completions", {"messages": []})[0] == 400


def test_completions_count_what_they_were_asked_for(healthy: Engine) -> None:
    answer = json.loads(healthy.ask("/v1/completions", {"model": "m", "prompt": "a b c", "max_tokens": 5})[1])
    assert answer["choices"][0]["finish_reason"] == "length"
    assert len(answer["choices"][0]["text"].split()) == 5
    assert answer["usage"]["prompt_tokens"] == 3
    assert answer["usage"]["completion_tokens"] == 5
    assert answer["usage"]["total_tokens"] == 8


def test_chat_and_native_answers(healthy: Engine) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3}
    chat = json.loads(healthy.ask("/v1/chat/completions", body)[1])
    assert chat["object"] == "chat.completion"
    assert chat["choices"][0]["message"]["role"] == "assistant"
    native = json.loads(healthy.ask("/generate", {"text": "x", "sampling_params": {"max_new_tokens": 4}})[1])
    assert native["meta_info"]["completion_tokens"] == 4
    assert native["meta_info"]["finish_reason"] == {"type": "length", "length": 4}


def test_the_same_prompt_gets_the_same_answer(healthy: Engine) -> None:
    body = {"prompt": "once", "max_tokens": 6}
    texts = {json.loads(healthy.ask("/v1/completions", body)[1])["choices"][0]["text"] for _ in range(2)}
    assert len(texts) == 1


def test_a_streamed_answer_comes_in_pieces(healthy: Engine) -> None:
    body = {"prompt": "x", "max_tokens": 4, "stream": True, "stream_options": {"include_usage": True}}
    events = [line[6:] for line in healthy.ask("/v1/completions", body)[1].splitlines() if line]
    assert events[-1] == "[DONE]"
    parts = [json.loads(event) for event in events[:-1]]
    assert [part["choices"][0]["finish_reason"] for part in parts[:4]] == [None, None, None, "length"]
    assert parts[4]["usage"]["completion_tokens"] == 4


def test_eight_streams_share_about_900_tokens_a_second(healthy: Engine) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(healthy.ask, "/v1/completions", {"prompt": "x", "max_tokens": 64}) for _ in range(8)
        ]
        tokens = sum(json.loads(each.result()[1])["usage"]["completion_tokens"] for each in asked)
    rate = tokens / (time.monotonic() - begun)
    assert 300 < rate < 960, "a busy machine may be slower, none may be faster"


def test_one_stream_alone_is_much_slower(healthy: Engine) -> None:
    begun = time.monotonic()
    healthy.ask("/v1/completions", {"prompt": "x", "max_tokens": 32})
    assert 32 / (time.monotonic() - begun) < 120


def test_only_the_launcher_has_the_port(healthy: Engine) -> None:
    assert listens(healthy.port)
    sockets = {
        kin.pid: [path for path in Path(f"/proc/{kin.pid}/fd").iterdir() if "socket" in str(path.readlink())]
        for kin in healthy.kin()
    }
    inode = re.search(rf":{healthy.port:04X} \w+:\w+ 0A .*? 0 +0 (\d+) ", Path("/proc/net/tcp").read_text())
    assert inode
    owners = [
        pid
        for pid, paths in sockets.items()
        if any(str(path.readlink()) == f"socket:[{inode[1]}]" for path in paths)
    ]
    assert owners == [healthy.process.pid]
