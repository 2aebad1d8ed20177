"""Cases that are data: the YAML file beside the test file that runs them."""

from pathlib import Path
from typing import Any

import yaml


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file, by libyaml: every process reads every case before its first test."""
    return yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)


def cases(test_file: str) -> Any:
    """Return the content of the YAML file beside a test file, which has its name without `test_`."""
    path = Path(test_file)
    return read_yaml(path.with_name(f"{path.stem.removeprefix('test_')}.yaml"))
