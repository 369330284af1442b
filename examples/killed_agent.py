"""An agent is killed between deciding and confirming; its successor picks up exactly there.

Everything is real: a workspace on disk, an agent in a process of its own, ``kill -9``, and a successor that
knows nothing but what the workspace tells it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time

import holdfast
from holdfast.edge.cli import main as command_line


def agent(folder: str) -> None:
    """The agent: three steps of a release. It never gets to the end of the third."""
    os.chdir(folder)
    with holdfast.open(by="agent-1") as workspace:
        session = workspace.start("Release version 2.0", phases=["prepare", "publish", "announce"])
        with session.acting(
            "Bump the version", because="2.0 breaks an interface", action="write VERSION"
        ) as act:
            with open("VERSION", "w") as file:
                file.write("2.0\n")
            act.outcome("VERSION says 2.0")
        session.enter_phase("publish")
        with session.acting(
            "Upload the package", because="all checks are green", action="upload dist/ to the package index"
        ):
            print("   agent-1: uploading …", flush=True)
            time.sleep(60)


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def run(*words: str) -> None:
    print(f"\n$ holdfast {' '.join(f'{word!r}' if ' ' in word else word for word in words)}", flush=True)
    status = command_line(list(words))
    if status:
        sys.exit(f"the demonstration failed: holdfast {words[0]} ended with status {status}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        os.chdir(folder)
        say("A project gets a workspace.")
        run("init")

        say("An agent works in it, in a process of its own.")
        worker = subprocess.Popen(
            [sys.executable, __file__, "--agent", folder], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        line = worker.stdout.readline()
        if not line:
            sys.exit("the demonstration failed: the agent did not start")
        print(line, end="", flush=True)

        say("kill -9, in the middle of the upload.")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        print(f"   agent-1 is gone (signal {-worker.returncode}); nothing could be saved at the last moment.")

        say("Its successor asks what was decided and never confirmed.")
        os.environ["HOLDFAST_AGENT"] = "agent-2"
        run("recover")
        say("It takes the session up, looks at the world, and writes down how that decision ended.")
        run("resume")
        run("settle", "D-2", "the package is not in the index: the upload never finished", "--failed")
        run("decide", "Upload again", "--because", "D-2 never finished", "--action", "upload dist/")
        run("settle", "D-3", "2.0 is in the index")
        say("Nothing was lost, nothing was done twice, and the log says who did what.")
        run("log", "--type", "decision")
        run("doctor")
        os.chdir(tempfile.gettempdir())


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--agent":
        agent(sys.argv[2])
    else:
        main()
