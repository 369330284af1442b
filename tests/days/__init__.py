"""Scripted working days, replayed through real hook payloads; each ends with questions to the next brief."""
