"""The MCP server: the workspace for every client that speaks the Model Context Protocol.

``protocol`` is the protocol itself, in both its eras, and knows nothing of holdfast; ``stdio`` and ``http`` carry its
messages; ``offer`` is what this server has to offer: ``tools``, ``resources`` and ``prompts`` over one ``desk``.
"""
