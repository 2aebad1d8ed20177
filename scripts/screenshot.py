"""A picture of a report, such as the one in the README: docs/report.png is what this makes of the three chunkers' page.

  .venv/bin/python scripts/screenshot.py results/report.html docs/report.png --height 860

Needs chromium and chromium-driver (Debian's packages) and selenium, which `make test` installs.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait


def main() -> int:
    """Take the picture; 2 where the browser is absent."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="a page written by repoeval-bench report")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--width", type=int, default=1400, help="of the window, in pixels")
    parser.add_argument("--height", type=int, default=1000, help="of the picture; 0 for the whole page")
    parser.add_argument("--dark", action="store_true", help="in dark colours")
    parser.add_argument("--at", metavar="ID", help="begin at this element, such as queries")
    asked = parser.parse_args()
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        print("chromium or chromedriver is not installed: apt-get install chromium chromium-driver", file=sys.stderr)
        return 2
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as page:
        size = {"width": asked.width, "height": asked.height or 1000, "deviceScaleFactor": 1, "mobile": False}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        colours = [{"name": "prefers-color-scheme", "value": "dark" if asked.dark else "light"}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
        page.get(asked.report.resolve().as_uri() + (f"#{asked.at}" if asked.at else ""))  # a link unfolds its part
        WebDriverWait(page, 30).until(
            lambda page: page.execute_script("return document.documentElement.dataset.ready") is not None
        )
        top, whole = page.execute_script(
            "const start = arguments[0] && document.getElementById(arguments[0]);"
            "return [start ? start.getBoundingClientRect().top + scrollY : 0, document.documentElement.scrollHeight];",
            asked.at,
        )
        clip = {"x": 0, "y": top, "width": asked.width, "height": asked.height or whole - top, "scale": 1}
        shot = page.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    asked.picture.write_bytes(base64.b64decode(shot["data"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
