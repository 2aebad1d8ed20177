"""Write a file as a comment on a pull request, or replace the comment of the same name: a step of action.yml.

GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN and PULL_REQUEST say where. A token that may not write (as that of a
pull request from a fork) is a warning: the step's summary has the table too. Any other error ends with exit code 1.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx

LONGEST = 60_000
"""The longest comment, in characters; GitHub takes 65,536."""

PAGE = 100
FORBIDDEN = 403


def main() -> int:
    """Post or replace the comment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="The comment, in Markdown.")
    parser.add_argument("--name", required=True, help="The mark of this comment among others of the pull request.")
    options = parser.parse_args()
    # A name could end an HTML comment; its hash cannot.
    mark = f"<!-- repoeval-bench {hashlib.sha256(options.name.encode()).hexdigest()[:16]} -->"
    text = f"{mark}\n{options.file.read_text(encoding='utf-8')}"
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n\n(cut here: the rest is in the step's summary)\n"
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    api = f"{os.environ.get('GITHUB_API_URL', 'https://api.github.com')}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        with httpx.Client(headers=headers, timeout=30, follow_redirects=True) as client:
            url = f"{api}/{os.environ['PULL_REQUEST']}/comments"
            ours = next((one for one in comments(client, url) if (one["body"] or "").startswith(mark)), None)
            method, target = ("PATCH", f"{api}/comments/{ours['id']}") if ours else ("POST", url)
            answer = client.request(method, target, json={"body": text})
            answer.raise_for_status()
    except httpx.HTTPError as error:
        if isinstance(error, httpx.HTTPStatusError) and error.response.status_code == FORBIDDEN:
            print("::warning::the token may not comment on this pull request; the table is in the step's summary")
            return 0
        print(f"::error::the comment was not written: {error}")
        return 1
    print(f"{'replaced' if ours else 'wrote'} the comment: {answer.json()['html_url']}")
    return 0


def comments(client: httpx.Client, url: str) -> Iterator[dict[str, str]]:
    """Yield every comment of the pull request, page by page."""
    for page in count(1):
        answer = client.get(url, params={"per_page": PAGE, "page": page})
        answer.raise_for_status()
        result = answer.json()
        yield from result
        if len(result) < PAGE:
            return


if __name__ == "__main__":
    sys.exit(main())
