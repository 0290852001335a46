"""Debian's Prometheus and Alertmanager on loopback, in a folder of their own, ended by their own process id."""

import json
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("prometheus", "promtool", "prometheus-alertmanager")
PATIENCE_S = 60.0

PROMETHEUS = """\
global: {{scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}}
rule_files: ['{rules}']
alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{alertmanager}']}}]}}]}}
scrape_configs:
  - job_name: fleetops
    static_configs: [{{targets: ['{exporter}']}}]
"""
ALERTMANAGER = """\
route: {{receiver: test, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}}
receivers:
  - name: test
    webhook_configs: [{{url: '{receiver}', send_resolved: true}}]
"""


def eventually(ask: Callable[[], Any], what: str) -> Any:
    """The first answer that is not empty. Neither program tells when something has come about, so both are asked."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if answer := ask():
                return answer
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    return pytest.fail(f"not within {PATIENCE_S:g} s: {what}")


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Prometheus:
    """Asked over its API."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def query(self, expression: str) -> list[dict[str, Any]]:
        body = ask(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
        found: list[dict[str, Any]] = body["data"]["result"]
        return found

    def is_up(self) -> bool:
        return bool(self.query("vector(1)"))

    def firing(self) -> list[str]:
        alerts = ask(f"{self.url}/api/v1/alerts")["data"]["alerts"]
        return sorted(one["labels"]["alertname"] for one in alerts if one["state"] == "firing")


class Alertmanager:
    """Asked over its API; what it has sent is in `sent`."""

    def __init__(self, port: int, sent: list[dict[str, Any]]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.sent = sent

    def alerts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ask(f"{self.url}/api/v2/alerts")
        return found

    def is_up(self) -> bool:
        return bool(ask(f"{self.url}/api/v2/status"))

    def messages(self, status: str, name: str) -> list[dict[str, Any]]:
        return [
            alert
            for message in tuple(self.sent)
            for alert in message["alerts"]
            if alert["status"] == status and alert["labels"]["alertname"] == name
        ]


@contextmanager
def receiver() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Whom Alertmanager tells: its address, and what it was told."""
    sent: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def running(folder: Path, *argv: str) -> Iterator[None]:
    """That program until the block ends; what it says is kept in the folder."""
    log = folder / f"{argv[0]}.log"
    with log.open("wb") as out, subprocess.Popen(argv, cwd=folder, stdout=out, stderr=out) as process:
        try:
            yield
        finally:
            ended = process.poll()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
    assert ended is None, f"{argv[0]} ended by itself:\n{log.read_text()[-2000:]}"


@contextmanager
def monitored(folder: Path, exporter: str, rules: Path) -> Iterator[tuple[Prometheus, Alertmanager]]:
    """Both, watching that exporter (HOST:PORT) by these rules, and up."""
    ours, theirs = free_port(), free_port()
    with receiver() as (url, sent):
        text = PROMETHEUS.format(rules=rules, alertmanager=theirs, exporter=exporter)
        (folder / "prometheus.yml").write_text(text)
        (folder / "alertmanager.yml").write_text(ALERTMANAGER.format(receiver=url))
        one = (
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{ours}",
            "--log.level=warn",
        )
        other = (
            "prometheus-alertmanager",
            f"--config.file={folder}/alertmanager.yml",
            f"--storage.path={folder}/alerts",
            f"--web.listen-address=127.0.0.1:{theirs}",
            "--cluster.listen-address=",
            "--log.level=warn",
        )
        with running(folder, *other), running(folder, *one):
            prometheus, alertmanager = Prometheus(ours), Alertmanager(theirs, sent)
            eventually(prometheus.is_up, "Prometheus is up")
            eventually(alertmanager.is_up, "Alertmanager is up")
            yield prometheus, alertmanager
