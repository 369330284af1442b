"""Checks of a workspace: is it well-formed (validate, lint), and is it still true (verify)?"""
