"""Checks: does the memory have the form that it should (validate, lint), and is it still true (verify)?"""
