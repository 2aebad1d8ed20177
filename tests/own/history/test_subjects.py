"""Subjects of commits: what is asked, and what is left out by which reason."""

import pytest

from repoeval_bench.own.history.subjects import REASONS, question_of, refusal, subject_of

AUTHOR = "Ann <ann@example.org>"

REFUSED = {
    "bots": [("Bump lodash from 4.17.20 to 4.17.21", "dependabot[bot] <support@example.org>")],
    "reverts": ['Revert "Show the cart total with tax"', "Back out the new parser of dates"],
    "release": [
        "Bump version to 2.1.0 for the release",
        "Update dependencies of the web client",
        "Fix the changelog entry",
    ],
    "documents": [
        "Fix typo in the message of login",
        "Document the options of the parser",
        "Add comments to the cart code",
    ],
    "layout": [
        "Run the linter over all sources",
        "Remove trailing blanks at ends of rows",
        "Fix code style in price.go",
        "Silence a warning about price conversions",
    ],
    "typing": [
        "Add type hints to the cart",
        "Use f-strings in the order module",
        "http: type the header argument",
        "Add missing const qualifier to price",
    ],
    "ci": ["Run GitHub Actions on Windows too", "Add tests for empty carts here", "Fix flaky test of the queue"],
    "upkeep": [
        "Refactor the price of an order",
        "Clean up the cart after checkout",
        "Improve readability of the date parser",
        "Remove unused code from the parser",
        "Minor fixes to the order module",
        "Extract method for the tax rate",
        "Make the order consistent in price",
    ],
    "by its prefix": [
        "chore: tidy the price of orders",
        "docs(api): describe the price of orders",
        "MAINT: use the new numpy names here",
        "DOC: say what an order costs",
        "[ci] build wheels for more machines",
        "refactor!: split the price of an order",
        "test: cover the price of an order",
    ],
    "fewer than four words": ["Fix cart total", "fix(cart): empty total (#12)", "cart.py"],
    "no object": ["Handle more edge cases", "Fix some more bugs", "Add support for new options"],
}


@pytest.mark.parametrize(
    ("reason", "subject", "author"),
    [
        (reason, *(one if isinstance(one, tuple) else (one, AUTHOR)))
        for reason, subjects in REFUSED.items()
        for one in subjects
    ],
)
def test_a_subject_that_asks_nothing_has_a_reason(reason, subject, author):
    assert refusal(subject, author) == reason


def test_every_reason_has_an_example():
    assert REFUSED.keys() == REASONS.keys()


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        ("fix(cart): Show the total with tax (#12)", "Show the total with tax"),
        ("feat!: show the total with tax", "show the total with tax"),
        ("net/http: close the body of a redirect", "net/http: close the body of a redirect"),
        ("Fixes #12: show the total with tax", "show the total with tax"),
        ("Issue #12: show the total with tax", "show the total with tax"),
        ("Show the total with tax, closes #12 and #13", "Show the total with tax"),
        ("SHOP-12: Show the total with tax.", "Show the total with tax"),
        ("UTF-8 names of files are kept", "UTF-8 names of files are kept"),
        ("Show the total, see https://example.org/12 for tax", "Show the total, see for tax"),
        ("[cart] Show the total with tax", "Show the total with tax"),
    ],
)
def test_a_question_is_the_subject_without_links_issues_and_types(subject, question):
    assert question_of(subject) == question
    assert refusal(subject, AUTHOR) is None


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        ("Show the total\n\nLong story.\n", "Show the total"),
        ("Merge pull request #12 from ann/total\n\nShow the total\n", "Show the total"),
        ("Merge branch 'total'\n\nShow the total\n", "Merge branch 'total'"),
        ("Show the total of the c… (#12)\n\n…art with tax", "Show the total of the c… (#12)"),
        ("Show the total of the c…\n\n…art with tax", "Show the total of the cart with tax"),
        ("", ""),
    ],
)
def test_the_subject_is_the_title_of_a_message(message, subject):
    assert subject_of(message) == subject
