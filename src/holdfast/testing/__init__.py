"""Shipped tools that prove a store's promises: conformance suite and crash laboratory."""
