"""The few names of ``typing`` that this package uses, without importing ``typing``.

Hooks and commands run at every prompt, and ``typing`` with its named tuples takes longer to load than a command
may take (docs/decisions/0008-start-up.md). Type checkers see the real names; at run time there are stand-ins, and
``Record`` is a named tuple that is made in microseconds.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "Any", "NoReturn", "Protocol", "Record", "Self", "new_record"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, NoReturn, Protocol, Self, TypeVar
    from typing import NamedTuple as Record

    _R = TypeVar("_R")

    def new_record(kind: type[_R], values: tuple[Any, ...]) -> _R:
        """A record of this kind. For what is built at every append: a constructor takes three times as long."""
else:
    Any = NoReturn = Self = object
    new_record = tuple.__new__

    class Protocol:
        """A class that describes what other classes have."""

    try:
        from _collections import _tuplegetter
    except ImportError:  # an interpreter without the private module
        from operator import itemgetter

        def _tuplegetter(index, doc):
            return property(itemgetter(index), doc=doc)

    def _replaced(self, **changes):
        return self._make(changes.pop(name, value) for name, value in zip(self._fields, self, strict=True))

    def _as_dict(self):
        return dict(zip(self._fields, self, strict=True))

    def _shown(self):
        inside = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({inside})"

    _MANY = 64
    """A record that is made this often is worth a constructor of its own; most commands never get there."""

    def _compiled(fields, defaults):
        taken = ", ".join(f"{field}=defaults[{field!r}]" if field in defaults else field for field in fields)
        space = {"make": tuple.__new__, "defaults": defaults}
        # The names are those of a class body of this package: nothing here comes from outside.
        return eval(f"lambda cls, {taken}: make(cls, ({', '.join(fields)},))", space)  # noqa: S307

    class _Maker(type):
        """Turns a class body with annotated fields into a tuple with those names."""

        def __new__(mcs, name, bases, body):
            if not bases:
                return type.__new__(mcs, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            length = len(fields)

            uses = 0

            def new(cls, *values, **named):
                nonlocal uses
                uses += 1
                if uses == _MANY:
                    made.__new__ = _compiled(fields, defaults)
                if named or len(values) != length:
                    given = {**defaults, **dict(zip(fields, values, strict=False)), **named}
                    if len(values) > length or given.keys() != set(fields):
                        raise TypeError(f"{name} takes {', '.join(fields)}")
                    values = [given[field] for field in fields]
                return tuple.__new__(cls, values)

            body |= {
                "__new__": new,
                "__slots__": (),
                "__repr__": _shown,
                "__match_args__": fields,
                "_fields": fields,
                "_make": classmethod(tuple.__new__),
                "_replace": _replaced,
                "_asdict": _as_dict,
                "__getnewargs__": lambda self: tuple(self),  # for pickle
            }
            for index, field in enumerate(fields):
                body[field] = _tuplegetter(index, "")
            made = type(name, (tuple,), body)
            return made

    Record = _Maker("Record", (), {})
