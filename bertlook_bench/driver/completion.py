"""``bertlook completion``: what lets bash complete the words of this command."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from shlex import quote

from .. import common

_SCRIPT = """\
# Commands and options of bertlook, for bash. For every new shell, put this line into ~/.bashrc:
#   eval "$(bertlook completion)"
_bertlook() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{after}
    *) case "$COMP_CWORD $word ${{COMP_WORDS[1]}}" in
        "1 "*) words={commands} ;;
{options}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _bertlook bertlook"""


def add_arguments(parser: ArgumentParser) -> None:
    """It has no options."""
    what = "Print a script for bash, after which the tab key completes commands, options and their values. Other words are completed as files."
    common.describe(parser, what, "completion")


def run(args: Namespace) -> int:
    """Print the script."""
    print(script())
    return 0


def script() -> str:
    """The script, from the options that each command has."""
    from ..line import COMMANDS

    after, options = [], []
    for name in COMMANDS:
        known = list(_actions(name))
        flags = [flag for flags, _ in known for flag in flags if flag.startswith("--")]
        options.append(f"        *' -'*' {name}') words={quote(' '.join(flags))} ;;")
        for flags, choices in known:
            values = quote(" ".join(map(str, choices)))
            if choices and flags:
                spelt = "|".join(quote(f"{name} {flag}") for flag in flags)
                after.append(f"    {spelt}) words={values} ;;")
            elif choices:
                options.append(f"        *' {name}') words={values} ;;")
    return _SCRIPT.format(
        after="\n".join(after), options="\n".join(options), commands=quote(" ".join(COMMANDS))
    )


def _actions(name: str) -> Iterator[tuple[list[str], list]]:
    """Of each option or argument of a command its spellings and what it may be."""
    from ..line import build_parser

    subparsers = next(action for action in build_parser(name)._actions if action.choices)
    for action in subparsers.choices[name]._actions:
        yield list(action.option_strings), list(action.choices or ())
