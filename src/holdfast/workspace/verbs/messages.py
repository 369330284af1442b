"""The conversation, kept selectively."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.handle import Receipt
from holdfast.workspace.secrets_filter import passed_text
from holdfast.workspace.verbs.references import References

if TYPE_CHECKING:
    from holdfast.core.concepts.message import ContextFile

_FILE_CAP = 8_000_000


class Messages(References):
    def add_message(
        self,
        role: str,
        text: str,
        *,
        tool: str | None = None,
        op: str | None = None,
        expect: int | None = None,
    ) -> Receipt:
        """Keep a message of a conversation, or what a tool answered. A long text becomes a context file first."""
        concepts.message.check(role, text, tool)
        if len(text) <= concepts.message.LONG:
            return self.commit(
                lambda state, mint: concepts.message.add(state, role, text, tool), op=op, expect=expect
            )
        text, told = passed_text(self, text, "message.added.text")  # before it is written anywhere
        file = self._context_file(text)
        return self.commit(
            lambda state, mint: concepts.message.add(state, role, text, tool, file) + told,
            op=op,
            expect=expect,
        )

    def summarize(
        self, text: str, *, keep: int = 0, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Put a summary in the place of all messages but the last ``keep``, and of the summary before it."""
        return self.commit(
            lambda state, mint: concepts.message.summarize(state, text, keep), op=op, expect=expect
        )

    def recent(self, n: int = 20, *, full: bool = True) -> list[dict[str, Any]]:
        """The last ``n`` messages that no summary stands for, oldest first; with ``full``, long ones come whole.

        A message whose file is gone or changed has its beginning and ``"cut": True``.
        """
        if n < 1:
            return []
        messages = self.peek().state["messages"]
        found = [dict(message) for message in messages["recent"][-n:]]
        covered = messages["summary"]["covers"] if messages["summary"] else 0
        wanted = min(n, messages["count"] - covered)
        if len(found) < wanted:
            found = self._from_log(wanted)
        return [self._whole(message) for message in found] if full else found

    def _from_log(self, n: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for commit in self.log(newest_first=True):
            for event in reversed(commit.events):
                if event.type == "message.added":
                    found.append({**concepts.message.entry(event.data, commit), "text": event.data["text"]})
            if len(found) >= n:
                break
        return found[:n][::-1]

    def _whole(self, message: dict[str, Any]) -> dict[str, Any]:
        if "file" not in message:
            return message
        from hashlib import sha256

        from holdfast.errors import HoldfastError

        try:
            data = self.files.read(message["file"], _FILE_CAP)
        except HoldfastError:
            return {**message, "cut": True}
        if sha256(data).hexdigest() != message["hash"]:
            return {**message, "cut": True}
        return {**message, "text": data.decode()}

    def _context_file(self, text: str) -> ContextFile | None:
        """The text as a durable file of the session; None where the store has no folders and the log keeps it all."""
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
