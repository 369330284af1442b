"""Repair of the files engine: check, quarantine, restore, pins, archive."""
