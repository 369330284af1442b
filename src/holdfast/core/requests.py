"""Prompts as requests: which one says what the work is, and whether it is about something else than the work so far.

Rules over words, no model. They are careful in one direction: a greeting is never a goal, and a request counts as a new
topic only if it has words of its own and shares none of them with the work.
"""

from __future__ import annotations

from holdfast.core.text import one_line

GOAL = 200
"""Characters of a goal that is taken from a prompt."""
LEAST = 4
"""Words that a request needs before it can be called a new topic: a shorter one leans on what was said before."""
LARGER = 3
"""How many times the words of a goal a request must have to be the larger task."""
TURN = 0.75
"""The share of the goal's words that a request on another topic must have to take the place of the goal."""
_READ = 4_000
"""Characters of a prompt whose words are compared."""

_SMALL_TALK = frozenset(
    """
    hi hello hey hallo hola bonjour moin ciao greetings morning afternoon evening good guten day tag welcome
    yes yeah yep yup no nope ok okay k sure fine right correct exactly agreed approved approve lgtm ja nein oui si
    please bitte thanks thank thx danke merci gracias great nice cool perfect awesome excellent super wonderful well
    done looks
    continue continua weiter proceed go on ahead next more again retry try resume keep going carry start begin
    stop wait pause cancel abort quit exit bye
    do it that this them those these so as is the a an and to of with for from in at i you we me us it's
    your my our just now then also too both all here there first second third one two
    can could would will should shall let lets let's be am are was were did does have has had
    what where when how who which why status progress state left off last yesterday today up about
    ready still working work claude codex gemini copilot cursor agent assistant test ping hmm um oh ah lol
    """.split()  # noqa: SIM905
)
"""Words that say nothing about a task. A prompt of these alone is no request."""
_COMMON = frozenset(
    """
    about add after again all also and any are because been before bug but can change check code could create
    did does done each error every file files find first fix for from get give had has have help how implement into
    issue its just let like look make may more most must need new not now off one only other our out over please
    problem project really run same see session set should show since some such sure task tell test tests than that
    the their them then there these they thing things think this those two update use used using very via want was
    way were what when where which while who why will with without work would write yet you your
    """.split()  # noqa: SIM905
)
"""Words that tell one task from another no better than chance."""
_BACKWARD = frozenset(
    """
    it its that this them those these again same above previous earlier instead still also too another rest undo revert
    it's that's they he she him her one ones former latter back
    """.split()  # noqa: SIM905
)
"""Words that point back at what was said before, when one of them is among the first words."""


def _words(text: str) -> list[str]:
    """The words of a text in lower case; letters and digits of any script, apostrophes inside a word."""
    found: list[str] = []
    word: list[str] = []
    for character in text[:_READ].lower() + " ":
        if character.isalnum() or (character == "'" and word):
            word.append(character)
        elif word:
            found.append("".join(word).rstrip("'"))
            word = []
    return found


def _is_wide(character: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    return (
        "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\u0e00" <= character <= "\u0eff"
    )


def topic(text: str) -> frozenset[str]:
    """The words that tell what a text is about, without endings; pairs of characters where no spaces are written."""
    found: set[str] = set()
    for word in _words(text):
        if any(map(_is_wide, word)):
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
        elif len(word) > 2 and word not in _COMMON and word not in _SMALL_TALK and not word.isdigit():
            found.add(_stem(word))
    return frozenset(found)


def _stem(word: str) -> str:
    """A word without its ending: a rough stem, the same for both sides of a comparison."""
    for ending in ("ations", "ation", "ings", "ing", "ers", "ies", "ied", "es", "ed", "er", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def is_request(prompt: str) -> bool:
    """Whether a prompt asks for something: no greeting, no consent, no "continue", no command or notice of the host."""
    stripped = prompt.strip()
    if not stripped or stripped[0] in "/<":
        return False
    return any(word not in _SMALL_TALK for word in _words(stripped))


def goal_of(prompt: str) -> str:
    """The goal that a request states: its first line that asks for something, without the greeting before it."""
    for line in prompt.strip().splitlines():
        if is_request(line) and line.strip().strip("`~=-*#> "):
            return one_line(_without_greeting(line.strip().lstrip("#>*- ")), GOAL)
    return one_line(prompt.strip(), GOAL)


def _without_greeting(line: str) -> str:
    for mark in ("!", ",", ".", ":"):
        before, found, rest = line.partition(mark)
        if found and len(before) < 40 and not is_request(before) and is_request(rest) and rest[:1] == " ":
            return rest.strip()
    return line


def is_new_topic(prompt: str, work: str) -> bool:
    """Whether a request is about something else than ``work``: the goal, the last requests, the files."""
    if not is_request(prompt):
        return False
    words = topic(prompt)
    known = topic(work)
    if len(words) < LEAST or not known:
        return False
    if any(word in _BACKWARD for word in _words(prompt)[:6]):
        return False
    return not words & known


def is_better_goal(prompt: str, goal: str, work: str, *, placeholder: bool) -> bool:
    """Whether a request says better than a guessed goal what the work is.

    It does if there was only a placeholder, if it is clearly the larger task, or if the work has turned to another
    topic. ``work`` has the last requests beside the goal.
    """
    if not is_request(prompt):
        return False
    if placeholder:
        return True
    words, known = topic(prompt), topic(goal)
    if len(words) >= max(2 * LEAST, LARGER * len(known)):
        return True
    # A step of a large task shares no words with it either: only a request of about its size is another task.
    return len(words) >= TURN * len(known) and is_new_topic(prompt, f"{goal}\n{work}")
