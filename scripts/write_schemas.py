"""Write the JSON Schemas in docs/ from the models of `recommend --json`, `compare --json`, gates.yaml, chunking.toml.

python scripts/write_schemas.py
"""

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from repoeval_bench.analysis.gates import ChosenSetting, GateConfig
from repoeval_bench.report.comparison import ComparedRow
from repoeval_bench.report.recommendation import RecommendationRow

DOCS = Path(__file__).resolve().parents[1] / "docs"

MODELS: dict[str, type[BaseModel]] = {
    "recommend": RecommendationRow,
    "compare": ComparedRow,
    "gates": GateConfig,
    "chunking": ChosenSetting,
}
"""Name of the schema -> its model."""


def schema(name: str) -> str:
    """Return the text of docs/NAME.schema.json."""
    mode: Literal["validation", "serialization"] = "serialization" if name in {"compare", "recommend"} else "validation"
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **MODELS[name].model_json_schema(mode=mode)}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in MODELS:
        (DOCS / f"{name}.schema.json").write_text(schema(name), encoding="utf-8")
