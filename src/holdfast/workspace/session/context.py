"""The context of a session: messages, files, token budget, compactions."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.model_builders import build
from holdfast.workspace.receipt import Receipt
from holdfast.workspace.secrets_filter import passed_text

if TYPE_CHECKING:
    from holdfast.core.concepts.message import ContextFile
    from holdfast.workspace.attachments import Attachments
    from holdfast.workspace.handle import Handle as Base
    from holdfast.workspace.models import Message, StaleFile
else:
    Base = object  # the class that mixes this in is a handle

_FILE_CAP = 20_000_000


class Context(Base):
    """What an agent has in its context, and what it said."""

    # -- messages ----------------------------------------------------------------------------------------

    def add_message(
        self,
        role: str,
        text: str,
        *,
        tool: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Record a message of a conversation, or a tool's answer. A long text becomes a context file first."""
        concepts.message.check(role, text, tool)
        if len(text) <= concepts.message.LONG:
            return self.commit(
                lambda state, mint: concepts.message.add(state, role, text, tool), op=op, expect=expect
            )
        text, allowed = passed_text(self, text, "message.added.text")  # before it is written anywhere
        file = self._context_file(text)
        return self.commit(
            lambda state, mint: concepts.message.add(state, role, text, tool, file) + allowed,
            op=op,
            expect=expect,
        )

    def summarize(
        self, text: str, *, keep: int = 0, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Replace all messages but the last ``keep``, and the previous summary, with a summary."""
        return self.commit(
            lambda state, mint: concepts.message.summarize(state, text, keep), op=op, expect=expect
        )

    def recent(self, n: int = 20, *, full: bool = True) -> list[Message]:
        """The last ``n`` messages that no summary covers, oldest first; with ``full``, long ones are complete.

        A message whose file is missing or changed has its first part, and ``cut`` is true.
        """
        from holdfast.workspace.entries import recent_messages
        from holdfast.workspace.models import Message

        return [build(Message, message) for message in recent_messages(self, n, full=full)]

    def _context_file(self, text: str) -> ContextFile | None:
        """The text as a durable file of the session; None if the store has no folders and the log keeps it all."""
        files = self.files
        if files.session is None:
            return None
        from hashlib import sha256

        from holdfast.errors import Refused

        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise Refused(
                "The text holds half of a surrogate pair, which is not valid Unicode; nothing was written."
            ) from None
        digest = sha256(data).hexdigest()
        return concepts.message.ContextFile(
            files.write_context(f"message-{digest[:20]}.txt", data), len(data), digest
        )

    # -- files -------------------------------------------------------------------------------------------

    @property
    def files(self) -> Attachments:
        """Internal: the files that the session can refer to."""
        return self.workspace.files(self.stream)

    def refer(
        self, path: str, *, kind: str = "context", op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Refer to a file of the project or of the session's own folder, with its present size and hash."""
        files = self.files
        found = files.look(files.name(path))
        return self.commit(
            lambda state, mint: concepts.reference.add(state, found.path, found.size, found.hash, kind),
            op=op,
            expect=expect,
        )

    def unrefer(self, path: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Drop a reference to a file; the file itself is left alone."""

        def rule(state: dict[str, Any], mint: Any) -> list[Any]:
            known = state["references"]["open"]
            return concepts.reference.drop(state, path if path in known else self.files.name(path))

        return self.commit(rule, op=op, expect=expect)

    def stale(self) -> list[StaleFile]:
        """Every referenced file that has changed."""
        from holdfast.workspace.entries import stale_files
        from holdfast.workspace.models import StaleFile

        return [build(StaleFile, entry) for entry in stale_files(self)]

    # -- token budget ------------------------------------------------------------------------------------

    def set_budget(
        self, total: int, *, zones: list[int] | None = None, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Set the token budget; ``zones`` are the percentages where deliberate, warning and stop begin."""
        return self.commit(
            lambda state, mint: concepts.budget.set_total(state, total, zones), op=op, expect=expect
        )

    def spend(
        self,
        name: str,
        tokens: int,
        *,
        included: bool = True,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Count an item of the context; the same name again replaces its count."""
        return self.commit(
            lambda state, mint: concepts.budget.add(state, name, tokens, included), op=op, expect=expect
        )

    def spend_file(
        self,
        path: str,
        *,
        name: str | None = None,
        included: bool = True,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Count a file of the project, with an estimate of its tokens."""
        from holdfast.core.tokens import estimate

        files = self.files
        plain = files.name(path)
        tokens = estimate(files.read(plain, _FILE_CAP).decode("utf-8", "replace"))
        return self.spend(name or plain, tokens, included=included, op=op, expect=expect)

    def include(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Count an item towards what is used."""
        return self.commit(lambda state, mint: concepts.budget.include(state, name), op=op, expect=expect)

    def exclude(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Keep an item in the list without counting it."""
        return self.commit(lambda state, mint: concepts.budget.exclude(state, name), op=op, expect=expect)

    def unspend(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Remove an item from the list."""
        return self.commit(lambda state, mint: concepts.budget.drop(state, name), op=op, expect=expect)

    # -- compactions -------------------------------------------------------------------------------------

    def compacted(
        self,
        summary: str | None = None,
        *,
        trigger: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Count a compaction of an agent's context, and store the summary."""
        events = concepts.compaction.add(summary, trigger)
        return self.commit(lambda state, mint: events, op=op, expect=expect)
