"""A real HTTP server on 127.0.0.1 that speaks OpenAI's completions and chat APIs, and fails in the ways asked for.

Its model copies and continues n-grams of its prompt: it looks for the last words of the prompt earlier in the prompt,
the longest match first and the latest of those, and writes the word that followed. So a prompt that shows more of what
is to be written gives better completions. It shares no code with the client.
"""

import json
import re
from typing import Any

from support.embedding_server import KEY, EmbeddingsHandler, serving

__all__ = ["KEY", "CompletionsHandler", "continued", "serving_completions"]

LONGEST = 12
"""Words of the longest n-gram that is looked for."""

_WORD = re.compile(r"\n|[ \t]+|\w+|[^\w\s]")


def continued(prompt: str, most: int) -> tuple[str, str, int, int]:
    """(what the model writes, why it ended, words of the prompt, words written): the same for the same prompt."""
    # What is shown in comments is code all the same.
    words = _WORD.findall(re.sub(r"^(?:#|//) ", "", prompt, flags=re.MULTILINE))
    ends = {
        tuple(words[end - size : end]): end for end in range(1, len(words)) for size in range(1, min(LONGEST, end) + 1)
    }
    results: list[str] = []
    while len(results) < most:
        history = [*words[-LONGEST:], *results][-LONGEST:]
        index = next((ends[key] for n in range(len(history), 0, -1) if (key := tuple(history[-n:])) in ends), None)
        if index is None:
            return "".join(results), "stop", len(words), len(results)
        results.append(words[index])
    return "".join(results), "length", len(words), len(results)


class CompletionsHandler(EmbeddingsHandler):
    """Answers POST /v1/completions and /v1/chat/completions."""

    paths = ("/v1/completions", "/v1/chat/completions")

    def reply(self, request: dict[str, Any], fault: dict[str, Any]) -> None:
        chat = "chat" in self.path
        prompt = request["messages"][-1]["content"] if chat else request["prompt"]
        text, finish, read, written = continued(prompt, request["max_tokens"])
        for stop in request.get("stop", ()):
            if stop in text:
                text, finish = text[: text.index(stop)], "stop"
        if chat:
            # As many servers do, it puts code into a fence and loses the blanks before it.
            message = {"role": "assistant", "content": f"```python\n{text.strip()}\n```"}
            choice = {"index": 0, "message": message, "finish_reason": finish}
        else:
            choice = {"index": 0, "text": text, "finish_reason": finish}
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        content = {"object": "text_completion", "model": request["model"], "choices": [choice], "usage": usage}
        self.answer(200, json.dumps(content).encode())


def serving_completions() -> Any:
    """The server in a thread of its own, until the block ends."""
    return serving(CompletionsHandler)
