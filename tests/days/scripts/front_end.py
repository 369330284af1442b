"""Days of people who work on what users see."""

from __future__ import annotations

from ..engine import Day, Stage, ask


def _checkout(stage: Stage) -> None:
    """Gemini CLI. A page is rebuilt on a branch; a compression was requested; the branch is another one at the end."""
    agent = stage.agent("gemini").starts()
    agent.asked(
        "Rebuild the checkout page with the new form components. The address form first. No new dependencies, please, "
        "and everything must work with the keyboard alone."
    )
    agent.branches("checkout-forms")
    agent.edits("web/checkout/AddressForm.tsx", "web/checkout/address.css")
    agent.runs("npm test -- AddressForm", "Tests: 6 passed, 6 total")
    agent.decides(
        "Validate on blur, not on every key", "screen readers announced an error at every keystroke"
    )
    agent.says(
        "The address form uses the new components. I decided to validate on blur and not on every key, because screen "
        "readers announced an error at every keystroke. Six tests pass."
    )
    agent.commits("Checkout: address form with the new components")
    agent.asked("Looks good. Now the payment form, same way. The card field stays an iframe of the provider.")
    agent.edits("web/checkout/PaymentForm.tsx", "web/checkout/payment.css", "web/checkout/CardFrame.tsx")
    agent.runs(
        "npm test -- PaymentForm",
        "FAIL web/checkout/PaymentForm.test.tsx\n"
        "  ● PaymentForm › moves the focus into the card frame\n\n"
        "    expect(received).toBe(expected) // Object.is equality\n\n"
        '    Expected: "card-frame"\n    Received: "submit"\n\n'
        "      41 |     await user.tab()\n"
        "    > 42 |     expect(document.activeElement?.id).toBe('card-frame')\n\n"
        "Tests: 1 failed, 4 passed, 5 total",
        1,
    )
    agent.says(
        "The payment form stands, with one test failing: Tab jumps over the card frame to the submit button. "
        "The iframe needs a tabindex of 0, and the provider's script removes it on load.\n\n"
        "What remains: the focus order, and the error summary at the top of the page."
    )
    agent.compacts("")
    agent.asked("Put a wrapper around it that takes the focus and forwards it, then do the error summary.")
    agent.edits("web/checkout/FocusForwarder.tsx", "web/checkout/PaymentForm.tsx")


CHECKOUT = Day(
    "a page in Gemini CLI",
    _checkout,
    (
        ask("request", "wrapper around it that takes the focus", "error summary"),
        ask("goal", "Rebuild the checkout page"),
        ask("last words", "Tab jumps over the card frame"),
        ask("files", "web/checkout/FocusForwarder.tsx", "web/checkout/PaymentForm.tsx"),
        ask("failing command", "npm test -- PaymentForm", 'Expected: "card-frame"'),
        ask("decision", "validate on blur"),
        ask("constraint: dependencies", "No new dependencies"),
        ask("constraint: frame", "card field stays an iframe"),
        ask("commit", "Checkout: address form with the new components"),
        ask("branch", "checkout-forms"),
    ),
    next_host="gemini",
)


def _app(stage: Stage) -> None:
    """Claude Code, then Gemini CLI. A rename through forty files, then one crash that a user reported."""
    agent = stage.agent("claude").starts()
    agent.asked(
        "Rename the widget `PlanCard` to `TripCard` everywhere in the app. Leave the analytics names alone."
    )
    for number in range(1, 41):
        agent.edits(f"app/lib/screens/screen_{number:02d}.dart")
    agent.runs("flutter analyze", "Analyzing app...\nNo issues found! (ran in 9.1s)")
    agent.commits("App: PlanCard is TripCard")
    agent.says(
        "Renamed in 40 screens, the analyzer is content. The analytics events keep their old names, as you asked."
    )
    agent.ends()
    stage.later(20)
    second = stage.agent("gemini").starts()
    second.asked(
        "A user on an old tablet reports a crash when a trip has no photos. Stack: RangeError in trip_gallery.dart. "
        "Please reproduce it in a widget test before you change anything."
    )
    second.edits("app/test/trip_gallery_test.dart")
    second.runs(
        "flutter test test/trip_gallery_test.dart",
        "00:02 +0 -1: no photos [E]\n"
        "  RangeError (index): Invalid value: Valid value range is empty: 0\n"
        "  package:trips/trip_gallery.dart 88:31  _GalleryState.build\n"
        "00:02 +0 -1: Some tests failed.",
        1,
    )
    second.decides(
        "Show the map instead of an empty gallery", "an empty frame looked like a loading error in tests"
    )
    second.says(
        "Reproduced: _GalleryState.build takes photos[0] of an empty list.\n"
        "I will show the map instead of an empty gallery, because an empty frame looked like a loading error in the "
        "user tests of May."
    )
    second.asked("Agreed. The map needs no network for that, use the cached tile.")
    second.edits("app/lib/trips/trip_gallery.dart", "app/lib/trips/cached_map.dart")
    second.runs("flutter test test/trip_gallery_test.dart", "00:02 +1: All tests passed!")
    second.says(
        "The test passes: a trip without photos shows the cached map tile. Left: the same list access in "
        "trip_header.dart, which has no test yet."
    )


APP = Day(
    "an app, forty files, two hosts",
    _app,
    (
        ask("request", "use the cached tile"),
        ask("goal", "crash when a trip has no photos"),
        ask("last words", "shows the cached map tile"),
        ask("what is left", "trip_header.dart"),
        ask(
            "files",
            "app/lib/trips/trip_gallery.dart",
            "app/lib/trips/cached_map.dart",
            "trip_gallery_test.dart",
        ),
        ask("decision", "map instead of an empty gallery"),
        ask("constraint", "reproduce it in a widget test before"),
        ask("commit", "App: PlanCard is TripCard"),
    ),
    held_out=True,
)


def _docs(stage: Stage) -> None:
    """OpenCode. A site is moved to another generator; a plan, a compaction, a commit."""
    agent = stage.agent("opencode").starts()
    agent.asked("hello")
    agent.says("Hello! How can I help?")
    agent.asked(
        "Move our documentation from Sphinx to MkDocs. Old addresses must go on working, there are links to them in "
        "printed books."
    )
    agent.plans(
        ("Convert the pages", "in_progress"),
        ("Redirects for old addresses", "pending"),
        ("API reference", "pending"),
        ("Switch the host", "pending"),
    )
    agent.edits("mkdocs.yml", "docs/index.md", "tools/convert.py")
    agent.runs("python tools/convert.py docs_old docs", "converted 118 pages, 3 warnings")
    agent.says("118 pages are converted. Three have tables inside of lists; I converted those by hand.")
    agent.asked("Good. How do we do the redirects?")
    agent.decides(
        "Redirects as static pages, one per old address",
        "the host serves files only and gives us no server rules",
    )
    agent.says(
        "Our host serves files only, so there are no server rules.\n\nDecision: redirects are static pages, "
        "one per old "
        "address, generated at build time from docs/redirects.csv.\nReason: the host serves files only.\n\n"
        "Alternatives were a 404 page with a script (search engines do not follow it) and a second host (one "
        "more bill)."
    )
    agent.plans(
        ("Convert the pages", "completed"),
        ("Redirects for old addresses", "in_progress"),
        ("API reference", "pending"),
        ("Switch the host", "pending"),
    )
    agent.edits("tools/redirects.py", "docs/redirects.csv")
    agent.compacts(
        "We move the documentation from Sphinx to MkDocs.\n\nDECISION: redirects as static pages, one per old address\n"
        "BECAUSE: the host serves files only\nCONSTRAINT: old addresses must go on working\n"
        "OPEN: API reference; switching the host\nIN FLIGHT: tools/redirects.py"
    )
    agent.runs(
        "python tools/redirects.py --check",
        "checked 412 addresses\nmissing: /en/latest/cookbook/recipes.html#grouping\n"
        "error: 1 old address has no page\n",
        1,
    )
    agent.commits("Docs: pages converted, redirects generated")
    agent.asked(
        "Anchors count too, people link to them. Make the check pass, then start with the API reference."
    )


DOCS = Day(
    "documentation in OpenCode",
    _docs,
    (
        ask("request", "Anchors count too"),
        ask("goal", "documentation from Sphinx to MkDocs"),
        ask("last words", "redirects are static pages"),
        ask("files", "tools/redirects.py", "docs/redirects.csv"),
        ask("failing command", "redirects.py --check", "recipes.html#grouping"),
        ask("decision", "static pages, one per old address"),
        ask("constraint", "Old addresses must go on working"),
        ask("what is left", "API reference", "Switch the host"),
        ask("commit", "Docs: pages converted, redirects generated"),
    ),
    next_host="opencode",
)

DAYS = (CHECKOUT, APP, DOCS)
