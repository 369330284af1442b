"""completion: scripts for bash, zsh and fish, generated from the commands."""

from __future__ import annotations

import argparse

from holdfast.edge.cli.command import Command, Output, parser
from holdfast.edge.cli.table import COMMANDS as KNOWN
from holdfast.edge.cli.table import load
from holdfast.typed import Record


class Option(Record):
    """One option of a command, under all of its names."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


class Entry(Record):
    """A command, or a verb of one, with its completions."""

    words: tuple[str, ...]
    summary: str
    verbs: tuple[str, ...]
    options: tuple[Option, ...]
    choices: tuple[str, ...]
    """The values of its first argument, if they are a closed set."""


def entries() -> list[Entry]:
    """Every command and every verb."""
    found = []
    for name in KNOWN:
        command = load(name)
        verbs = command.verbs or {}
        found.append(
            _entry(
                (name,), verbs[command.default] if command.default else command, command.summary, tuple(verbs)
            )
        )
        found += [_entry((name, verb), inner, inner.summary) for verb, inner in verbs.items()]
    return found


def _entry(words: tuple[str, ...], command: Command, summary: str, verbs: tuple[str, ...] = ()) -> Entry:
    actions = parser(" ".join(words), command)._actions
    options = tuple(
        Option(tuple(action.option_strings), _plain(action.help or ""), action.nargs != 0, _choices(action))
        for action in actions
        if action.option_strings
    )
    first = next((action for action in actions if not action.option_strings), None)
    choices = tuple(KNOWN) if words == ("help",) else _choices(first) if first and not verbs else ()
    return Entry(words, summary, verbs, options, choices)


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def _plain(text: str) -> str:
    """Without characters that a shell would interpret in a description."""
    return text.replace("%(default)s", "").translate(str.maketrans("", "", "'\"`$[]\\")).replace(":", ",")


def _with_value(found: list[Entry]) -> list[str]:
    return sorted(
        {name for entry in found for option in entry.options if option.takes_value for name in option.names}
    )


_BASH = """# bash completion for holdfast: eval "$(holdfast completion bash)"
_holdfast() {{
  local word cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} called="" count=0 i skip=0
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    if ((skip)); then skip=0; continue; fi
    case $word in
      {with_value}) skip=1 ;;
      -*) ;;
      *) if ((count < 2)); then called="${{called:+$called }}$word"; ((count++)); fi ;;
    esac
  done
  local words=""
  if ((skip)); then
    case "$called $prev" in
{choices}
    esac
    [[ $words ]] && COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $called in
    "") words="{commands} -V --version -h --help" ;;
{cases}
    *) case ${{called%% *}} in
{outer}
      esac ;;
  esac
  [[ $cur == -* ]] || words=" $words "
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o bashdefault -o default -F _holdfast holdfast
"""


def bash() -> str:
    """The script for bash."""
    found = entries()
    cases, outer, choices = [], [], []
    for entry in found:
        options = " ".join(name for option in entry.options for name in option.names)
        words = " ".join([*entry.verbs, *entry.choices, options])
        cases.append(f'    "{" ".join(entry.words)}") words="{words}" ;;')
        if len(entry.words) == 1 and not entry.verbs:
            outer.append(f'      {entry.words[0]}) words="{options}" ;;')
        for option in entry.options:
            if option.choices:
                values = " ".join(option.choices)
                choices += [
                    f'      "{" ".join(entry.words)}"*" {name}") words="{values}" ;;' for name in option.names
                ]
    return _BASH.format(
        with_value="|".join(_with_value(found)),
        commands=" ".join(KNOWN),
        cases="\n".join(cases),
        outer="\n".join(outer),
        choices="\n".join(choices),
    )


_ZSH = """#compdef holdfast
# zsh completion for holdfast: eval "$(holdfast completion zsh)"
_holdfast() {{
  local word called="" skip=0
  local -i i count=0
  local -a found options
  for ((i = 2; i < CURRENT; i++)); do
    word=${{words[i]}}
    if ((skip)); then skip=0; continue; fi
    case $word in
      {with_value}) skip=1 ;;
      -*) ;;
      *) if ((count < 2)); then called="${{called:+$called }}$word"; ((count++)); fi ;;
    esac
  done
  if ((skip)); then
    case "$called ${{words[CURRENT - 1]}}" in
{choices}
      *) _files; return ;;
    esac
    compadd -a found
    return
  fi
  case $called in
    "") found=(
{commands}
      ) ;;
{cases}
    *) case ${{called%% *}} in
{outer}
      esac ;;
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif ((#found)); then
    _describe command found
  else
    _files
  fi
}}
compdef _holdfast holdfast
"""


def zsh() -> str:
    """The script for zsh."""
    found = entries()
    summaries = {entry.words: _plain(entry.summary) for entry in found}
    cases, outer, choices = [], [], []
    for entry in found:
        options = " ".join(f"'{name}:{option.help}'" for option in entry.options for name in option.names)
        words = [f"'{verb}:{summaries[(*entry.words, verb)]}'" for verb in entry.verbs]
        words += [f"'{choice}'" for choice in entry.choices]
        cases.append(f'    "{" ".join(entry.words)}") found=({" ".join(words)}) options=({options}) ;;')
        if len(entry.words) == 1 and not entry.verbs:
            outer.append(f"      {entry.words[0]}) options=({options}) ;;")
        for option in entry.options:
            if option.choices:
                values = " ".join(option.choices)
                choices += [
                    f'      "{" ".join(entry.words)}"*" {name}") found=({values}) ;;' for name in option.names
                ]
    return _ZSH.format(
        with_value="|".join(_with_value(found)),
        commands="\n".join(f"      '{name}:{summaries[(name,)]}'" for name in KNOWN),
        cases="\n".join(cases),
        outer="\n".join(outer),
        choices="\n".join(choices),
    )


def fish() -> str:
    """The script for fish."""
    lines = ["# fish completion for holdfast: holdfast completion fish | source"]
    lines.append("complete -c holdfast -n __fish_use_subcommand -s V -l version -d 'show the version'")
    found = entries()
    common = set.intersection(*(set(entry.options) for entry in found))
    lines += [f"complete -c holdfast {_fish_option(option)}" for option in sorted(common)]
    for entry in found:
        name = entry.words[0]
        seen = f"__fish_seen_subcommand_from {name}"
        if len(entry.words) == 1:
            lines.append(
                f"complete -c holdfast -n __fish_use_subcommand -xa {name} -d '{_plain(entry.summary)}'"
            )
            others = f" and not __fish_seen_subcommand_from {' '.join(entry.verbs)}" if entry.verbs else ""
            condition = f"{seen};{others}" if others else seen
        else:
            verb = entry.words[1]
            alone = f"{seen}; and not __fish_seen_subcommand_from {' '.join(load(name).verbs or {})}"
            lines.append(f"complete -c holdfast -n '{alone}' -xa {verb} -d '{_plain(entry.summary)}'")
            condition = f"{seen}; and __fish_seen_subcommand_from {verb}"
        if entry.choices:
            lines.append(f"complete -c holdfast -n '{condition}' -xa '{' '.join(entry.choices)}'")
        own = [option for option in entry.options if option not in common]
        lines += [f"complete -c holdfast -n '{condition}' {_fish_option(option)}" for option in own]
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    value = f" -xa '{' '.join(option.choices)}'" if option.choices else " -r" if option.takes_value else ""
    return f"{' '.join(names)}{value} -d '{option.help}'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell")


def _completion(arguments: argparse.Namespace) -> Output:
    script = SHELLS[arguments.shell]()
    return Output(script, {"shell": arguments.shell, "script": script})


COMMANDS = {
    "completion": Command(
        "Print the completion script for bash, zsh or fish.",
        _arguments,
        _completion,
        ("holdfast completion bash", "holdfast completion fish | source"),
        details="To load it at every start of\nbash, add this line to ~/.bashrc; for zsh alike:\n\n"
        '  eval "$(holdfast completion bash)"',
    ),
}
