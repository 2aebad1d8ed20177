"""Cases that are data: the YAML file beside the test file that runs them."""

from pathlib import Path
from typing import Any

import yaml


def cases(test_file: str) -> Any:
    """Return the content of the YAML file beside a test file, which has its name without `test_`."""
    path = Path(test_file)
    return yaml.safe_load(path.with_name(f"{path.stem.removeprefix('test_')}.yaml").read_text("utf-8"))
