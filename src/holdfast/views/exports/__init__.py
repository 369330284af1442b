"""Exports: the log and the state in other tools' formats. Pure functions."""
