"""Pictures of the page for the documentation, of a made-up week that is the same every time: `make screenshots`."""

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from chromium import Tab, chromium  # noqa: E402 - the tests' own helpers
from report_week import page_of_the_week  # noqa: E402

from fleetops.render.html.page import report_page  # noqa: E402

PICTURES = ROOT / "docs/pictures"
# name -> width, height, scale, colours, the host that is scrolled to
_SHOTS = {
    "report-desktop-light": (1200, 1000, 1, "light", ""),
    "report-desktop-dark": (1200, 1000, 1, "dark", "node-174"),
    "report-phone-light": (360, 780, 2, "light", ""),
    "report-phone-dark": (360, 780, 2, "dark", "node-174"),
}


def main() -> int:
    """Write them all."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as tab:
        page = Path(folder) / "fleet.html"
        page.write_text(report_page(page_of_the_week()), encoding="utf-8")
        for name in _SHOTS:
            _shoot(tab, page, name)
            print(f"wrote {(PICTURES / name).relative_to(ROOT)}.png")
    return 0


def _shoot(tab: Tab, page: Path, name: str) -> None:
    width, height, scale, scheme, host = _SHOTS[name]
    tab.size(width, height, scale=scale, mobile=width < 500)
    tab.prefer(scheme)
    tab.open(page)
    if host:
        tab.ask(f"document.documentElement.style.scrollBehavior = 'auto', location.hash = '#host-{host}'")
    tab.settle()
    tab.picture(PICTURES / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
