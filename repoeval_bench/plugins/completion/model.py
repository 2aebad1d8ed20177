"""A language model behind a server that speaks OpenAI's completions or chat API, greedy: `openai:NAME,base_url=…`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from repoeval_bench.core.api_server import Api, ApiServer, check_no_key, counted, no_pause, server_address
from repoeval_bench.core.errors import CompletionError, SpecError
from repoeval_bench.core.files import readable
from repoeval_bench.core.options import OneOf, Option, OrNone, Text, Whole, read_options
from repoeval_bench.core.spec import Spec, format_spec, nearest

USAGE = ("prompt_tokens", "completion_tokens")
"""What an answer's `usage` counts."""

MAX_TOKENS: Mapping[str, int] = {"function": 500, "line": 100, "api": 100}
"""Level -> tokens that an answer may have, unless asked otherwise."""

INSTRUCTION = (
    "You continue source code. Answer with the lines that come next and nothing else: no explanation, no code fence, "
    "and nothing that is already there. Keep the indentation. Stop where the function, statement or line is complete."
)
"""What a chat model is told first."""

ANSWER_BYTES = 4 * 2**20
"""What an answer may hold."""

OPTIONS: Mapping[str, Option] = {
    "base_url": Option(None, "the server; OPENAI_BASE_URL or OpenAI's unless given", Text("http://HOST:PORT/v1")),
    "api": Option("completions", "which of the server's APIs", OneOf(("completions", "chat"))),
    "max_tokens": Option(None, "tokens of an answer; 500 for functions, else 100", OrNone(Whole(1))),
    "timeout": Option(120, "seconds that a request may take", Whole(1)),
}


class Answer(BaseModel, strict=True, extra="forbid", frozen=True):
    """What a model wrote, why it ended (`stop`, `length`, …), and the tokens that the server counted."""

    text: str
    finish: str
    usage: dict[str, int]

    @property
    def cut_off(self) -> bool:
        """Whether it ended at the limit of tokens."""
        return self.finish == "length"

    def as_bytes(self) -> bytes:
        """As it is cached."""
        return json.dumps(self.model_dump()).encode()


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    """The API of completions gives `text`, that of chats a `message`."""

    text: str | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Content(BaseModel):
    """An answer's content, as far as it is read."""

    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: the prompt, and what ends the answer."""

    prompt: str
    stop: tuple[str, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as it was named. `max_tokens` is None where the level decides."""

    name: str
    base_url: str
    api: str
    max_tokens: int | None
    timeout: int

    @property
    def spec(self) -> str:
        """The spec that names it again; how long is waited decides no answer and is left out."""
        named = {"base_url": self.base_url, "api": self.api}
        return format_spec(
            "openai", named | ({} if self.max_tokens is None else {"max_tokens": self.max_tokens}), self.name
        )

    @property
    def chat(self) -> bool:
        """Whether it is asked as a chat."""
        return self.api == "chat"

    @property
    def identity(self) -> dict[str, Any]:
        """What decides an answer beside the request. The server's weights are not known; they may change unseen."""
        told = {"instruction": INSTRUCTION} if self.chat else {}
        return {
            "model": self.name,
            "base_url": self.base_url,
            "api": self.api,
            "temperature": 0,
            "weights_sha256": None,
            **told,
        }

    def asked(self, prompt: str, stop: tuple[str, ...], level: str) -> Asked:
        """The request for a task of a level."""
        return Asked(readable(prompt), stop, self.max_tokens or MAX_TOKENS.get(level, max(MAX_TOKENS.values())))

    def server(self, *, pace: Callable[[], None] = no_pause, **clock: Any) -> CompletionServer:
        """What asks it; `clock` is what `ApiServer` takes of time."""
        return CompletionServer(self, pace=pace, **clock)


class CompletionServer:
    """Asks one model, request by request."""

    def __init__(self, model: Model, **options: Any) -> None:
        self._model = model
        api = Api(
            name="chat" if model.chat else "completions",
            path="chat/completions" if model.chat else "completions",
            error=CompletionError,
            kept="what was answered so far is kept, run the same command again",
            late="timeout=SECONDS gives more, max_tokens=N asks for less",
            refused=f"model {model.name!r} or a prompt; check model, base_url and api, or shorten the prompts with a "
            "smaller --budget",
        )
        self._server = ApiServer(model.base_url, api, timeout=model.timeout, **options)

    def ask(self, asked: Asked, again: Callable[[], None] = no_pause) -> Answer:
        """The model's answer; a CompletionError where there is none that can be used."""
        content = self._server.post(self._body(asked), _Content, most=ANSWER_BYTES, again=again)
        choice = content.choices[0]
        text = (choice.message.content if choice.message else None) if self._model.chat else choice.text
        if text is None:
            wanted = "choices.0.message.content" if self._model.chat else "choices.0.text"
            raise self._server.refusal(f"its {wanted}: it is missing")
        finish = (choice.finish_reason or "not stated")[:40]
        return Answer(text=text, finish=finish, usage=counted(content.usage, USAGE))

    def _body(self, asked: Asked) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model.name, "max_tokens": asked.max_tokens, "temperature": 0}
        if asked.stop:
            body["stop"] = list(asked.stop)
        if self._model.chat:
            told = {"role": "system", "content": INSTRUCTION}
            return body | {"messages": [told, {"role": "user", "content": asked.prompt}]}
        return body | {"prompt": asked.prompt}


def parse_model(text: str) -> Model:
    """The model that a spec names, options checked; a SpecError says what is not possible and repeats no key."""
    spec = Spec.parse(text)
    if spec.name != "openai":
        raise SpecError(nearest("model", spec.name, ["openai"], "write openai:NAME,base_url=http://HOST:PORT/v1"))
    check_no_key("model openai", spec.params)
    if not spec.target:
        raise SpecError("model openai names no model; write openai:NAME,base_url=http://HOST:PORT/v1")
    values = read_options("model openai", spec.params, OPTIONS)
    return Model(
        name=spec.target,
        base_url=server_address(values.get("base_url") or ""),
        api=values["api"],
        max_tokens=values.get("max_tokens"),
        timeout=values["timeout"],
    )
