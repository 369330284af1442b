"""Test support for holdfast, its engines and your programs: conformance suite, crash-consistency harness, checkers."""
