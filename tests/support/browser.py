"""A headless Chromium for tests of pages, and what a page must not do in one."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

READY = "return document.documentElement.dataset.ready"

OVERFLOWING = """
const found = [], wide = window.innerWidth;
const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
const walk = (element) => {
  if (element.classList.contains("hidden")) return;
  const box = element.getBoundingClientRect();
  if (box.width && box.right > wide + 1) found.push(`${element.tagName}.${element.className} ends at ${box.right}`);
  const style = getComputedStyle(element);
  if (["hidden", "clip"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1)
    found.push(`${element.tagName}.${element.className} cuts ${element.textContent.slice(0, 40)}`);
  if (!scrolls(element)) for (const child of element.children) walk(child);
};
for (const child of document.body.children) walk(child);
if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
return found;
"""
"""Finds what sticks out of a window of this width or is cut off in its box, outside of what scrolls by itself."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A driver whose console and requests are logged; the test is skipped where Chromium or its driver is absent."""
    from selenium import webdriver

    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("chromium or chromedriver is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    # On a busy machine an element may appear a moment after the page says it is ready.
    browser.implicitly_wait(3)
    try:
        yield browser
    finally:
        browser.quit()


def visit(browser: Any, page: Path, *, width: int = 1400, dark: bool = False, part: str = "") -> float:
    """Open a page from disk and wait until its script is done; the milliseconds that this took."""
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    colours = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
    # Another part of the page that is open already would not load it again.
    browser.get("about:blank")
    browser.get(page.resolve().as_uri() + part)
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(READY) is not None)
    return float(browser.execute_script(READY))


def unfold(browser: Any) -> None:
    """Open every part of a page that is folded."""
    browser.execute_script("document.querySelectorAll('details.part').forEach((part) => { part.open = true; })")


def console(browser: Any) -> list[str]:
    """Warnings and errors in the console since the last call."""
    return [f"{entry['level']}: {entry['message']}" for entry in browser.get_log("browser") if entry["level"] != "INFO"]


def requested(browser: Any) -> set[str]:
    """The addresses requested since the last call; one without a host is named by its scheme."""
    events = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return {url.partition(":")[0] if url.startswith(("file:", "data:", "blob:", "about:")) else url for url in urls}


def axe(browser: Any) -> list[str]:
    """Return what axe-core finds that is serious or critical, each with the elements it is about."""
    from axe_core_python.selenium import Axe

    browser.set_script_timeout(120)
    result = Axe().run(browser)
    return [
        f"{violation['id']}: {[node['html'][:150] for node in violation['nodes'][:3]]}"
        for violation in result["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
