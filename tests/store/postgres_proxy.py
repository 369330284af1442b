"""A proxy in front of a PostgreSQL server that cuts connections at a chosen message."""

from __future__ import annotations

import os
import select
import socket
from threading import Thread

SOCKET = ".s.PGSQL.5432"


class Proxy:
    """Listens on a unix socket of its own. ``cut`` names what ends a connection, and whether the server gets it."""

    def __init__(self, folder: str, server: str) -> None:
        self.url = f"postgresql:///postgres?host={folder}&user=holdfast"
        self._server = os.path.join(server, SOCKET)
        self._listener = socket.socket(socket.AF_UNIX)
        self._path = os.path.join(folder, SOCKET)
        self._listener.bind(self._path)
        self._listener.listen()
        self.cut: tuple[bytes, bool] | None = None
        self.cuts = 0
        self.refuses = False
        """Whether every later connection is cut at once."""
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        os.unlink(self._path)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            if self.refuses:
                return
            server.connect(self._server)
            while True:
                ready, _, _ = select.select([client, server], [], [])
                source, target = (client, server) if client in ready else (server, client)
                try:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    if source is client and self.cut is not None and self.cut[0] in data:
                        _, arrives = self.cut
                        self.cut = None
                        self.cuts += 1
                        if arrives:
                            server.sendall(data)
                            server.recv(1 << 16)  # it has answered, so it is done
                        return
                    target.sendall(data)
                except OSError:
                    return
