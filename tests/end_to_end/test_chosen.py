"""A chosen setting is a file that `gate` tests on the commits since."""

import json
import re
import tomllib
from types import SimpleNamespace

import pytest

from repoeval_bench.analysis.gates import ChosenEvidence, ChosenSetting
from repoeval_bench.analysis.records import Carrier, Outcome, PairVerdict
from repoeval_bench.own.recommend.chosen import dump_chosen, read_chosen
from repoeval_bench.report.gates import recheck_sentence
from support.command import bench, succeed
from support.history import Story, python_file

NAMES = [
    f"{first}{second}" for first in ("red", "blue", "green", "grey") for second in ("cart", "tax", "stock", "user")
]
SMALL, LARGE = "ast:max_nws=150", "fixed:max_nws=9000"
CHOSEN = ChosenSetting(spec=SMALL, opponent=LARGE, retriever="bm25", expected_loss=0.01, date="2020-09-13", tool="t 1")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """(repository, the commit of the choice): 24 files, each changed three times since by commits that name a function."""
    story = Story(tmp_path_factory.mktemp("shop") / "shop")
    paths = [f"shop/part{number}.py" for number in range(24)]
    story.commit(
        "Start the shop",
        edit={path: python_file([f"{name}{number}" for name in NAMES]) for number, path in enumerate(paths)},
    )
    first = story.commit("Describe the shop for people", edit={"README.md": "shop"})
    for turn in range(3):
        for number, path in enumerate(paths):
            name = f"{NAMES[3 * turn]}{number}"
            line = f"    {name}2 = order.{name}[2]\n"
            assert line in story.files[path]
            text = story.files[path].replace(line, f"    {name}2 = order.find_{name}(2)\n")
            story.commit(f"Find the {name} of every order by name", edit={path: text})
    return SimpleNamespace(folder=story.folder, first=first, last=story.ids[-1])


def write(folder, **changes):
    path = folder / "chunking.toml"
    path.write_text(dump_chosen(CHOSEN.model_copy(update=changes)))
    return path


def test_a_file_is_read_as_it_was_written(tmp_path):
    evidence = [
        ChosenEvidence(protocol="uses", retriever="bm25", measure="m", questions=9, files=3, mean=1e-05),
        ChosenEvidence(protocol="d", retriever="r", measure="m", questions=1, files=1, mean=0.0, opponent_mean=0.5),
    ]
    spec = 'exec:node "cut \\ it.js" \x7f ü 😀'
    path = write(tmp_path, spec=spec, commit="abc", evidence=evidence)
    content = tomllib.loads(path.read_text())
    assert content["spec"] == spec
    assert content["evidence"][1]["opponent_mean"] == 0.5
    chosen = CHOSEN.model_copy(update={"spec": spec, "commit": "abc", "evidence": evidence})
    assert read_chosen(path) == chosen
    path.write_text("loss_95 = 0.02\n" + path.read_text())
    assert read_chosen(path) == chosen


@pytest.mark.parametrize(("spec", "opponent", "holds"), [(SMALL, LARGE, True), (LARGE, SMALL, False)])
def test_a_choice_holds_unless_its_opponent_is_significantly_better_on_later_commits(
    shop, tmp_path, spec, opponent, holds
):
    path = write(tmp_path, spec=spec, opponent=opponent, commit=shop.first)
    words = ["gate", path, "--source", shop.folder, "--out", tmp_path / "out"]
    done = bench(*words, home=tmp_path, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    assert done.code == (0 if holds else 1), bench(*words, "--json", home=tmp_path).out
    said = " ".join(done.out.split())
    assert ("it still holds" in said, "no longer holds" in said) == (holds, not holds)
    assert f"72 commits since {shop.first[:12]} (24 files)" in said
    more = "more" if holds else "less"
    ends = re.search(rf"([\d.]+) points {more} .* interval: ([\d.]+) to ([\d.]+) {more}\)", said)
    points, least, most = map(float, ends.groups())
    assert least <= points <= most
    assert spec.partition(":")[0] in (tmp_path / "summary.md").read_text()
    record = json.loads(bench(*words, "--json", home=tmp_path).out)
    assert record["outcome"] == ("better" if holds else "worse")
    assert record["holds"] is holds
    low, high = record["ci"]
    assert low <= record["difference"] <= high
    assert (record["difference"] > 0) is holds


@pytest.mark.parametrize(
    ("verdict", "ends"),
    [
        (PairVerdict(outcome=Outcome.BETTER), "The difference is significant."),
        (
            PairVerdict(outcome=Outcome.CARRIED, carrier=Carrier(kind="period", name="shop@2021-06", p=0.3)),
            "The difference rests on one period, without which it is not significant.",
        ),
        (
            PairVerdict(outcome=Outcome.NOT_SIGNIFICANT),
            "Corrected for few files, the difference is not significant; the interval is not corrected.",
        ),
    ],
)
def test_a_difference_whose_interval_excludes_0_says_why_it_is_not_significant(verdict, ends):
    pair = SimpleNamespace(
        difference=0.07, ci=(0.03, 0.12), verdict=verdict, is_significant=verdict.outcome.is_significant
    )
    said = recheck_sentence(
        SimpleNamespace(chosen=CHOSEN, comparison=pair, holds=True, questions=127, files=29, since="abc", notes=())
    )
    assert said.endswith(ends)


@pytest.mark.parametrize("since", ["last", "date"])
def test_few_later_commits_are_too_little_to_judge(shop, tmp_path, since):
    """Then the choice stays; the date stands in for a commit that a clone does not have."""
    known = {"last": {"commit": shop.last}, "date": {"commit": "f" * 40, "date": "2030-01-01"}}[since]
    path = write(tmp_path, spec=LARGE, opponent=SMALL, **known)
    done = succeed("gate", path, "--source", shop.folder, "--out", tmp_path / "out", home=tmp_path)
    assert "Too little to judge: 0 usable commits since" in done.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec = ", "is not TOML"),
        ('spec = "ast"\n', "opponent"),
        (dump_chosen(CHOSEN) + "more = 1\n", "more"),
        (dump_chosen(CHOSEN.model_copy(update={"opponent": SMALL})), "name another opponent"),
    ],
)
def test_a_file_that_is_broken_is_one_sentence(tmp_path, text, said):
    path = tmp_path / "chunking.toml"
    path.write_text(text)
    done = bench("gate", path, "--source", tmp_path, home=tmp_path)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
