"""Files that matter to a session."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.typed import TYPE_CHECKING, Any
from holdfast.workspace.handle import Handle, Receipt

if TYPE_CHECKING:
    from holdfast.workspace.attachments import Beside


class References(Handle):
    @property
    def files(self) -> Beside:
        """The files that the session can refer to."""
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
        """Refer to a file no longer; the file itself is left alone."""

        def rule(state: dict[str, Any], mint: Any) -> list[Any]:
            known = state["references"]["open"]
            return concepts.reference.drop(state, path if path in known else self.files.name(path))

        return self.commit(rule, op=op, expect=expect)

    def stale(self) -> list[dict[str, Any]]:
        """Every file that the state refers to and that is no longer as it was: its path, and what is wrong."""
        from holdfast.errors import HoldfastError, NotFound

        state, files = self.peek().state, self.files
        known = dict(state["references"]["open"])
        known |= {
            m["file"]: {**m, "path": m["file"], "kind": "context"}
            for m in state["messages"]["recent"]
            if "file" in m
        }
        stale = []
        for path, entry in sorted(known.items()):
            try:
                if files.size(path) == entry["size"] and files.look(path).hash == entry["hash"]:
                    continue
                problem = "changed"
            except NotFound:
                problem = "gone"
            except HoldfastError as error:
                problem = str(error)
            stale.append(
                {
                    "path": path,
                    "kind": entry["kind"],
                    "problem": problem,
                    "at": entry["at"],
                    "by": entry["by"],
                }
            )
        return stale
