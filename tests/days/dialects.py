"""How each host reports what happens: recorded payloads with the words of a script in them.

Hosts whose payloads lack something (Codex does not say whether a command failed, Copilot CLI not what the agent said)
have it in their transcript, so the transcript is written too, in the form of that host.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

Payload = dict[str, Any]
RECORDED = Path(__file__).parents[1] / "hosts" / "payloads"
Todo = tuple[str, str]
"""A step of a plan and its status: pending, in_progress or completed."""


class Dialect:
    """One conversation of one host. Each method returns the payloads of one happening, with their event's name."""

    host: ClassVar[str]

    def __init__(self, project: Path, home: Path, conversation: str) -> None:
        self.project, self.home = project, home
        self.conversation = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.host}:{conversation}"))
        self.count = 0
        self.transcript = home / self.host / f"{self.conversation}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)

    def key(self) -> str:
        """An id that is not used twice in the conversation."""
        self.count += 1
        return f"{self.conversation[:8]}-{self.count:05d}"

    def recorded(self, name: str, **changes: Any) -> tuple[str, Payload]:
        """A recorded payload of this host with other words in it."""
        text = (RECORDED / self.host / f"{name}.json").read_text().replace("{project}", str(self.project))
        payload: Payload = json.loads(text)
        for field in ("transcript_path", "transcriptPath"):
            if field in payload:
                payload[field] = str(self.transcript)
        for field in ("session_id", "sessionId"):
            if field in payload:
                payload[field] = self.conversation
        for field in ("prompt_id", "turn_id"):
            if field in payload:
                payload[field] = f"{self.conversation[:8]}-turn-{self.turn}"
        payload.update(changes)
        return name.partition("-")[0], payload

    def wrote(self, line: Payload) -> None:
        """Add a line to the transcript."""
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    turn = 0

    # -- what a script can make happen -------------------------------------------------------------------------

    def start(self, source: str) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def asks(self, text: str) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def edits(self, path: str, old: str, new: str) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def runs(self, command: str, output: str, status: int) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def says(self, text: str) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def compacts(self, summary: str) -> list[tuple[str, Payload]]:
        raise NotImplementedError

    def ends(self) -> list[tuple[str, Payload]]:
        raise NotImplementedError


class Claude(Dialect):
    """Claude Code."""

    host = "claude"

    def start(self, source: str) -> list[tuple[str, Payload]]:
        return [self.recorded(f"SessionStart-{source}")]

    def asks(self, text: str) -> list[tuple[str, Payload]]:
        self.turn += 1
        return [self.recorded("UserPromptSubmit", prompt=text)]

    def edits(self, path: str, old: str, new: str) -> list[tuple[str, Payload]]:
        name, payload = self.recorded("PostToolUse-Edit", tool_use_id=f"toolu_{self.key()}")
        where = str(self.project / path)
        payload["tool_input"] |= {"file_path": where, "old_string": old, "new_string": new}
        payload["tool_response"] |= {"filePath": where, "oldString": old, "newString": new}
        return [(name, payload)]

    def runs(self, command: str, output: str, status: int) -> list[tuple[str, Payload]]:
        given = {"command": command, "description": "run a command"}
        if status:
            return [
                self.recorded(
                    "PostToolUseFailure-Bash-failed",
                    tool_use_id=f"toolu_{self.key()}",
                    tool_input=given,
                    error=f"Exit code {status}\n{output}",
                )
            ]
        name, payload = self.recorded("PostToolUse-Bash", tool_use_id=f"toolu_{self.key()}", tool_input=given)
        payload["tool_response"]["stdout"] = output
        return [(name, payload)]

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        todos = [{"content": text, "status": status, "activeForm": text} for text, status in steps]
        changes = {
            "tool_name": "TodoWrite",
            "tool_input": {"todos": todos},
            "tool_response": {"oldTodos": [], "newTodos": todos},
        }
        return [self.recorded("PostToolUse-Bash", tool_use_id=f"toolu_{self.key()}", **changes)]

    def says(self, text: str) -> list[tuple[str, Payload]]:
        return [self.recorded("Stop", last_assistant_message=text)]

    def delegates(self, kind: str, task: str, result: str) -> list[tuple[str, Payload]]:
        """A subagent is started, works, and reports."""
        agent = {"agent_id": f"a{self.key()}", "agent_type": kind}
        given = {"description": task[:40], "prompt": task, "subagent_type": kind}
        name, done = self.recorded(
            "PostToolUse-Agent", tool_use_id=f"toolu_{self.key()}", tool_input=deepcopy(given)
        )
        done["tool_response"] = {
            "status": "completed",
            "prompt": task,
            "agentId": agent["agent_id"],
            "content": [{"type": "text", "text": result}],
        }
        return [
            self.recorded("PreToolUse-Agent", tool_input=given),
            self.recorded("SubagentStart", **agent),
            self.recorded("SubagentStop", last_assistant_message=result, **agent),
            (name, done),
        ]

    def compacts(self, summary: str) -> list[tuple[str, Payload]]:
        return [
            self.recorded("PreCompact-auto"),
            self.recorded("SessionStart-compact"),
            self.recorded("PostCompact-auto", compact_summary=summary),
        ]

    def ends(self) -> list[tuple[str, Payload]]:
        return [self.recorded("SessionEnd-other")]


class ClaudeTasks(Claude):
    """Claude Code with the task tools instead of one list."""

    known: dict[str, tuple[str, str]]

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        known = self.__dict__.setdefault("known", {})
        found = []
        for text, status in steps:
            if text not in known:
                known[text] = (str(len(known) + 1), "pending")
                found.append(
                    self.recorded(
                        "PostToolUse-Bash",
                        tool_use_id=f"toolu_{self.key()}",
                        tool_name="TaskCreate",
                        tool_input={"subject": text, "description": text, "activeForm": text},
                        tool_response={"task": {"id": known[text][0], "subject": text}},
                    )
                )
            number, was = known[text]
            if was != status:
                known[text] = (number, status)
                found.append(
                    self.recorded(
                        "PostToolUse-Bash",
                        tool_use_id=f"toolu_{self.key()}",
                        tool_name="TaskUpdate",
                        tool_input={"taskId": number, "status": status},
                        tool_response={
                            "success": True,
                            "taskId": number,
                            "updatedFields": ["status"],
                            "statusChange": {"from": was, "to": status},
                        },
                    )
                )
        return found


class Codex(Dialect):
    """Codex."""

    host = "codex"

    def _line(self, kind: str, payload: Payload) -> None:
        self.wrote({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload})

    def _item(self, item: Payload) -> None:
        self._line("event_msg", {"type": "item_completed", "thread_id": self.conversation, "item": item})

    def start(self, source: str) -> list[tuple[str, Payload]]:
        self._line("session_meta", {"id": self.conversation, "cwd": str(self.project)})
        return [self.recorded(f"SessionStart-{source}")]

    def asks(self, text: str) -> list[tuple[str, Payload]]:
        self.turn += 1
        self._item({"type": "UserMessage", "content": [{"type": "text", "text": text}]})
        return [self.recorded("UserPromptSubmit", prompt=text)]

    def edits(self, path: str, old: str, new: str) -> list[tuple[str, Payload]]:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
        self._item(
            {
                "type": "FileChange",
                "changes": {str(self.project / path): {"type": "update"}},
                "status": "completed",
            }
        )
        return [
            self.recorded(
                "PostToolUse-apply_patch",
                tool_use_id=f"call_{self.key()}",
                tool_input={"command": patch},
                tool_response=f"Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM {path}\n",
            )
        ]

    def runs(self, command: str, output: str, status: int) -> list[tuple[str, Payload]]:
        call = f"call_{self.key()}"
        self._line(
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "call_id": call,
                "arguments": json.dumps({"cmd": command}),
            },
        )
        self._item(
            {
                "type": "CommandExecution",
                "id": call,
                "command": ["/bin/bash", "-lc", command],
                "status": "failed" if status else "completed",
                "aggregated_output": output,
                "exit_code": status,
            }
        )
        return [
            self.recorded(
                "PostToolUse-Bash",
                tool_use_id=call,
                tool_input={"command": command},
                tool_response=output,
            )
        ]

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        plan = {"plan": [{"step": text, "status": status} for text, status in steps]}
        call = f"call_{self.key()}"
        self._line(
            "response_item",
            {
                "type": "function_call",
                "name": "update_plan",
                "call_id": call,
                "arguments": json.dumps(plan),
            },
        )
        return [
            self.recorded(
                "PostToolUse-Bash",
                tool_use_id=call,
                tool_name="update_plan",
                tool_input=plan,
                tool_response="Plan updated",
            )
        ]

    def says(self, text: str) -> list[tuple[str, Payload]]:
        self._item({"type": "AgentMessage", "content": [{"type": "Text", "text": text}]})
        self._line("event_msg", {"type": "task_complete", "last_agent_message": text})
        return [self.recorded("Stop", last_assistant_message=text)]

    def compacts(self, summary: str) -> list[tuple[str, Payload]]:
        self._line("compacted", {"message": summary, "replacement_history": []})
        return [
            self.recorded("PreCompact-auto"),
            self.recorded("PostCompact-auto"),
            self.recorded("SessionStart-compact"),
        ]

    def ends(self) -> list[tuple[str, Payload]]:
        return [self.recorded("SessionEnd-other")]


class Gemini(Dialect):
    """Gemini CLI."""

    host = "gemini"
    asked = ""

    def start(self, source: str) -> list[tuple[str, Payload]]:
        return [self.recorded(f"SessionStart-{source}")]

    def asks(self, text: str) -> list[tuple[str, Payload]]:
        self.asked = text
        self.wrote({"id": self.key(), "type": "user", "content": [{"text": text}]})
        return [self.recorded("BeforeAgent", prompt=text), self.recorded("PreCompress-auto")]

    def edits(self, path: str, old: str, new: str) -> list[tuple[str, Payload]]:
        name, payload = self.recorded("AfterTool-replace")
        payload["tool_input"] |= {
            "file_path": str(self.project / path),
            "old_string": old,
            "new_string": new,
        }
        return [(name, payload)]

    def runs(self, command: str, output: str, status: int) -> list[tuple[str, Payload]]:
        name, payload = self.recorded(
            "AfterTool-run_shell_command-failed" if status else "AfterTool-run_shell_command",
            tool_input={"command": command},
        )
        code = f"Exit Code: {status}\n" if status else ""
        said = f"<untrusted_context>\nOutput: {output}\n{code}Process Group PGID: 4242\n</untrusted_context>"
        payload["tool_response"] = {"llmContent": said, "returnDisplay": output}
        return [(name, payload)]

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        todos = [{"description": text, "status": status} for text, status in steps]
        return [
            self.recorded(
                "AfterTool-run_shell_command",
                tool_name="write_todos",
                tool_input={"todos": todos},
                tool_response={"llmContent": "Successfully updated the todo list.", "returnDisplay": ""},
            )
        ]

    def says(self, text: str) -> list[tuple[str, Payload]]:
        self.wrote({"id": self.key(), "type": "gemini", "content": text})
        return [self.recorded("AfterAgent", prompt=self.asked, prompt_response=text)]

    def compacts(self, summary: str) -> list[tuple[str, Payload]]:
        return [self.recorded("PreCompress-auto", trigger="manual")]

    def ends(self) -> list[tuple[str, Payload]]:
        return [self.recorded("SessionEnd-exit")]


class Copilot(Dialect):
    """GitHub Copilot CLI."""

    host = "copilot"

    def _event(self, kind: str, data: Payload) -> None:
        self.wrote({"type": kind, "data": data, "id": self.key(), "timestamp": "2026-01-01T00:00:00.000Z"})

    def start(self, source: str) -> list[tuple[str, Payload]]:
        self._event("session.start", {"sessionId": self.conversation})
        name, payload = self.recorded("sessionStart-resume" if source == "resume" else "sessionStart-new")
        payload.pop("initialPrompt", None)
        return [(name, payload)]

    def asks(self, text: str) -> list[tuple[str, Payload]]:
        self.turn += 1
        self._event("user.message", {"content": text})
        return [self.recorded("userPromptSubmitted", prompt=text)]

    def edits(self, path: str, old: str, new: str) -> list[tuple[str, Payload]]:
        patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
        return [self.recorded("postToolUse-apply_patch", toolArgs=patch)]

    def runs(self, command: str, output: str, status: int) -> list[tuple[str, Payload]]:
        said = f"{output}\n<shellId: {self.count} completed with exit code {status}>"
        return [
            self.recorded(
                "postToolUse-bash",
                toolArgs={"command": command, "description": "run a command"},
                toolResult={"resultType": "success", "textResultForLlm": said},
            )
        ]

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        marks = {"pending": "pending", "in_progress": "in_progress", "completed": "done"}
        rows = ", ".join(
            f"('s{number}', '{text.replace(chr(39), chr(39) * 2)}', '{marks[status]}')"
            for number, (text, status) in enumerate(steps, 1)
        )
        query = f"INSERT OR REPLACE INTO todos (id, title, status) VALUES {rows};"
        return [
            self.recorded(
                "postToolUse-bash",
                toolName="sql",
                toolArgs={"description": "Plan the work", "query": query},
                toolResult={
                    "resultType": "success",
                    "textResultForLlm": f"{len(steps)} row(s) inserted.",
                },
            )
        ]

    def says(self, text: str) -> list[tuple[str, Payload]]:
        self._event("assistant.message", {"messageId": self.key(), "content": text, "toolRequests": []})
        self._event("assistant.turn_end", {"turnId": str(self.turn)})
        return [self.recorded("agentStop")]

    def compacts(self, summary: str) -> list[tuple[str, Payload]]:
        found = [self.recorded("preCompact-manual", trigger="auto")]
        self._event("session.compaction_complete", {"success": True, "summaryContent": summary})
        return found

    def ends(self) -> list[tuple[str, Payload]]:
        return [self.recorded("sessionEnd-complete")]


class OpenCode(Dialect):
    """OpenCode, through the plug-in."""

    host = "opencode"

    def _hook(self, name: str, given: Payload, made: Payload | None = None) -> tuple[str, Payload]:
        whole: Payload = {"hook": name, "directory": str(self.project), "input": given}
        return name, whole | ({"output": made} if made is not None else {})

    def _event(self, kind: str, **properties: Any) -> tuple[str, Payload]:
        inside = {"sessionID": self.conversation, **properties}
        return self._hook("event", {"id": f"evt_{self.key()}", "type": kind, "properties": inside})

    def start(self, source: str) -> list[tuple[str, Payload]]:
        return [self._hook("experimental.chat.system.transform", {"sessionID": self.conversation})]

    def asks(self, text: str) -> list[tuple[str, Payload]]:
        message = f"msg_{self.key()}"
        return [
            self._hook(
                "chat.message",
                {"sessionID": self.conversation},
                {
                    "message": {"id": message, "role": "user", "sessionID": self.conversation},
                    "parts": [{"type": "text", "text": text, "messageID": message}],
                },
            )
        ]

    def _tool(self, tool: str, given: Payload, made: Payload) -> tuple[str, Payload]:
        inside = {"tool": tool, "sessionID": self.conversation, "callID": f"call_{self.key()}", "args": given}
        return self._hook("tool.execute.after", inside, made)

    def edits(self, path: str, old: str, new: str) -> list[tuple[str, Payload]]:
        given = {"filePath": str(self.project / path), "oldString": old, "newString": new}
        return [
            self._tool("edit", given, {"title": path, "metadata": {}, "output": "Edit applied successfully."})
        ]

    def runs(self, command: str, output: str, status: int) -> list[tuple[str, Payload]]:
        made = {
            "title": command,
            "metadata": {"output": output, "exit": status, "truncated": False},
            "output": output,
        }
        return [self._tool("bash", {"command": command, "description": "run a command"}, made)]

    def plans(self, steps: Sequence[Todo]) -> list[tuple[str, Payload]]:
        todos = [{"content": text, "status": status, "priority": "medium"} for text, status in steps]
        made = {
            "title": f"{len(todos)} todos",
            "metadata": {"todos": todos, "truncated": False},
            "output": json.dumps(todos),
        }
        return [self._tool("todowrite", {"todos": todos}, made)]

    def says(self, text: str) -> list[tuple[str, Payload]]:
        return [self._event("session.idle", said=text)]

    def compacts(self, summary: str) -> list[tuple[str, Payload]]:
        before = self._hook(
            "experimental.session.compacting", {"sessionID": self.conversation}, {"context": []}
        )
        again = self._hook("experimental.chat.system.transform", {"sessionID": self.conversation})
        after = self._event("session.compacted"), self._event("session.summarised", said=summary)
        return [before, *after, again]

    def ends(self) -> list[tuple[str, Payload]]:
        return []


DIALECTS: dict[str, type[Dialect]] = {
    "claude": Claude,
    "claude-tasks": ClaudeTasks,
    "codex": Codex,
    "gemini": Gemini,
    "copilot": Copilot,
    "opencode": OpenCode,
}
