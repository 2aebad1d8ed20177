"""The workflows name what exists: scripts, Pythons that the package supports, extras."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WHEELS = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8"))


def test_the_wheel_is_tried_with_every_python_that_the_package_names():
    """Bare, and with every extra."""
    matrix = WHEELS["jobs"]["wheel"]["strategy"]["matrix"]
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert matrix["extra"] == ["", "all"]
    assert "all" in PROJECT["optional-dependencies"]


def test_every_script_of_a_workflow_exists():
    """What a step runs is in the checkout."""
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for script in re.findall(r"\bscripts/\w+\.py", path.read_text(encoding="utf-8")):
            assert (ROOT / script).is_file(), f"{path.name}: {script}"
