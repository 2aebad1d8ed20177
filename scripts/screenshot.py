"""Take a picture of a report, such as docs/report.png, which the README shows.

  .venv/bin/python scripts/screenshot.py results/report.html docs/report.png --height 1180
  .venv/bin/python scripts/screenshot.py results/report.html docs/report-dark.png --height 1180 --dark
  .venv/bin/python scripts/screenshot.py results/report.html docs/report-query.png --at queries

Needs chromium and chromium-driver (Debian's packages), selenium (`make test` installs it) and Pillow (of matplotlib).
"""

from __future__ import annotations

import argparse
import base64
import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait


def main() -> None:
    """Take the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="a page written by repoeval-bench report")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--width", type=int, default=1400, help="of the window, in pixels")
    parser.add_argument("--height", type=int, default=1000, help="of the picture; 0 for the whole page")
    parser.add_argument("--dark", action="store_true", help="in dark colours")
    parser.add_argument("--at", metavar="ID", help="begin at this element, such as queries")
    options = parser.parse_args()
    chrome = webdriver.ChromeOptions()
    chrome.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1"):
        chrome.add_argument(argument)
    with webdriver.Chrome(chrome, webdriver.ChromeService(shutil.which("chromedriver"))) as page:
        size = {"width": options.width, "height": options.height or 1000, "deviceScaleFactor": 1, "mobile": False}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        colours = [{"name": "prefers-color-scheme", "value": "dark" if options.dark else "light"}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
        page.get(
            options.report.resolve().as_uri() + (f"#{options.at}" if options.at else "")
        )  # a link unfolds its part
        WebDriverWait(page, 30).until(
            lambda page: page.execute_script("return document.documentElement.dataset.ready") is not None
        )
        top, whole = page.execute_script(
            "const start = arguments[0] && document.getElementById(arguments[0]);"
            "return [start ? start.getBoundingClientRect().top + scrollY : 0, document.documentElement.scrollHeight];",
            options.at,
        )
        clip = {"x": 0, "y": top, "width": options.width, "height": options.height or whole - top, "scale": 1}
        shot = page.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    # 256 colours are enough for a page of text, and take a third of the bytes.
    picture = Image.open(BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(options.picture, optimize=True)


if __name__ == "__main__":
    main()
