"""The token budget of a session."""

from __future__ import annotations

from holdfast.core import concepts
from holdfast.workspace.handle import Receipt
from holdfast.workspace.verbs.references import References

_FILE_CAP = 20_000_000


class Budgets(References):
    def set_budget(
        self, total: int, *, zones: list[int] | None = None, op: str | None = None, expect: int | None = None
    ) -> Receipt:
        """Say how many tokens there are; ``zones`` are the percentages where deliberate, warning and stop begin."""
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
        """Count an item of the context; the same name again takes the new count."""
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
        """Count a file of the project, by an estimate of its tokens."""
        from holdfast.core.tokens import estimate

        files = self.files
        plain = files.name(path)
        tokens = estimate(files.read(plain, _FILE_CAP).decode("utf-8", "replace"))
        return self.spend(name or plain, tokens, included=included, op=op, expect=expect)

    def include(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Count an item towards what is used."""
        return self.commit(lambda state, mint: concepts.budget.include(state, name), op=op, expect=expect)

    def exclude(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Keep an item in the list, but do not count it."""
        return self.commit(lambda state, mint: concepts.budget.exclude(state, name), op=op, expect=expect)

    def unspend(self, name: str, *, op: str | None = None, expect: int | None = None) -> Receipt:
        """Forget an item."""
        return self.commit(lambda state, mint: concepts.budget.drop(state, name), op=op, expect=expect)
