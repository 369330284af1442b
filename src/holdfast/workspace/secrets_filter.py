"""The secrets filter: scans every commit of every handle before it is written.

History is permanent and travels with git, so a token must not get into it by accident. ``core.secrets`` finds
secrets; this module applies a policy to them. A commit without a secret only pays for the scan.

* ``refuse``: nothing is written; the error names kind, field and position, never the value. Default for the command
  line, MCP and the library.
* ``redact``: a placeholder is written, the same for the same secret within one clone. Default for hooks and imports.
* ``allow``: the secret is written, and the commit records which kind was allowed, and where.

The policy is the caller's, else HOLDFAST_SECRETS, else ``secrets`` in config.toml (for all channels or per channel),
else the channel's default.
"""

from __future__ import annotations

import os
from functools import lru_cache

from holdfast.core.codec import Draft, Event, content_of
from holdfast.core.secrets.signs import (
    MARKS,
    MARKS_OF_EVENT,
    MARKS_OF_NAME,
    MARKS_OF_OP,
    is_name,
    may_be_in,
    may_hold,
)
from holdfast.errors import SecretFound, Usage
from holdfast.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.core.secrets.finder import Path, Secret
    from holdfast.store.protocol import Fault
    from holdfast.workspace.handle import Handle
    from holdfast.workspace.workspace import Workspace

POLICIES = ("refuse", "redact", "allow")
CHANNELS = {"cli": "refuse", "mcp": "refuse", "library": "refuse", "hook": "redact", "import": "redact"}
"""The channels that input comes through, each with its default policy."""
KEY = "local/keys/secrets"
VARIABLE = "HOLDFAST_SECRETS"
_KEY_SIZE = 32
_NAMES = 1_000  # characters of names in the quick scan
_NAMED = 5  # findings that an error names
_PAIRED = ("preference.set",)  # its fields must be read together

Finding = tuple[str, "Path", "Secret", Any]


def passed(handle: Handle, draft: Draft) -> tuple[Draft, bytes]:
    """The draft as it may be written, and its content; raises ``SecretFound`` where it may not be written."""
    content = content_of(draft)
    events, _, _, op = draft
    marks = MARKS if op is None else MARKS + MARKS_OF_OP
    for kind, data, _ in events:
        own = _marks_of(kind, *data)
        if not own:
            break
        marks += own
    else:
        sign = may_be_in(content, marks)
        if sign is False or (sign is None and not _may_hold(draft)):
            return draft, content
    scanned = _scanned(handle, draft)
    return scanned, content if scanned is draft else content_of(scanned)


def _may_hold(draft: Draft) -> bool:
    texts = [] if draft.op is None else [draft.op]
    for event in draft.events:
        for value in event.data.values():
            texts.append(value if type(value) is str else _shown(value))
    return may_hold("\n".join(texts))


@lru_cache(maxsize=256)  # events of one type have the same names time and again
def _marks_of(kind: str, *fields: Any) -> bytes:
    """The marks that the event's own JSON contains; none if its fields' names can be secrets, or indicate one."""
    if kind in _PAIRED or (kind.startswith("x.") and _may_name("\n".join(map(str, fields)))):
        return b""
    return MARKS_OF_EVENT + len(fields) * MARKS_OF_NAME


def _may_name(names: str) -> bool:
    return len(names) > _NAMES or is_name(names) or may_hold(names)


def passed_text(handle: Handle, text: str, field: str) -> tuple[str, list[Event]]:
    """A text that is written outside the log, and events that record what was allowed in it."""
    value, events = passed_value(handle.workspace, text, field, handle.secrets)
    return str(value), events


def passed_value(
    workspace: Workspace, value: Any, field: str, asked: str | None = None
) -> tuple[Any, list[Event]]:
    """Plain JSON that is written outside the log, and events that record what was allowed in it."""
    if not may_hold(value if type(value) is str else _shown(value)):
        return value, []
    from holdfast.core.secrets import finder as secrets

    found = [(field, path, secret, value) for path, secret in secrets.find_in(value)]
    if not found:
        return value, []
    policy, how = policy_of(workspace, asked)
    if policy == "refuse":
        raise _refusal(found)
    if policy == "redact":
        return secrets.redact_in(value, key_of(workspace)), []
    return value, [_allowed(found, how)]


def policy_of(workspace: Workspace, asked: str | None = None) -> tuple[str, str]:
    """The policy that applies, and its source: caller (``asked``), environment, settings, or default."""
    said = asked or workspace.secrets
    if said is not None:
        return checked(said, "secrets"), "asked"
    if said := os.environ.get(VARIABLE):
        return checked(said, VARIABLE), "environment"
    if said := _configured(workspace):
        return said, "configured"
    return CHANNELS[workspace.channel], "default"


def checked(policy: Any, where: str) -> str:
    """A policy, validated."""
    if policy not in POLICIES:
        raise Usage(
            f"{where} is one of {', '.join(POLICIES)}, not {str(policy)[:40]!r}.",
            hint="docs/privacy.md tells what each of them does.",
        )
    return str(policy)


# -- what was found -----------------------------------------------------------------------------------------------


def _scanned(handle: Handle, draft: Draft) -> Draft:
    from holdfast.core.secrets import finder as secrets

    found: list[Finding] = [("op", path, secret, draft.op) for path, secret in secrets.find_in(draft.op)]
    for event in draft.events:
        found += [(event.type, path, secret, event.data) for path, secret in _find_in(event)]
    if not found:
        return draft
    policy, how = policy_of(handle.workspace, handle.secrets)
    if policy == "refuse":
        raise _refusal(found)
    if policy == "redact":
        key = key_of(handle.workspace)
        op = secrets.redact(draft.op, key) if draft.op else draft.op
        events = tuple(event._replace(data=_redacted(event, key)) for event in draft.events)
        return draft._replace(op=op, events=events)
    if any(event.type == "secret.allowed" for event in draft.events):
        return draft
    return draft._replace(events=(*draft.events, _allowed(found, how)))


def _find_in(event: Event) -> list[tuple[Path, Secret]]:
    from holdfast.core.secrets import finder as secrets

    found = secrets.find_in(event.data)
    name = _pair(event)
    if name is not None and not any(path == ("value",) for path, _ in found):
        found += [(("value",), secret) for _, secret in secrets.find_in({name: event.data["value"]})]
    return found


def _redacted(event: Event, key: bytes) -> dict[str, Any]:
    from holdfast.core.secrets import finder as secrets

    name = _pair(event)
    data: dict[str, Any] = secrets.redact_in(event.data, key)
    if name is not None:
        (value,) = secrets.redact_in({name: data["value"]}, key).values()
        data["value"] = value
    return data


def _pair(event: Event) -> str | None:
    """The name that an event gives to its ``value``: a password is recognised by its name."""
    if event.type not in _PAIRED or not isinstance(event.data.get("value"), str):
        return None
    name = event.data.get("key")
    return name if isinstance(name, str) else None


def _allowed(found: list[Finding], how: str) -> Event:
    from holdfast.core.concepts import secret as concept

    return concept.allow([(secret.kind, _field(what, path)) for what, path, secret, _ in found], how)


def _refusal(found: list[Finding]) -> SecretFound:
    """Built from kinds, names and positions alone: an error text goes into logs and transcripts."""
    places = [
        f"{_field(what, path)} holds what looks like a secret ({secret.kind}, {_place(path, secret, value)})"
        for what, path, secret, value in found[:_NAMED]
    ]
    if len(found) > _NAMED:
        places.append(f"and {len(found) - _NAMED:,} more")
    return SecretFound(f"{'; '.join(places)}. Nothing was written.")


def _field(what: str, path: Path) -> str:
    from holdfast.core.text import one_line

    return ".".join([what, *(one_line(str(step), 40) for step in path)])


def _place(path: Path, secret: Secret, value: Any) -> str:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return "in a name"
    if not isinstance(value, str):
        return "in a name"
    line = value.count("\n", 0, secret.start) + 1
    start = secret.start - (value.rfind("\n", 0, secret.start) + 1)
    end = start + secret.end - secret.start
    return f"characters {start + 1} to {end}" + (f" of line {line}" if "\n" in value else "")


def _shown(value: Any) -> str:
    """All texts and names in a value, as one text."""
    try:
        return repr(value)
    except RecursionError:
        return "://@"  # too deep for the quick scan: scan it fully


# -- policy and key -----------------------------------------------------------------------------------------------


def _configured(workspace: Workspace) -> str | None:
    from holdfast.store.protocol import attachments_of

    attachments = attachments_of(workspace.store)
    if attachments is None:
        return None
    from holdfast.workspace.settings import read

    said = read(attachments.root).get("secrets")
    if isinstance(said, dict):
        unknown = [name for name in said if name not in CHANNELS and name != "default"]
        if unknown:
            raise Usage(
                f"config.toml: [secrets] has {unknown[0][:40]!r}; it knows default, {', '.join(CHANNELS)}.",
                hint="Fix config.toml in the workspace's folder and retry. Nothing was written.",
            )
        said = said.get(workspace.channel, said.get("default"))
    return None if said is None else checked(said, "config.toml: secrets")


def check(workspace: Workspace) -> list[Fault]:
    """Errors in the settings: they block writing, so they would otherwise be noticed late."""
    from holdfast.store.faults import INVALID_SETTINGS
    from holdfast.store.protocol import Fault
    from holdfast.workspace.settings import NAME

    try:
        _configured(workspace)
    except Usage as error:
        return [Fault(INVALID_SETTINGS, "", NAME, {"problem": error.message})]
    return []


def key_of(workspace: Workspace) -> bytes:
    """The key of this workspace's placeholders. It stays in ``local/``: with it, guesses of a secret could be tried.

    Nothing may be written while a commit is planned, so ``keep_key`` stores a new key after the commit.
    """
    if workspace.new_key is None:
        key = _stored_key(workspace)
        if key is not None:
            return key
        workspace.new_key = os.urandom(_KEY_SIZE)
    return workspace.new_key


def keep_key(workspace: Workspace) -> None:
    """Store a key that was generated for a commit. If that fails, later placeholders differ, and nothing else."""
    key, workspace.new_key = workspace.new_key, None
    if key is not None and _stored_key(workspace) is None:
        workspace.store.put(KEY, key)


def _stored_key(workspace: Workspace) -> bytes | None:
    key = workspace.store.get(KEY)
    return key if key is not None and len(key) == _KEY_SIZE else None
