"""The bertlook command: its help, its options, its errors, and both ways to start it."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
from made import printed_by

from bertlook_bench import common
from bertlook_bench import line as cli
from bertlook_bench.driver import completion
from bertlook_course.storage import claim_folder
from bertlook_press.commands import present
from bertlook_teach import __version__
from bertlook_teach.disk import install_command

ROOT = Path(__file__).resolve().parents[2]


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"bertlook_teach {__version__}\n"


def test_the_help_names_every_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # where a line is broken differs between versions of Python
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    printed = capsys.readouterr().out
    for name, (_, summary) in cli.COMMANDS.items():
        assert re.search(rf"^ +{name}\s+{summary}$", printed, re.MULTILINE)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_help(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: bertlook {name}")
    program, *words = shlex.split(printed.splitlines()[-1])  # the example at the end can be typed
    assert program == "bertlook" and cli.build_parser(name).parse_args(words).command == name


def test_the_same_option_means_the_same_in_every_command():
    kinds, helps = {}, {}
    for name in cli.COMMANDS:
        subparsers = next(action for action in cli.build_parser(name)._actions if action.choices)
        for action in subparsers.choices[name]._actions:
            for option in action.option_strings:
                kinds.setdefault(option, set()).add((action.metavar, action.type, type(action)))
                helps.setdefault(option, set()).add(action.help)
    several = {option for option, kind in kinds.items() if len(kind) > 1}
    assert several == {
        "--task",
        "--out",
    }  # one of four, or a name; a folder, or the one file of record and show
    assert {metavar for metavar, _, _ in kinds["--out"]} == {"DIR", "FILE"}
    for option in ("--device", "--quiet", "--on-error", "--learning-rate", "--port"):
        assert len(helps[option]) == 1
    once = "--treebank --sentences --too-long --no-controls --cases --keep --iterations --by --how --orders --answers"
    assert not set(once.split()) & set(kinds) and "--data" in kinds


@pytest.mark.parametrize("option", ["--texts", "--out", "--model"])
def test_an_empty_argument_is_not_the_current_folder(option, tmp_path, monkeypatch, capsys):
    (tmp_path / "texts.txt").write_text("A cat.\n")
    monkeypatch.chdir(tmp_path)
    words = {"--texts": "texts.txt", "--out": "out", "--model": "specimen"} | {option: ""}
    with pytest.raises(SystemExit):
        cli.main(["profile", *(part for pair in words.items() for part in pair)])
    assert "an argument is empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]


@pytest.mark.parametrize("given", ["\u0663", "1_0", "1.5", "three"])
def test_a_number_is_written_in_the_digits_0_to_9(given, capsys):
    with pytest.raises(SystemExit):
        cli.main(["syntax", "--limit", given, "--out", "out"])
    assert "a whole number was expected, in the digits 0 to 9" in capsys.readouterr().err


def test_a_second_run_in_one_folder_is_refused_and_the_folder_is_free_afterwards(tmp_path, capsys):
    more = ["profile", "--texts", str(tmp_path / "nowhere.txt"), "--out", str(tmp_path)]
    claim_folder(tmp_path)
    assert cli.main(more) == 1
    assert "another bertlook is writing into" in capsys.readouterr().err
    for _ in range(2):  # what ended in an error has let go
        assert cli.main(more) == 1
        assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        ["profile", "--texts", "nowhere.txt"],
        ["coref", "--data", "nowhere.conllu"],
        ["finetune", "--task", "nowhere"],
        ["export", "77"],
        ["collect", "nowhere"],
    ],
)
def test_a_folder_that_was_made_for_a_result_goes_again_if_there_is_none(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    for out in ("new/and/deep", "mine"):
        assert cli.main([*line, "--out", out]) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]


def test_a_module_that_stands_in_the_way_of_a_library_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "conllu", SimpleNamespace(__file__="/mine/conllu.py"))
    assert cli.main(["syntax", "--limit", "5", "--out", str(tmp_path)]) == 1
    assert "/mine/conllu.py stands in the way of the library conllu" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no folder that is in use")
def test_a_current_folder_that_was_deleted_is_said(tmp_path):
    script = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.executable, [sys.executable, '-m', 'bertlook_bench', 'doctor'])"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "gone"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        done.stderr.strip()
        == "bertlook: the current folder was deleted; change into another and start again."
    )


def test_every_file_has_its_command():
    """Those of the bench by the file's own name, those of the press and of the driver by the whole one."""
    bench = {path.stem for path in Path(cli.__file__).parent.glob("*.py")}
    press = {f"{cli.PRESS}.{path.stem}" for path in (ROOT / "bertlook_press" / "commands").glob("*.py")}
    files = {file for file in bench | press if not file.endswith("__init__")}
    files = files - {"__main__", "line", "common", "models", "chunks"} | {completion.__name__}
    assert files == {file for file, _ in cli.COMMANDS.values()}


def completed(*words):
    """What bash offers for the last of these words."""
    script = f'{completion.script()}\nCOMP_WORDS=({shlex.join(words)})\nCOMP_CWORD={len(words) - 1}\n_bertlook\necho "${{COMPREPLY[*]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash found")
def test_bash_completes_commands_options_and_their_values():
    assert completed("bertlook", "") == list(cli.COMMANDS) and completed("bertlook", "pre") == ["present"]
    for name in ("present", "record", "view"):
        subparsers = next(action for action in cli.build_parser(name)._actions if action.choices)
        options = {flag for action in subparsers.choices[name]._actions for flag in action.option_strings}
        assert set(completed("bertlook", name, "--")) == {flag for flag in options if flag.startswith("--")}
    assert completed("bertlook", "present", "--route", "") == ["20", "50", "90"]
    assert completed("bertlook", "coref", "--data", "x y.conllu", "--on-error", "sk") == ["skip"]
    assert completed("bertlook", "show", "so") == []  # bash offers files


def test_a_sentence_in_a_model_becomes_one_page(tmp_path, capsys):
    out = tmp_path / "new" / "page.html"
    assert cli.main(["view", "The <cat> sat.", "It slept.", "--head", "3-2", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"specimen, 2 texts -> {out}\n"
    page = out.read_text(encoding="utf-8")
    assert '<h1 dir="auto">The &lt;cat&gt; sat. / It slept.</h1>' in page and "Head 3-2" in page
    assert not re.search(r"(?:src|href)=[\"']?(?!data:)\w", page) and "default-src 'none'" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x.html", "--head", "7-1"], "no head 7-1: specimen has 6 layers of 6 heads."),
        (["x.pdf"], "a page is an .html file; got 'x.pdf'."),
        (["x.html", "--model", "recorded:bert-base-cased"], "bertlook show bert-base-cased shows its inputs"),
        (["x.html", "--model", "nowhere/"], "nowhere/"),
    ],
)
def test_what_cannot_be_viewed_is_said(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["view", "the cat", "--out", *words]) == 1
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_file_is_no_sentence_and_a_long_sentence_no_file(capsys, tmp_path):
    corpus, out = tmp_path / "corpus.csv", str(tmp_path / "page.html")
    corpus.write_text("text\nThe cat sat.\n")
    assert cli.main(["view", str(corpus), "--out", out]) == 1
    assert "corpus.csv is a file, and a sentence was expected" in capsys.readouterr().err
    assert cli.main(["view", "It took 3.5 days " * 20, "--out", out]) == 0


@pytest.mark.parametrize("line", [["presnt"], ["present", "--prot", "1"], ["present", "--port", "70000"]])
def test_a_wrong_command_line_is_answered_with_the_usage(line, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(line)
    assert "usage: bertlook" in capsys.readouterr().err


def test_an_error_is_one_line_and_a_traceback_if_wanted(capsys, monkeypatch):
    assert cli.main(["present", "77", "--no-browser"]) == 1
    assert capsys.readouterr().err.startswith("bertlook present: no deck '77' in ")
    monkeypatch.setenv("BERTLOOK_TRACEBACK", "1")
    with pytest.raises(ValueError, match="no deck"):
        cli.main(["present", "77", "--no-browser"])


@pytest.mark.parametrize("name", ["transformers", "sklearn"])
def test_a_command_says_which_extra_brings_what_is_missing(name, capsys, monkeypatch):
    missing = ModuleNotFoundError(f"No module named {name!r}", name=name)

    def run(args):
        raise missing

    monkeypatch.setattr(cli._module("misconceptions"), "run", run)
    assert cli.main(["misconceptions"]) == 1
    assert install_command("torch") in capsys.readouterr().err


def test_classic_rise_says_which_extra_brings_it(capsys, monkeypatch):
    monkeypatch.setattr(present, "find_spec", lambda name: None)
    assert cli.main(["present", "01", "--classic", "--no-browser"]) == 1
    assert install_command("classic") in capsys.readouterr().err


def test_both_ways_to_start_it_are_the_same_and_take_no_module_of_the_current_folder(tmp_path):
    for name in ("random", "tempfile", "argparse", "numpy"):
        (tmp_path / f"{name}.py").write_text(
            "raise SystemExit('a module of the current folder was imported')"
        )
    entry = "import sys; del sys.path[0]; from bertlook_bench.line import main; sys.exit(main())"
    said = []
    for way in (["-m", "bertlook_bench"], ["-c", entry]):  # the second as pip installs it
        done = subprocess.run(
            [sys.executable, *way, "profile", "--texts", "nowhere.txt", "--out", "out"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0] == said[1] and said[0][0] == 1 and "there is no file nowhere.txt" in said[0][2]


def test_the_command_loads_nothing_heavy():
    heavy = "torch transformers numpy matplotlib IPython ipywidgets jupyterlab jupyter_server"
    code = "import sys; import bertlook_bench.line, bertlook_press.classroom.server; print(*sys.modules)"
    assert not set(heavy.split()) & set(printed_by(code, cwd=ROOT).split())


def test_by_itself_the_command_says_what_there_is(capsys):
    assert cli.main([]) == 0
    said = capsys.readouterr().out
    assert [heading for heading in cli.GROUPS if f"\n{heading}:\n" in said] == list(cli.GROUPS)


@pytest.mark.parametrize(
    "wrong, meant", [("presnt", "Did you mean present?"), ("claim", "Did you mean claims?"), ("zzz", "")]
)
def test_a_misspelt_command_is_answered_with_the_right_one(wrong, meant, capsys):
    with pytest.raises(SystemExit):
        cli.main([wrong])
    said = capsys.readouterr().err
    assert f"there is no command '{wrong}'. {meant}".strip() in said and "choose from" not in said
    assert ("Did you mean" in said) == bool(meant)


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp850", "ascii"])
def test_a_console_that_lacks_a_character_gets_a_question_mark(encoding, monkeypatch):
    console = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", console)
    assert cli.main(["misconceptions", "--list", "--lesson", "01"]) == 0
    print("√ “quoted” ⟨head⟩")
    console.flush()
    assert b"?" in console.buffer.getvalue()


def test_a_closed_stream_swallows_what_is_said_and_the_run_goes_on(monkeypatch, capsys):
    """As ``2>&-`` leaves it: the bar of a run, and its number, which the next file would get."""
    monkeypatch.setattr(sys, "stderr", None)
    with cli.printing_anywhere():
        print("a bar", file=sys.stderr)
        assert sys.stderr.name == os.devnull


def test_too_little_memory_is_one_line(monkeypatch, capsys):
    def run(args):
        raise MemoryError("Unable to allocate 10 GiB")

    monkeypatch.setattr(cli._module("doctor"), "run", run)
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().err
    assert "bertlook doctor: there is not enough memory (Unable to allocate 10 GiB); take fewer" in said


# --- what a stranger wrote, on the terminal ---------------------------------------------------------------------------
def test_what_a_stranger_wrote_is_shown_and_not_obeyed(monkeypatch, capsys):
    """Whichever command prints it, and however: its result, an error, a warning."""
    evil = "\x1b]0;title\x07\x1b[2J \u202egnp.exe\u2066 \x9b1m"

    def run(args):
        print(evil, end="\r\n")
        print(f"left out: {evil}\rbertlook: all is well", file=sys.stderr)
        sys.stdout.writelines([evil])
        warnings.warn(evil, stacklevel=1)
        raise ValueError(f"line 1 holds {evil}")

    monkeypatch.setattr(cli._module("doctor"), "run", run)
    monkeypatch.setattr(
        warnings, "showwarning", lambda message, *rest, **more: sys.stderr.write(str(message))
    )
    assert cli.main(["doctor"]) == 1
    printed = capsys.readouterr()
    both = printed.out + printed.err
    assert not set("\x1b\x07\x9b\u202e\u2066\r") & set(both)
    assert both.count(r"\x1b]0;title\x07\x1b[2J \u202egnp.exe\u2066 \x9b1m") == 5


def test_a_bar_still_moves(monkeypatch, capsys):
    def run(args):
        for _ in common.bar(SimpleNamespace(quiet=False), "part")(range(3)):
            pass
        return 0

    monkeypatch.setattr(cli._module("doctor"), "run", run)
    assert cli.main(["doctor"]) == 0
    said = capsys.readouterr().err
    assert "\rpart: " in said and "\\r" not in said and "\\x1b" not in said


def test_a_page_that_a_message_quotes_is_cut(monkeypatch, capsys):
    def run(args):
        raise ValueError(f"begins {'x' * 1_000_000} ends")

    monkeypatch.setattr(cli._module("doctor"), "run", run)
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().err
    assert len(said) < 5000 and "begins" in said and said.endswith("ends\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe of POSIX")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["show", "bert-base-uncased"], ["misconceptions", "--list"]]
)
def test_who_reads_only_the_first_line_is_left_in_peace(arguments):
    """As behind ``| head -1``: no word of a broken pipe, and what a shell says of other commands then."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bertlook_bench", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    process.stdout.close()  # before the first line is written
    assert process.stderr.read() == b"" and process.wait() == cli.NOBODY_READS


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as Linux does")
def test_a_shell_that_allows_too_little_memory_is_told_so(tmp_path):
    """OpenBLAS would try for ever while SciPy is imported."""
    command = shlex.join([sys.executable, "-m", "bertlook_bench", "negation", "--out", str(tmp_path)])
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v 300000; {command}"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1 and not list(tmp_path.iterdir())
    assert re.fullmatch(
        r"bertlook negation: this shell lets a process have 307 MB of memory \(ulimit -v 300000\), and [\d,]+ are the least: .*\n",
        done.stderr,
    )
