"""A language model behind a server that speaks OpenAI's completions or chat API, greedy: `openai:NAME,base_url=…`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from repoeval_bench.core.api_server import Api, ApiServer, answers, check_no_key, server_address
from repoeval_bench.core.errors import CacheError, CompletionError, SpecError, nearest
from repoeval_bench.core.fields import Doc, Positive, options_of, read_options
from repoeval_bench.core.json_reader import faults_as, parse
from repoeval_bench.core.progress import progress
from repoeval_bench.core.spec import Spec, format_spec
from repoeval_bench.core.words import count
from repoeval_bench.embedding.storage import MEND, VectorCache, key_prefix, text_key

MAX_TOKENS: Mapping[str, int] = {"function": 500, "line": 100, "api": 100}
"""Level -> default limit of an answer, in tokens."""

# The system message of a chat. A change of it needs a new `layout.LAYOUT`, which is part of a run's id.
INSTRUCTION = (
    "You continue source code. Answer with the lines that come next and nothing else: no explanation, no code fence, "
    "and nothing that is already there. Keep the indentation. Stop where the function, statement or line is complete."
)


class Answer(BaseModel, strict=True, frozen=True):
    """The text that a model wrote, and why it ended (`stop`, `length`, …)."""

    text: str
    finish: str

    @property
    def cut_off(self) -> bool:
        """Return whether it ended at the limit of tokens."""
        return self.finish == "length"


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    """A choice: the API of completions gives `text`, that of chats a `message`."""

    text: str | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Content(BaseModel):
    """The fields of an answer that are read."""

    choices: list[_Choice] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request: the prompt, and what ends the answer."""

    prompt: str
    stop: tuple[str, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as it was named."""

    name: str
    base_url: Annotated[str, Doc("the server; OPENAI_BASE_URL or OpenAI's unless given")] = ""
    api: Annotated[Literal["completions", "chat"], Doc("which of the server's APIs")] = "completions"
    max_tokens: Annotated[Positive | None, Doc("tokens of an answer; 500 for functions, else 100")] = None
    timeout: Annotated[Positive, Doc("seconds that a request may take")] = 120

    @property
    def spec(self) -> str:
        """Return the spec that names it again, without the timeout, which changes no answer."""
        named = {"base_url": self.base_url, "api": self.api}
        return format_spec(
            "openai", named | ({} if self.max_tokens is None else {"max_tokens": self.max_tokens}), self.name
        )

    @property
    def chat(self) -> bool:
        """Return whether it is asked as a chat."""
        return self.api == "chat"

    @property
    def identity(self) -> dict[str, Any]:
        """Return what determines an answer besides the request; the server's weights are not known and may change."""
        return {
            "model": self.name,
            "base_url": self.base_url,
            "api": self.api,
            "temperature": 0,
            "weights_sha256": None,
            **({"instruction": INSTRUCTION} if self.chat else {}),
        }

    def request(self, prompt: str, stop: tuple[str, ...], level: str) -> ModelRequest:
        """Return the request for a task of a level."""
        return ModelRequest(prompt, stop, self.max_tokens or MAX_TOKENS.get(level, max(MAX_TOKENS.values())))


class CompletionServer:
    """Ask one model, request by request."""

    def __init__(self, model: Model) -> None:
        self._model = model
        api = Api(
            name="chat" if model.chat else "completions",
            resource=lambda client: client.chat.completions if model.chat else client.completions,
            error=CompletionError,
            resumption="what was answered so far is kept, run the same command again",
            refused="the model or a prompt {}; check model, base_url and api, or shorten the prompts with a smaller "
            "--budget",
        )
        self._server = ApiServer(model.base_url, api, timeout=model.timeout)

    def ask(self, request: ModelRequest) -> Answer:
        """Return the model's answer; a CompletionError if there is none that can be used."""
        content = self._server.post(_Content, **self._body(request))
        choice = content.choices[0]
        text = (choice.message.content if choice.message else None) if self._model.chat else choice.text
        if text is None:
            field = "message.content" if self._model.chat else "text"
            raise self._server.unlike_api(f"its choices.0.{field}: it is missing")
        finish = (choice.finish_reason or "not stated")[:40]
        return Answer(text=text, finish=finish)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model.name, "max_tokens": request.max_tokens, "temperature": 0}
        if request.stop:
            body["stop"] = list(request.stop)
        if self._model.chat:
            system = {"role": "system", "content": INSTRUCTION}
            return body | {"messages": [system, {"role": "user", "content": request.prompt}]}
        return body | {"prompt": request.prompt}


def parse_model(text: str) -> Model:
    """Return the model that a spec names; a SpecError says what is impossible in it, without repeating a key."""
    spec = Spec.parse(text)
    if spec.name != "openai":
        raise SpecError(nearest("model", spec.name, ["openai"], "write openai:NAME,base_url=http://HOST:PORT/v1"))
    check_no_key("model openai", spec.params)
    if not spec.target:
        raise SpecError("model openai names no model; write openai:NAME,base_url=http://HOST:PORT/v1")
    values = read_options("model openai", spec.params, options_of(Model, frozenset({"name"})))
    return Model(name=spec.target, **values | {"base_url": server_address(values.get("base_url") or "")})


def answer_all(
    model: Model, requests: Sequence[ModelRequest], cache: VectorCache, *, concurrency: int = 8
) -> tuple[dict[ModelRequest, Answer], int]:
    """Return the answer to every distinct request, and how many were sent; a CompletionError if one fails for good."""
    distinct = list(dict.fromkeys(requests))
    identity = json.dumps(model.identity, sort_keys=True)
    settings = {one: json.dumps({"stop": list(one.stop), "max_tokens": one.max_tokens}) for one in distinct}
    keys = {one: text_key(key_prefix("completion", identity, settings[one]), one.prompt) for one in distinct}
    with faults_as(CacheError, cache.folder, MEND):
        known = {
            request: parse(value, Answer)
            for request, value in zip(distinct, cache.read(keys.values()), strict=True)
            if value is not None
        }
    missing = [request for request in distinct if request not in known]
    if missing:
        server = CompletionServer(model)
        with progress(desc=f"complete {count(len(missing), 'prompt')}", unit="prompts", total=len(missing)) as bar:
            for request, answer in answers(server.ask, missing, concurrency):
                # Cached when it arrives, so a repeated command resumes.
                value = json.dumps(answer.model_dump()).encode()
                cache.write({keys[request]: value})
                known[request] = answer
                bar.update()
    return known, len(missing)
