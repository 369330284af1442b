"""Exports: what the log and the state hold, in formats that other tools and habits know. Pure functions."""
