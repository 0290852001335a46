"""Secrets are taken out of texts, argvs and JSON, however they are written; what only stands beside them stays."""

import json
import time

import pytest

from fleetops.model.secrets import MASK, mask_argv, mask_known, mask_text, masked


@pytest.mark.parametrize(
    "text",
    [
        "python3 -m sglang.launch_server --api-key PLANTED --port 30000",
        "HF_TOKEN=PLANTED exec python3",
        "server_args: ServerArgs(model=\"x\", api_key='PLANTED, PLANTED) PLANTED', port=3)",
        '{"token": "PLANTED PLANTED", "port": 3}',
        "downloading from https://bob:PLANTED@models.example/x.bin",
        "proxy http://bob:PLA@NTED@proxy:3128",
        "Authorization: Bearer PLANTED-PLANTED",
        "X-Auth-Token: PLANTED",
    ],
)
def test_what_follows_a_telling_name_goes(text):
    told = mask_text(text)
    assert "PLANTED" not in told
    assert "NTED" not in told
    assert MASK in told


@pytest.mark.parametrize(
    "secret",
    [
        "hf_AbCdEfGhIjKlMnOpQrStUvWx",
        "sk-proj-AbCdEfGhIjKlMnOpQrSt",
        "ghp_AbCdEfGhIjKlMnOpQrStUvWx",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_123",
    ],
)
def test_what_has_the_form_of_an_issued_token_goes_without_any_name(secret):
    assert mask_text(f"cannot use {secret} here") == f"cannot use {MASK} here"
    assert mask_argv(("echo", secret)) == ("echo", MASK)


@pytest.mark.parametrize(
    "text",
    [
        "max_total_num_tokens=231120, tokenizer_path='/models/x'",
        "api_key=None, token is missing",
        "http://127.0.0.1:30000/v1/models",
        "ssh://operator@node-174:22",
        "--api-key --port 30000",
    ],
)
def test_what_is_no_secret_stays(text):
    assert mask_text(text) == text


def test_the_password_of_an_url_goes_from_an_argv():
    assert mask_argv(("curl", "http://bob:PLANTED@host/x")) == ("curl", f"http://bob:{MASK}@host/x")


def test_a_secret_within_a_script_that_is_an_argument_goes():
    assert mask_argv(("bash", "-c", "exec env HF_TOKEN=PLANTED ./serve.sh")) == (
        "bash",
        "-c",
        f"exec env HF_TOKEN={MASK} ./serve.sh",
    )


def test_masked_json_is_still_json():
    body = {
        "title": 'password=ab"c',
        "argv": ["serve", "--api-key", "PLANTED"],
        "hf_token": "PLANTED",
        "rank": 3,
    }
    told = json.loads(json.dumps(masked(body)))
    assert told == {
        "title": f'password={MASK}"c',
        "argv": ["serve", "--api-key", MASK],
        "hf_token": MASK,
        "rank": 3,
    }


def test_a_known_secret_goes_wherever_it_stands_and_a_short_one_is_taken_for_a_word():
    assert mask_known("using 's3cr3t-key' now", ["s3cr3t-key", "now"]) == f"using '{MASK}' now"
    assert masked({"log": ["got s3cr3t-key"]}, ["s3cr3t-key"]) == {"log": [f"got {MASK}"]}


@pytest.mark.parametrize("unit", ["a", "token", "eyJ-", "a.b+", "http://", "password="])
def test_one_long_line_is_masked_in_time(unit):
    started = time.monotonic()
    mask_text(unit * (1_000_000 // len(unit)))
    assert time.monotonic() - started < 20
