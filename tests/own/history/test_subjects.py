"""Subjects of commits: what is asked, and what is left out by which reason, as `subjects.yaml` has them."""

import re

import pytest

from repoeval_bench.own.history.subjects import REASONS, question_of, refusal, subject_of
from support.cases import cases

AUTHOR = "Ann <ann@example.org>"
CASES = cases(__file__)


@pytest.mark.parametrize("reason", REASONS)
def test_a_subject_that_asks_nothing_has_a_reason(reason):
    """A sign | stands before an author who is not a person."""
    subjects = [subject.partition(" | ") for subject in CASES["refused"][reason]]
    reasons = {subject: refusal(subject, author or AUTHOR) for subject, _, author in subjects}
    assert reasons == dict.fromkeys(reasons, reason)


@pytest.mark.parametrize(("subject", "question"), CASES["questions"].items())
def test_a_question_is_the_subject_without_links_issues_and_types(subject, question):
    assert question_of(subject) == question
    assert refusal(subject, AUTHOR) is None
    assert {*re.findall(r"\w+", question)} <= {*re.findall(r"\w+", subject)}


@pytest.mark.parametrize(("message", "subject"), [*CASES["messages"].items(), ("", "")])
def test_the_subject_is_the_title_of_a_message(message, subject):
    assert subject_of(message) == subject


@pytest.mark.parametrize("author", ["Ann <ann@snyk.io>", "Max Renovate <max@example.org>"])
def test_a_person_may_work_for_a_bot_or_be_named_like_one(author):
    assert refusal("Show the total with tax", author) is None
