"""`--serve`: an HTTP server that answers GET alone, fails clearly, and leaves no thread."""

import argparse
import http.client
import socket
import threading
import urllib.error
import urllib.request

import pytest
from sweep_scenes import latest_of, sweep, tracked

from fleetops.cli._exporter import serving
from fleetops.cli._options import address
from fleetops.cli._publishing import registry_of
from fleetops.model.errors import FleetopsError


@pytest.fixture
def latest():
    return latest_of(sweep(tracked()), every_s=60.0, clock=lambda: 0.0)


@pytest.fixture
def url(latest):
    with serving(("127.0.0.1", 0), registry_of(latest)) as where:
        yield where


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.status, answer.headers, answer.read().decode()


def refused(url, method="GET"):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(url, method=method, data=None), timeout=10)
    caught.value.close()
    return caught.value.code, caught.value.headers


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (":9874", ("127.0.0.1", 9874)),
        ("127.0.0.1:9874", ("127.0.0.1", 9874)),
        ("0.0.0.0:9874", ("0.0.0.0", 9874)),
        ("[::]:9874", ("::", 9874)),
        ("[::1]:0", ("::1", 0)),
        ("ops-1.example:80", ("ops-1.example", 80)),
    ],
)
def test_addresses(text, meant):
    assert address(text) == meant


@pytest.mark.parametrize(
    "text", ["", "9874", ":", "x:y", ":99999", "::1:9874", "[::1]", "a b:1", "http://x:1"]
)
def test_what_is_no_address(text):
    with pytest.raises(argparse.ArgumentTypeError):
        address(text)


def test_metrics_and_a_page_that_names_them(url):
    status, headers, text = get(f"{url}/metrics")
    assert (status, headers["Content-Type"].split(";")[0]) == (200, "text/plain")
    assert "fleetops_findings{" in text
    assert "python_info" not in text
    status, headers, page = get(url)
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "/metrics" in page


def test_a_prometheus_that_asks_for_openmetrics_gets_it(url):
    _, headers, text = get(f"{url}/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_each_scrape_is_of_the_latest_sweep(url, latest):
    assert "ranks-dead" in get(f"{url}/metrics")[2]
    latest.sweep = sweep()
    assert "ranks-dead" not in get(f"{url}/metrics")[2]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ["/metrics", "/"])
def test_only_get_is_answered(url, method, path):
    code, headers = refused(url + path, method)
    assert (code, headers["Allow"]) == (405, "GET")


@pytest.mark.parametrize("path", ["/metrics/", "/etc/passwd", "/favicon.ico", "/../metrics"])
def test_there_is_nothing_else(url, path):
    assert refused(url + path)[0] == 404


def test_a_defect_fails_the_scrape_and_nothing_else(url, latest, capsys):
    latest.sweep = "no sweep"
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(f"{url}/metrics")
    assert caught.value.code == 500
    assert b"a defect in fleetops itself: AttributeError" in caught.value.read()
    latest.sweep = sweep()
    assert get(f"{url}/metrics")[0] == 200
    assert capsys.readouterr().err == ""


def test_a_port_that_is_taken_is_said_with_the_port(latest):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(FleetopsError, match=rf"127\.0\.0\.1:{port}: Address already in use") as caught,
            serving(("127.0.0.1", port), registry_of(latest)),
        ):
            pass
    assert str(port) in caught.value.hint


def test_ipv6_as_well(latest):
    if not socket.has_ipv6 or not _has_loopback6():
        pytest.skip("this machine has no IPv6")
    with serving(("::1", 0), registry_of(latest)) as where:
        assert where.startswith("http://[::1]:")
        assert get(f"{where}/metrics")[0] == 200


def _has_loopback6():
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_it_ends_with_its_block_whatever_its_clients_do(latest):
    before = set(threading.enumerate())
    with serving(("127.0.0.1", 0), registry_of(latest)) as where:
        port = int(where.rsplit(":", 1)[1])
        # One says nothing, one stops within its request.
        silent = socket.create_connection(("127.0.0.1", port), timeout=10)
        half = socket.create_connection(("127.0.0.1", port), timeout=10)
        half.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
        assert get(f"{where}/metrics")[0] == 200  # nobody waits for them
    with silent, half:
        assert not set(threading.enumerate()) - before
        assert silent.recv(1) == b""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=10)
    # And the port is free at once for the next one.
    with serving(("127.0.0.1", port), registry_of(latest)):
        pass


def test_too_many_at_once_are_turned_away_and_later_ones_served(url):
    port = int(url.rsplit(":", 1)[1])
    waiting = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(20)]
    try:
        turned_away = [one for one in waiting[16:] if one.recv(1) == b""]
        assert len(turned_away) == 4
    finally:
        for one in waiting:
            one.close()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for _ in range(100):
        try:
            connection.request("GET", "/metrics")
            assert connection.getresponse().status == 200
            break
        except (ConnectionError, http.client.HTTPException):
            connection.close()
    else:
        pytest.fail("nobody is served any more")
    connection.close()
