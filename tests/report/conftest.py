"""One week, one page and one browser for all the tests of the page."""

import os
import time

import pytest
from chromium import PROGRAM, chromium
from report_week import page_of_the_week

from fleetops.render.html.page import report_page


@pytest.fixture(scope="session", autouse=True)
def utc():
    """The page's times are the controller's: here everybody's is UTC."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.fixture(scope="session")
def week(utc):
    return page_of_the_week()


@pytest.fixture(scope="session")
def text(week):
    return report_page(week)


@pytest.fixture(scope="session")
def page_file(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "fleet.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def browser():
    if not PROGRAM:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    with chromium() as tab:
        yield tab
