"""Sentences that state a decision or a constraint, found by their wording.

Precision matters more than recall: what is found is shown to every successor. Code, quotations, tables, questions and
conditions are never taken. A person's imperatives (*never*, *always*, *use X, not Y*) are constraints; an agent's
*I'll use X because Y*, *chose X over Y*, *we go with X* are decisions. A statement may be a clause of a longer sentence
(*fix it, but don't touch X*): each clause is read on its own.

A pattern is compiled only if one of its words is there: a hook runs this at every prompt.
"""

from __future__ import annotations

import re

from holdfast.core.concepts.capture import Candidate
from holdfast.core.summary_lines import split_reason

MOST = 4
"""Candidates that one message gives."""
_LONGEST = 40_000
_SHORTEST_SENTENCE, _LONGEST_SENTENCE, _SHORTEST_CLAUSE = 10, 400, 10
Wordings = tuple[tuple[str, str], ...]
"""The words of which a sentence must have one, and the pattern of the sentence."""

_WE = r"(?:i|we|wir|ich)"
_FIRST = r"(?:so |and |then |therefore |instead,? |ok(?:ay)?,? |in the end,? |after .{3,60}, |for .{3,40}, )?"
_VERBS = (
    r"(?:use|adopt|keep|go with|stick (?:with|to)|switch(?: \w+){0,3} to|store|move|put|leave|drop|remove|skip|avoid|"
    r"stay (?:with|on)|target|support|pin|make|write|split|build|model|treat|return|expose|reuse|rely on|base|"
    r"implement|represent|handle|cache|disable|enable|replace|default to|"
    r"show|render|send|load|fetch|generate|sort|count|index|validate)"
)
_DONE = (
    r"(?:used|adopted|kept|went with|stuck (?:with|to)|switched(?: \w+){0,3} to|stored|moved|put|left|dropped|removed|"
    r"skipped|avoided|stayed (?:with|on)|pinned|made|split|built|modelled|modeled|implemented|replaced|disabled|"
    r"enabled|reused)"
)
_CONTRASTS = (
    "because|since|instead of|rather than|in favour of|in favor of|so that| over | not |as it|as they|weil"
)
_CONTRAST = (
    r"(?:because|since|instead of|rather than|in favou?r of|so that|over|(?<=, )not|as it|as they|weil|statt|denn|"
    r"to avoid|to keep|which avoids|which keeps)"
)
_MORE = "statt|denn|to avoid|to keep|which avoids|which keeps"
_NOW_ON = r"(?:from now on|going forward|von nun an|ab jetzt)\b.+"
_DECISIONS: Wordings = (
    (
        "decision|entscheidung|choice",
        r"(?:final |my |the |our )?(?:decision|entscheidung|choice)(?: \w+){0,3}\s*[:：–—]\s*(?P<text>.+)",
    ),
    (
        "decided|agreed|chose|opted|settled|picked|elected|concluded|entschieden|beschlossen",
        rf"{_FIRST}{_WE}(?:'ve| have| haben| habe)?(?: therefore| also| now| finally| both)?"
        r"(?: (?:uns|mich)\b.*)?(?: dafür)? "
        r"(?:decided|agreed|chose|chosen|opted|settled|picked|elected|concluded|entschieden|beschlossen)"
        r"(?: (?:on|for|to|that|against|not)\b)?.*",
    ),
    (
        f"{_CONTRASTS}|{_MORE}",
        rf"{_FIRST}{_WE}(?:'ll| will|'m going to| am going to| are going to|'re going to)"
        rf"(?: therefore| now| instead| not)?(?: be)? (?:{_VERBS}|using|keeping)\b.* {_CONTRAST} .+",
    ),
    (
        f"{_CONTRASTS}|{_MORE}",
        rf"{_FIRST}{_WE}(?: have|'ve)?(?: also| therefore| deliberately| intentionally| instead)? "
        rf"{_DONE}\b.* {_CONTRAST} .+",
    ),
    (
        "go with|going with|stick|sticking|stay|went with|ahead with",
        r"(?:so |then |in the end,? |ok(?:ay)?,? )?(?:let's|let us|we|i)(?:'ll| will|'re| are|'m| am)? "
        r"(?:go|going|stick|sticking|stay|staying|went) (?:ahead )?(?:with|to) .+",
    ),
    ("going with|sticking with|staying with", r"(?:going|sticking|staying) with .+"),
    (
        "over|instead|rather|favo",
        r"(?:chose|picked|selected|opted for|went with|kept|used|using|switched to|prefer(?:red)?) .+ "
        r"(?:over|instead of|rather than|in favou?r of) .+",
    ),
    ("from now on|going forward|von nun an|ab jetzt", _NOW_ON),
    (
        "decided|agreed",
        r"(?:it was|it is|it's been|it has been) (?:decided|agreed) (?:that|to|not to) .+",
    ),
    (
        "chosen|picked|selected|ruled out|rejected|dropped",
        r".{3,80} (?:was|were|has been|have been|is) (?:(?:chosen|picked|selected|ruled out)\b.*"
        r"\b(?:because|since|over|as|instead|for)|(?:rejected|dropped) in favou?r of)\b.*",
    ),
    (
        "let's|lets|let us",
        r"let(?:'?s| us) (?:just )?(?:use|keep|switch|move to|stay|drop|go for|target|support|replace|avoid|pin|skip) "
        r"(?!(?:that|those|this|these|it)\b).+",
    ),
    (
        " it is| it stays| then|sounds right|good idea|right choice|right one|right way",
        r"(?!(?:that|this|it|what|how|as|where|which|who|here|there|and|but)\b)[^,]{2,60}(?<!what)(?<!how)(?<! as) "
        r"it (?:is|stays)(?: then)?[.!]*$|"
        r"(?:ok(?:ay)?|fine|alright|right|good|yes|yeah|well),? (?!(?:what|why|how|i|you|do|go|try)\b)[^,]{2,40} "
        r"then[.!]*$|"
        r"(?!(?:that|this|it|yes|which)\b)[^,]{2,60} (?:sounds right|is (?:actually )?"
        r"(?:a good idea|the right (?:way|one|choice)))\b.*",
    ),
    (
        "we're |we are |we will |we'll ",
        r"we(?:'re| are) (?:not )?(?:dropping|doing|moving (?:to|off|away)|switching|replacing|standardi[sz]ing|"
        r"migrating|removing|retiring|keeping|deprecating) .+|"
        r"we(?:'ll| will) (?:not |only |no longer )?(?:use|adopt|keep|stick|stay|switch|store|drop|support|target|"
        r"replace|rely on|pin|treat) .+",
    ),
    (
        "wir nehmen|wir verwenden|wir bleiben|wir setzen|wir nutzen",
        r"wir (?:nehmen|verwenden|bleiben bei|setzen auf|nutzen) .+",
    ),
)
_REASONS = "because|since|otherwise|so that|until|weil|sonst"
_REASON = r"(?:because|since|otherwise|so that|until|weil|sonst)"
_AGENT_DECISIONS: Wordings = (
    (
        "on purpose|deliberately|intentionally|absichtlich",
        r"[^,]{8,120} on purpose\b.*|"
        r"(?:i|we|ich|wir)(?:'ve| have| habe| haben)? (?:deliberately|intentionally|absichtlich) .+",
    ),
    (
        "so i |so we |so i've |so we've ",
        r"so (?:i|we)(?:'ve| have)? (?:used|kept|dropped|pinned|switched|went|stored|capped|limited|disabled|chose) .+",
    ),
    (
        "instead of|rather than",
        r"(?:instead of|rather than) .{3,120}? (?:i|we)(?:'ve|'ll| have| will)? (?!could|can|might|should|would)\w+.*",
    ),
    (
        "i'm using|we're using|i am using|we are using",
        r"(?:i'm|i am|we're|we are) using .+ (?:with|for|as|because|since|on top of|so that) .+",
    ),
    (
        "capped|limited|set ",
        r"(?:i|we)(?:'ve| have)?(?: also| now)? (?:capped|limited|set) (?!up\b).*\d.*",
    ),
    ("for now", r"for now,? (?:it|we|i|the|this|all|every)\b(?!'ll (?:look|check)).+"),
    (
        "i'll |i will ",
        r"i(?:'ll| will) (?:treat|never|always|only ever|no longer) .+",
    ),
    (
        "stay|remain",
        r"(?!(?:and|with|but|that|it)\b)[^,]{3,80} (?:stays?|remains?) "
        r".*(?:until|by default|for now|because|since|in place)\b.*",
    ),
    (
        "your instruction|your request|as you asked|as requested|as instructed",
        r"(?:(?:as )?per your (?:instructions?|request)|as (?:you asked|requested|instructed)),? .*"
        r"(?:not|n't|only|never|un\w+ed|alone)\b.*",
    ),
)
_AGENT_CONSTRAINTS: Wordings = (
    (
        "constraint|requirement|rule|einschränkung|vorgabe",
        r"(?:the )?(?:hard )?(?:constraint|requirement|rule|einschränkung|vorgabe)s?\s*[:：]\s*(?P<text>\S+ \S+ .+)",
    ),
    (
        "must|may never|to stay|darf|dürfen|muss immer",
        r"[^,]{3,80} (?:must never|must not|mustn't|may never|has to stay|have to stay|must stay|must remain|"
        r"must always|darf nicht|dürfen nicht|darf nie|muss immer) .+",
    ),
    (
        _REASONS,
        r"(?!you\b|i\b|we\b|it\b|this\b|that\b)[^,]{3,80} (?:must|has to|have to|may only|can only) "
        rf"(?!have\b).+\W{_REASON} .+",
    ),
    (
        "only ",
        r"only (?:one|a single|\w+ \w+) .{3,60}(?:may|must|is allowed to|are allowed to) .+",
    ),
    (
        " never ",
        r"(?!(?:it|this|that|and)\b)[^,]{2,60} (?:is|are) never "
        r"(?!(?:called|reached|used|executed|closed|freed|evicted|"
        r"triggered|fired|released|reset|updated|tested)\b)\w+(?:ed|en)\b.*",
    ),
    (
        "please don't|please do not|so don't|so do not",
        r"(?:so |please |so please )(?:don't|do not) (?!hesitate|worry|forget).+",
    ),
)
_ALSO = (
    r"(?:and |but |so |also,? |please |pls |plz |bitte |und |aber |then |important: |note: |remember: |remember,? |"
    r"rule: )*"
)
_THING = (
    r"(?!(?:i|you|we|it|this|that|he|she|they|there|and|what|doesn't)\b)[^,?(]{2,80}"
    r"(?<! i)(?<! we)(?<! you)(?<! it)(?<! they)(?<! that)(?<! this)(?<! which)(?<! something)"
)
"""A subject that is no person."""
_PERSON_CONSTRAINTS: Wordings = (
    (
        "never|always|niemals|immer",
        rf"{_ALSO}(?:never|always|niemals|immer) (?!\w+(?:ed|[^s]s)\b|been\b|read\b)\w+.*",
    ),
    (
        "do not|don't|dont",
        rf"{_ALSO}(?:do not|don't|dont) (?:ever )?(?!worry|mind|forget|know|think|understand|care|bother|see|get\b|"
        r"hesitate|want|need|yet|have|like|you\b|we\b|they\b|i\b|be afraid).+",
    ),
    (
        "use ",
        rf"{_ALSO}(?:only )?use .+?(?:,? (?:and )?not |,? never | instead of | rather than | \(not ).+",
    ),
    (
        " only ",
        rf"{_ALSO}(?:only |just )?(?:use|edit|change|touch|work in|commit) only .+",
    ),
    ("only ", rf"{_ALSO}only (?:use|edit|change|touch|commit|work) .+"),
    ("prefer", rf"{_ALSO}prefer .+ (?:over|to|instead of) .+"),
    (
        "avoid|stop",
        rf"{_ALSO}(?:strictly )?(?:avoid|stop) (?:using |adding |touching |the use of |any |\w+ing ).+",
    ),
    ("from now on|going forward|von nun an|ab jetzt", _NOW_ON),
    (
        "no ",
        rf"{_ALSO}no (?:new |more |extra |external |third[- ]party )?(?:dependenc|package|librar|frameworks?|"
        r"force[- ]push|mocks?|emoji|breaking|global|subprocess|network|comments?|migrations?|code\b|"
        r"changes? (?:to|in|outside)).*|"
        rf"{_ALSO}no (?!errors?|problems?|worries|issues?|thanks|news|tests?|doubts?|luck|this|yes|was|is)[a-z-]+s"
        r"(?:!|\.|$| (?:in|for|from|that|without|outside|on|with|please)\b).*",
    ),
    (
        "must|off-limits|off limits|should never|darf|dürfen|muss immer|to be",
        rf"{_THING} (?:must never|must not|mustn't|must always|must stay|must remain|must keep|should never|"
        r"has to be|have to be|darf nicht|dürfen nicht|muss immer) .+|[^,?]{2,80} (?:is|are) off[- ]limits\b.*",
    ),
    (" must ", r"(?:every|each|all|any) [^,?]{3,80} must .+"),
    (
        " must | to stay| to remain| to support| to work| to match| to fit|should |may only|can only",
        rf"{_THING} (?:must (?!have\b|pass\b|compile\b|be (?:broken|wrong|missing|off|something|a\b|an\b|the\b))|"
        r"(?:has|have|needs?) to (?:stay|remain|support|work|match|fit)\b|(?:may|can) only |"
        r"should (?:not |only |always |stay |remain |be \w+ed\b|be (?:at|in|under|below|above)\b)).+|"
        r"we should (?:not|never|always|only) .+",
    ),
    (
        "frozen|off the table|out of scope|not allowed|forbidden|mandatory|read-only|read only|not an option|verboten|"
        "not negotiable|non-negotiable|tabu",
        rf"{_THING} (?:is|are|ist|sind|stays?|bleib(?:t|en)) (?:strictly |now )?(?:frozen|off the table|out of scope|"
        r"not allowed|"
        r"forbidden|mandatory|read[- ]only|not an option|verboten|not negotiable|non-negotiable|tabu)\b.*",
    ),
    (
        "we can't|we cant|we cannot|we can not|we're not allowed|we are not allowed",
        r"we (?:can'?t|cannot|can not|are not allowed to|'re not allowed to) (?:change|use|touch|move|upgrade|rely|add|"
        r"afford|break|switch|deploy|have|install|store|log|ship)\b.*",
    ),
    (
        "want|need",
        r"i (?:also |really )?(?:do not|don'?t) want (?!to (?:be|sound|bother)\b).+|"
        r"i(?:'d)? (?:also |really )?(?:want|need) (?:every|all|each|no|only|nothing)\b.+",
    ),
    (
        "make sure|ensure|sure that",
        rf"{_ALSO}(?:make sure|ensure|be sure)(?: that)? (?:(?:all|every|each)\b(?! (?:the )?(?:tests?|checks?)\b).+ "
        r"(?:is|are|has|have|uses?)|no|nothing|nobody|only|we (?:never|only|always))\b.+",
    ),
    (
        "make|limit|cap|restrict|pin|freeze|begrenz",
        rf"{_ALSO}(?:make (?:it|them) (?:configurable|optional|mandatory|required|private|public|read-only|opt-in|"
        r"expire|.+ by default)\b.*|(?:limit|cap|restrict|pin|freeze) .+)|.{3,80}\bbegrenzen\b.*",
    ),
    (
        "but without|but not |but no ",
        r"(?:(?:i|we) (?:also )?(?:want|need)|use|add|make|build|write) .{3,80} but (?:without|not|no) .+",
    ),
    (
        "use ",
        rf"{_ALSO}(?:only )?use .+ (?:because|since|so that|for everything|everywhere|only)\b.*",
    ),
    ("max|at most|no more than", rf"{_ALSO}(?:max\.?|maximum|at most|no more than) \d.+"),
    (
        "option|variant|approach",
        r"(?:the )?(?:option|variant|approach) [\w]{1,3},? (?:please|pls|it is|then|is fine|is better)\b.*|"
        r"(?:the )?(?:first|second|third|last|other) (?:option|variant|approach|one),? (?:please|pls|it is|then)\b.*",
    ),
    (
        "kein|nur |müssen|muss|sollen|bleib",
        rf"{_ALSO}keine?n? (?!ahnung|problem|sorge|idee|eile|angst|lust)\w+.*|"
        r"[^,?]{3,80} (?:dürfen|darf|sollen|soll) (?:nur|keine?n?|nie|nicht)\b.+|"
        r"(?!(?:ich|du|das|es|er|sie)\b)[^,?]{3,80} (?:müssen|muss) .+|"
        r"(?:das|es|[^,?]{3,60}) (?:bleibt|bleiben) (?:bei|dabei|wie|unverändert|auf).*|"
        r"(?:bitte )?nur .+",
    ),
    (
        "keep|leave",
        rf"{_ALSO}(?:keep|leave) .+ (?:as (?:it|they) (?:is|are)|as is|untouched|unchanged|compatible|private|"
        r"out of .+|below .+|under .+|small|green|alone|(?:in|on|at) \w+|because|until|for now)\b.*",
    ),
    (
        "verwende|benutze|nimm|nutze",
        r"(?:verwende|benutze|nimm|nutze) .+(?:,? nicht | statt | anstatt ).+",
    ),
    (
        "we |i |wir ",
        r"(?:we|i|wir) (?:only |never |always |must not |must |do not |don't |nie |immer )(?:use|commit|push|merge|"
        r"support|ship|allow|deploy|edit|touch|want any|want .+ in|verwenden|committen|pushen)\b.*",
    ),
)
_NO_STATEMENT = (
    r"(?:if|when|whenever|unless|should you|would you|do you|could|can|may|might|perhaps|maybe|why|what|how|which|"
    r"whether|option|alternatively|wenn|falls|for example|e\.g\.|let me know|would|suppose|imagine|as an alternative|"
    r"one option|another option|you could|you can|you may|we could|we can|i could|i can|we might|i might|i would|i'd|"
    r"did|does|is|are|has|have|was|were)\b"
)
_UNSURE = (
    "not sure|undecided|haven't decided|have not decided|not decided|yet to decide|need to decide|needs to be decided|"
    "to be decided|should we|should i|shall i|would you like|do you want|let me know|if you want|if you prefer|"
    "if you like|could also|might want|hasn't been decided|noch nicht entschieden|decide later|decide whether|"
    "you decide|your call|up to you|can't decide|cannot decide|never mind|nevermind|don't worry|i don't know|i never|"
    "it never|it always|they never|they always|still open|still unclear|decided yet|mistake| yet,| yet."
)
_OUTPUT = (
    r"(?i).*(?:\b(?:error|warning|failed|fatal)\b.{0,12}:|\[(?:error|warn|info)|\w:\d+[:-]|"
    r"\b(?:docs?|documentation|readme) says?\b)"
)
"""What a program or a page says, pasted without a fence."""
_SPLIT = r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!z\.B\.)(?<!etc\.)(?<!vs\.)[\"')\]*_]*\s+(?=[\"'(*_`]*[a-zäöüA-ZÄÖÜ`])"
_CLAUSE = r"(?:[,;:]| [–—-])\s+|\s+(?=(?:but|aber|so|and (?:never|always|don'?t|do not)) )"
"""Where a clause of a sentence may begin."""
_JOINED = r"(?i)^(?:(?:but|and|so|aber|und) )+"
_QUOTED = r"[\"“„][^\"“”„]*\s[^\"“”„]*\s[^\"“”„]*[\"”“]"
"""Words of others: a quotation of three words or more."""
_WRAPPED = 60
"""A line of this length may go on in the next; a shorter one ends its sentence."""
_MARK = r"^\s*(?:[-*•+–—]\s+|\d{1,3}[.)]\s+|#{1,6}\s+|\[[ xX]\]\s+)+"


def in_message(text: str) -> list[Candidate]:
    """What an agent's own message decides."""
    return _found(text, (("decision", _DECISIONS + _AGENT_DECISIONS), ("constraint", _AGENT_CONSTRAINTS)))


def in_prompt(text: str) -> list[Candidate]:
    """What a person's prompt decides or demands."""
    return _found(text, (("constraint", _PERSON_CONSTRAINTS), ("decision", _DECISIONS)))


def _found(text: str, kinds: tuple[tuple[str, Wordings], ...]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for sentence in sentences(text[:_LONGEST]):
        candidate = _read(sentence, kinds)
        if candidate is not None:
            found.setdefault(candidate.text.lower(), candidate)
            if len(found) == MOST:
                break
    return list(found.values())


def _read(sentence: str, kinds: tuple[tuple[str, Wordings], ...]) -> Candidate | None:
    if not _SHORTEST_SENTENCE <= len(sentence) <= _LONGEST_SENTENCE or sentence.endswith(("?", ":")):
        return None
    plain = sentence.replace("’", "'")
    lowered = plain.lower()
    wanted = [
        (kind, pattern)
        for kind, wordings in kinds
        for words, pattern in wordings
        if any(word in lowered for word in words.split("|"))
    ]
    if not wanted or re.match(_NO_STATEMENT, lowered) or any(word in lowered for word in _UNSURE.split("|")):
        return None
    if re.match(_OUTPUT, plain) or lowered.endswith(" yet"):
        return None
    for start in (0, *(gap.end() for gap in re.finditer(_CLAUSE, plain))):
        clause = plain[start:]
        if start and (len(clause) < _SHORTEST_CLAUSE or re.match(_NO_STATEMENT, clause, re.IGNORECASE)):
            continue
        for kind, pattern in wanted:
            match = re.match(pattern, clause, re.IGNORECASE)
            if match is None:
                continue
            words = match.groupdict().get("text") or (re.sub(_JOINED, "", clause) if start else clause)
            text, because = split_reason(words)
            return Candidate(kind, text.strip().rstrip(" .;,"), because.strip().rstrip(" .;,"), sentence)
    return None


def sentences(text: str) -> list[str]:
    """The sentences of a text that are its author's own words, without marks of lists and emphasis."""
    found: list[str] = []
    for block in _paragraphs(text):
        block = re.sub(_QUOTED, "«»", block)
        found += [sentence.strip() for sentence in re.split(_SPLIT, block) if sentence.strip()]
    return found


def _paragraphs(text: str) -> list[str]:
    """Paragraphs and list items, each on one line; code, quotations, tables and tagged blocks are left out."""
    blocks: list[list[str]] = []
    fence = tag = ""
    goes_on = False
    for raw in text.splitlines():
        line = raw.strip()
        if fence:
            fence = "" if line.startswith(fence) else fence
            continue
        if tag:
            tag = "" if f"</{tag}" in line else tag
            continue
        if line.startswith(("```", "~~~")):
            fence, goes_on = line[:3], False
            continue
        if line[:1] == "<" and (opened := re.match(r"<([A-Za-z][\w-]*)", line)):
            tag, goes_on = ("" if f"</{opened[1]}" in line else opened[1]), False
            continue
        plain = re.sub(_MARK, "", line)
        marked = plain != line
        if not line or line[0] in ">|«$" or (raw.startswith(("    ", "\t")) and not marked):
            goes_on = False
            continue
        plain = plain.replace("**", "").replace("__", "")
        if goes_on and not marked:
            blocks[-1].append(plain)
        else:
            blocks.append([plain])
        goes_on = not line.startswith("#") and len(line) >= _WRAPPED
    return [" ".join(block) for block in blocks]
