"""What a team recorded over some weeks, and how somebody asks about it who does not remember the words."""

from __future__ import annotations

from holdfast.workspace.workspace import Workspace

DECISIONS = (
    ("Keep all state in one SQLite file", "there is no server to run and a backup is a copy"),
    ("Use read replicas for reporting queries", "the primary was overloaded at the end of the month"),
    ("Retry webhooks with exponential backoff", "partners drop calls while they deploy"),
    ("Store passwords with argon2id", "bcrypt truncates at 72 bytes"),
    ("Ship every Tuesday", "two weekends were ruined by Friday deploys"),
    ("Cache the product list for ten minutes", "customers waited four seconds for it"),
    ("Put the new checkout behind a flag", "we can turn it off without a release"),
    ("Move images to object storage", "the web servers ran out of space"),
    ("Allow five login attempts per minute", "there was a brute force attack in March"),
    ("All dates are stored in UTC", "daylight saving broke the reports"),
    ("Render invoices as PDF on the server", "accounting archives them for ten years"),
    ("Tests must not use the network", "builds were flaky"),
    ("Vendor the icon font", "the CDN is blocked in China"),
    ("Rename the table users to accounts", "a company can be one, too"),
    ("Write the importer in Rust", "parsing CSV took an hour in Python"),
    ("Keep the old API for one year", "mobile clients update slowly"),
    ("Encrypt backups with age", "they are copied to another provider"),
    ("Use Terraform for the cloud accounts", "clicks in a console cannot be reviewed"),
    ("Show prices with tax in Europe", "the law requires it"),
    ("Translate the interface with gettext", "translators know its files"),
)
ERRORS = (
    ("CI failed with 'no space left on device'", "clear the Docker cache on the runner"),
    ("The payment provider timed out", "its IPv6 address is dead: force IPv4"),
    ("Staging sent e-mail to customers", "catch all mail there with MailHog"),
    ("Memory of the worker grows until it is killed", "close the image after resizing it"),
    ("Search returned stale documents", "the queue of the indexer was stuck"),
    ("Two cron jobs charged a customer twice", "take an advisory lock first"),
)
FILLER = (
    "Fixed a typo on the {} page",
    "Reviewed the pull request about {}",
    "Asked Maria for the numbers of {}",
    "The {} ticket can wait until next week",
    "Read the documentation of {} again",
    "Talked to support: nobody complained about {}",
    "Updated the dependency {} to its newest minor version",
    "Moved the meeting about {} to Thursday afternoon",
    "Wrote a first draft of {} and shared the link",
    "Merged the branch for {} after lunch",
)
TOPICS = (
    "pricing", "onboarding", "the dashboard", "lodash", "the newsletter", "roles", "export", "the sidebar",
    "billing address", "notifications", "the mobile menu", "avatars", "the audit", "coupon codes", "the footer",
    "keyboard shortcuts", "the roadmap", "dark mode", "the survey", "pytest", "the status page", "hiring",
    "the offsite", "contracts", "the glossary",
)  # fmt: skip

FOUND = (
    ("which database did we choose", "SQLite"),
    ("how are credentials hashed", "argon2id"),
    ("timezone of timestamps", "UTC"),
    ("slow catalogue", "product list"),
    ("where do pictures live", "object storage"),
    ("throttle signing in", "login attempts"),
    ("accidental mails from the test environment", "Staging"),
    ("analytics load on the main database", "read replicas"),
    ("out of RAM", "Memory of the worker"),
    ("localisation tool", "gettext"),
    ("day of the weekly rollout", "Tuesday"),
    ("securing copies of our data", "Encrypt backups"),
    ("hacker guessing passwords", "brute force"),
    ("unreliable unit testing", "flaky"),
    ("Asian visitors see no symbols", "icon font"),
    ("photos fill the hard drive", "Move images"),
)
"""A question, and words of the record that answers it: by words it is not among the first three, by meaning it is."""
OTHERS = (
    ("what if a partner's endpoint is down", "webhooks"),
    ("build machine full", "no space left"),
    ("gateway for credit cards hangs", "payment provider"),
    ("somebody was billed two times", "charged a customer twice"),
    ("deprecation of the previous interface for phones", "old API"),
    ("infrastructure as code", "Terraform"),
    ("disable a feature quickly", "behind a flag"),
    ("VAT display", "prices with tax"),
    ("spreadsheet files load slowly", "importer in Rust"),
    ("bills for bookkeeping", "invoices"),
    ("outdated results when looking something up", "stale documents"),
    ("leak in a background process", "Memory of the worker"),
    ("continuous integration storage problem", "no space left"),
    ("European sales tax rules", "prices with tax"),
)
"""Questions of the same kind that words answer, or that this model does not answer."""


def fill(workspace: Workspace) -> None:
    """Record everything, over several sessions."""
    fillers = [form.format(topic) for topic in TOPICS for form in FILLER]
    for number in range(5):
        session = workspace.start(f"Sprint {number + 1}")
        for text, because in DECISIONS[number::5]:
            session.decide(text, because=because)
        for text, remedy in ERRORS[number::5]:
            session.remedy_error(session.add_error(text).id, remedy)
        for text in fillers[number::5]:
            session.note(text)
