"""A day of three hundred turns: a tracker is ported screen by screen, with three compactions and eleven decisions."""

from __future__ import annotations

from ..engine import Agent, Day, Stage, ask

SCREENS = (
    "login", "signup", "profile", "billing", "invoices", "projects", "boards", "cards", "labels", "search",
    "filters", "calendar", "timeline", "members", "roles", "audit", "webhooks", "tokens", "exports", "trash",
    "inbox", "digest", "mentions", "comments", "files", "previews", "themes", "shortcuts", "mobile", "help",
)  # fmt: skip
STEPS = (
    "move the markup of {0} to the new template",
    "port the styles of {0}, keep the class names that the tests use",
    "the form of {0} posts twice in Safari, look into it",
    "load the data of {0} in one query",
    "add the missing aria labels in {0}",
    "write the story for {0}",
    "the empty state of {0} looks lost, use the illustration from the guide",
    "translate the strings of {0}",
    "compare {0} with the old screen side by side",
    "remove the old code of {0}",
)
DECISIONS = {
    "signup": (
        "Confirm e-mail addresses by a link, not by a code",
        "codes were read out to callers who phished",
    ),
    "invoices": ("Render invoices on the server", "tax advisers print them without scripts"),
    "boards": ("Virtualise board columns over 200 cards", "the largest customer has 1,800 in one column"),
    "search": ("Search as you type after 250 ms", "the index takes 90 ms and people type a letter in 180"),
    "timeline": ("Store times in UTC and show them in the viewer's zone", "teams span nine zones"),
    "roles": ("Roles are additive, there is no deny", "nobody could explain the old deny rules"),
    "tokens": ("Tokens expire after 90 days", "the auditor asked for it"),
    "inbox": ("The inbox polls every 30 seconds", "sockets die in two customers' proxies"),
    "comments": ("Comments are Markdown without HTML", "pasted HTML broke three boards"),
    "themes": ("Themes are CSS variables only", "compiled themes doubled the bundle"),
    "mobile": (
        "One layout with breakpoints, no separate mobile app",
        "two people cannot keep up two code bases",
    ),
}


def _summary(done: list[str]) -> str:
    lines = [
        "This session ports the tracker's screens to the new template system, one after another.",
        f"So far {len(done)} screens are done: {', '.join(done)}.",
        "The user checks each one against the old screen. Many small fixes were made on the way; they are in git.",
        "",
    ]
    for screen in done:
        if screen in DECISIONS:
            text, because = DECISIONS[screen]
            lines += [f"DECISION: {text}", f"BECAUSE: {because}"]
    lines += [
        "CONSTRAINT: class names that the tests use must stay",
        f"OPEN: {len(SCREENS) - len(done)} screens, the next is {SCREENS[len(done)]}",
        f"IN FLIGHT: {SCREENS[len(done)]}",
    ]
    return "\n".join(lines)


def _turn(agent: Agent, screen: str, number: int) -> None:
    agent.asked(STEPS[number].format(screen) + ".")
    if number in (0, 1, 3, 6):
        agent.edits(f"screens/{screen}/{('index', 'style', '', 'query', '', '', 'empty')[number]}.ts")
    if number == 4:
        agent.runs(f"npm run check -- {screen}", f"{screen}: 2 labels are missing\nexit 1", 1)
        agent.runs(f"npm run check -- {screen}", f"{screen}: fine")
    if number == 8 and screen in DECISIONS:
        text, because = DECISIONS[screen]
        agent.decides(text, because)
        agent.says(f"Side by side they match. I decided: {text[0].lower()}{text[1:]}, because {because}.")
        return
    if number == 9:
        agent.commits(f"Port the screen {screen}")
    agent.says(f"Done with step {number + 1} for {screen}; nothing else changed.")


def _port(stage: Stage) -> None:
    agent = stage.agent("claude").starts()
    agent.asked("hey there")
    agent.says("Hi! What can I do for you?")
    agent.asked(
        "Port all screens of the tracker to the new template system, one by one, with me checking each. "
        "Class names that "
        "the tests use must stay. Never delete a migration."
    )
    agent.says("I start with the login screen and report after each step.")
    for place, screen in enumerate(SCREENS):
        for number in range(10):
            if screen == "help" and number == 6:
                break
            _turn(agent, screen, number)
        if place in (8, 17, 26):
            agent.compacts(_summary(list(SCREENS[: place + 1])))
    agent.edits("screens/help/index.ts", "screens/help/articles.ts", "screens/help/search.ts")
    agent.runs(
        "npm test -- help",
        "FAIL screens/help/search.test.ts\n  ● finds an article by its synonym\n\n"
        '    expect(received).toEqual(expected)\n\n    Expected: ["Invite people"]\n    Received: []\n\n'
        "Tests: 1 failed, 8 passed, 9 total",
        1,
    )
    agent.says(
        "The help screen is ported up to its search: the synonym list is not loaded in the new template. "
        "After that, 'shortcuts' still wants its printable page."
    )
    agent.asked("load the synonyms at build time, not at run time. and then the printable page for shortcuts")
    agent.edits("screens/help/synonyms.ts", "screens/shortcuts/print.ts")


PORT = Day(
    "three hundred turns",
    _port,
    (
        ask("request", "load the synonyms at build time"),
        ask("goal", "Port all screens of the tracker"),
        ask("last words", "synonym list is not loaded"),
        ask("files", "screens/help/synonyms.ts", "screens/shortcuts/print.ts", "screens/help/search.ts"),
        ask("failing command", "npm test -- help", 'Expected: ["Invite people"]'),
        ask("constraint: classes", "Class names that the tests use must stay"),
        ask("constraint: migrations", "Never delete a migration"),
        ask("latest commit", "Port the screen mobile"),
        *(ask(f"decision: {screen}", text[1:]) for screen, (text, _) in DECISIONS.items()),
    ),
)

DAYS = (PORT,)
