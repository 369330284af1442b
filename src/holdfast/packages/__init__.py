"""What agent hosts are given: which hooks call holdfast, the plug-in for OpenCode and the skill.

The files beside this module are what ``holdfast install`` writes. They are part of the wheel.
"""
