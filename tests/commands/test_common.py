"""What the commands share: limits of options, the twin, inputs of several files."""

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack

import pytest
from made import conllu

from bertlook_bench import common
from bertlook_bench.driver import Treebank

TREE = conllu("a cat", (2, 0), "det root")


def test_an_option_below_its_least_value_is_named():
    common.at_least(Namespace(limit=None, seeds=2), limit=2, seeds=2)
    with pytest.raises(ValueError, match=r"^--max-cases must be at least 2; got 1\.$"):
        common.at_least(Namespace(max_cases=1), max_cases=2)
    with pytest.raises(ValueError, match=r"^--limit must be at least two texts, for intervals; got 1\.$"):
        common.at_least(Namespace(limit=1), limit=(2, "two texts, for intervals"))


def test_the_treebank_is_all_files_up_to_the_limit_and_broken_sentences_are_said(tmp_path, capsys):
    treebank = Treebank()

    def read(args):
        with ExitStack() as stack:
            given = treebank.read(args, stack)
            return list(given.items[0]), given.about

    paths = [tmp_path / name for name in ("one.conllu", "two.conllu")]
    paths[0].write_text(TREE * 3)
    paths[1].write_text(conllu("a", (7,)) + TREE)
    parser = ArgumentParser()
    treebank.add(parser)
    args = parser.parse_args(["--data", *map(str, paths), "--on-error", "skip"])
    sentences, about = read(args)
    assert len(sentences) == 4 and about["treebank"] == ["one.conllu", "two.conllu"]
    assert len(about["broken"]) == 1 and "1 broken sentences left out in all" in capsys.readouterr().err
    args.limit = 2
    assert len(read(args)[0]) == 2
    args.limit, args.on_error = None, "stop"
    with pytest.raises(ValueError, match="two.conllu"):
        read(args)
    assert len(read(parser.parse_args(["--limit", "7"]))[0]) == 7  # the shipped one


def test_the_twin_comes_second_unless_it_is_left_out(specimen):
    assert common.with_twin(Namespace(no_twin=True), specimen) == [specimen]
    model, twin = common.with_twin(Namespace(no_twin=False), specimen)
    assert model is specimen and twin.name == "specimen-random"


def test_cutting_is_one_option_with_two_defaults():
    for default in (True, False):
        parser = ArgumentParser()
        common.add_truncate(parser, default=default)
        assert parser.parse_args([]).truncate is default
        assert parser.parse_args(["--truncate"]).truncate
        assert not parser.parse_args(["--no-truncate"]).truncate


def test_bars_are_silent_when_asked(capsys):
    assert (
        list(common.bar(Namespace(quiet=True), "texts")("ab")) == ["a", "b"] and not capsys.readouterr().err
    )
    assert list(common.bar(Namespace(quiet=False), "texts")("ab")) == ["a", "b"]
    assert "texts: 100%" in capsys.readouterr().err
