"""The common parts of pages: templates, its style, and scripts that the page's policy allows by their hash."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from repoeval_bench.core.extras import require
from repoeval_bench.core.visible import visible
from repoeval_bench.report.plots import css

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def check_page(what: str = "the page") -> None:
    """Raise a UsageError if the packages for pages are not installed."""
    require(what, "jinja2", "matplotlib")


@lru_cache(maxsize=4)
def environment(*more: Path) -> Environment:
    """Templates, also those of `more` folders, that escape everything they are given, and fail on a missing value."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([TEMPLATES, *more]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_shown,
    )


def _shown(value: object) -> object:
    """Return a text without control characters, which HTML must not hold; Markup is left as it is."""
    return visible(value) if type(value) is str else value


def style(more: str = "") -> Markup:
    """The style sheet of a page: the figures' colours, `more`, and what all pages share."""
    from markupsafe import Markup

    return Markup(css() + more + (TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - all of it is ours


def script(names: Sequence[str]) -> tuple[Markup, str]:
    """The files as one script, and the base64 SHA-256 by which a policy allows it."""
    from markupsafe import Markup

    text = "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()  # noqa: S704 - ours
