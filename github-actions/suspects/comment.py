"""Comments the suspects on the pull request, or replaces the comment of an earlier run.

It needs the standard library alone. Text from the tests is only ever the body of a comment: the number of the pull
request comes from the event, and addresses are made of that number and the name of the repository.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARK = "<!-- suspectra: the first suspects -->"
NONE = "There are no suspects any more: no test failed, or nothing could be ranked."
MAX_BODY = 60_000
"""Characters of a comment; GitHub takes 65,536."""
ANSWER_TIMEOUT_S = 30.0
"""For one answer of GitHub, which usually takes less than a second."""
PAGES, PER_PAGE = 10, 100


def main() -> int:
    """Comment, and return the exit status of the step: 0 also where the token may not comment."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    number = (event.get("pull_request") or {}).get("number")
    repository = os.environ["GITHUB_REPOSITORY"]
    if not isinstance(number, int) or not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        print("Suspectra: this run belongs to no pull request, so there is nothing to comment on")
        return 0
    report = Path(os.environ["RUNNER_TEMP"], "suspectra-report.md").read_text("utf-8").strip()
    issue = f"/repos/{repository}/issues/{number}/comments"
    try:
        former = _former(issue)
        if report:
            body = {"body": f"{MARK}\n{_shortened(report)}"}
            _ask(*(("POST", issue) if former is None else _edit(repository, former)), body)
        elif former is not None:
            _ask(*_edit(repository, former), {"body": f"{MARK}\n{NONE}"})
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):
            print(
                f"::warning::Suspectra may not comment ({error.code}): give the job the permission pull-requests: write"
            )
            return 0
        raise
    return 0


def _former(issue: str) -> int | None:
    """The comment of an earlier run; only one by this action's account counts, since anybody can write the mark."""
    for page in range(1, PAGES + 1):
        comments = _ask("GET", f"{issue}?per_page={PER_PAGE}&page={page}")
        for comment in comments:
            by = comment["user"] or {}  # who has deleted the account has no name any more
            if by.get("type") == "Bot" and (comment["body"] or "").startswith(MARK):
                return int(comment["id"])
        if len(comments) < PER_PAGE:
            break
    return None


def _edit(repository: str, comment: int) -> tuple[str, str]:
    return "PATCH", f"/repos/{repository}/issues/comments/{comment}"


def _shortened(report: str) -> str:
    if len(report) <= MAX_BODY:
        return report
    return report[:MAX_BODY].rpartition("\n")[0] + "\n\nThe summary of the job has the rest."


def _ask(method: str, address: str, body: dict[str, str] | None = None) -> Any:
    request = urllib.request.Request(
        os.environ["GITHUB_API_URL"] + address,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
