// Connects OpenCode with holdfast. Each hook is handed to `holdfast hook opencode` as one JSON object on stdin,
// {"hook", "directory", "input", "output"}, which answers {"context": "text"} or {}. Whatever goes wrong here,
// OpenCode goes on: nothing is thrown, every call has a time limit, and without holdfast nothing happens.
import { spawn } from "node:child_process"
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Plugin } from "@opencode-ai/plugin"
import type { Event } from "@opencode-ai/sdk"

const COMMAND = "holdfast"
const ARGUMENTS = ["hook", "opencode"]

const START_MS = 10_000
const PROMPT_MS = 5_000
const TOOL_MS = 5_000
const COMPACT_MS = 10_000
const STOP_MS = 5_000

const LONGEST_ANSWER = 64 * 1024
const LONGEST_TEXT = 8_000
const MOST_ENTRIES = 50
const DEEPEST = 8
const MOST_SESSIONS = 200
const MOST_FAILURES = 3
const RETRY_AFTER_MS = 60_000

const EDITS = new Set(["write", "edit", "multiedit", "patch", "apply_patch", "todowrite"])
const STARTS = new Set(["session.created", "session.compacted"])
const STOPS = new Set(["session.idle", "session.error", "session.deleted"])
// OpenCode names a session with a request of its own, which has no use for the brief.
const TITLE = /^You are a title generator\b/

// What the model of one session is told. `brief` stays the same text, byte for byte, for as long as the
// session is not compacted: a changed system prompt makes the provider read the whole conversation again.
type Told = { brief?: Promise<Answer>; news: string; usage: Usage; last: LastMessage }

// How full the context is: the tokens of the last answer, and the size of the model's context.
type Usage = { used?: number; window?: number; model?: string }

// The model's last message that is no summary: its text parts by id, in the order in which they began.
type LastMessage = { id: string; texts: Map<string, string> }

// What holdfast says: a text, an empty one when it has nothing to say, undefined when it did not answer.
type Answer = string | undefined

// Payloads hold whole files and command outputs; holdfast needs names, commands and the beginning of texts.
const trimmed = (value: unknown, depth = 0): unknown => {
  if (typeof value === "string") return value.length > LONGEST_TEXT ? value.slice(0, LONGEST_TEXT) : value
  if (typeof value !== "object" || value === null) return value
  if (depth >= DEEPEST) return null
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map((each) => trimmed(each, depth + 1))
  const entries = Object.entries(value).slice(0, MOST_ENTRIES)
  return Object.fromEntries(entries.map(([key, each]) => [key, trimmed(each, depth + 1)]))
}

const contextOf = (text: string): Answer => {
  if (!text.trim()) return ""
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer !== "object" || answer === null) return undefined
    const context = (answer as { context?: unknown }).context
    return typeof context === "string" ? context : ""
  } catch {
    return undefined
  }
}

// The payload as an open file that has no name any more. OpenCode may end right after it reported that a turn is
// over; what is still in a pipe then would be lost, and the child would read nothing.
const payloadFile = (text: string): number => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-"))
  try {
    const path = join(folder, "payload.json")
    writeFileSync(path, text, { mode: 0o600 })
    return openSync(path, "r")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const started = (text: string, directory: string) => {
  const file = payloadFile(text)
  try {
    return spawn(COMMAND, ARGUMENTS, { cwd: directory, stdio: [file, "pipe", "ignore"] })
  } finally {
    closeSync(file)
  }
}

// The tokens of a message of the model: all that it read and wrote is in the context of the next request.
const usageOf = (properties: unknown): Usage => {
  const info = (properties as { info?: Record<string, unknown> } | undefined)?.info
  const tokens = info?.role === "assistant" ? (info.tokens as Record<string, unknown> | undefined) : undefined
  const cache = (tokens?.cache ?? {}) as Record<string, unknown>
  const counts = [tokens?.input, tokens?.output, tokens?.reasoning, cache.read, cache.write]
  const used = counts.reduce<number>((sum, each) => sum + (typeof each === "number" ? each : 0), 0)
  return used > 0 ? { used, model: typeof info?.modelID === "string" ? info.modelID : undefined } : {}
}

const sessionOf = (properties: unknown): string => {
  const known = properties as
    | { sessionID?: unknown; info?: { id?: unknown; sessionID?: unknown }; part?: { sessionID?: unknown } }
    | undefined
  const id = known?.sessionID ?? known?.part?.sessionID ?? known?.info?.sessionID ?? known?.info?.id
  return typeof id === "string" ? id : ""
}

// Kept as they are said: OpenCode may end right after a turn, before its messages could be asked for.
const listen = (last: LastMessage, event: Event): void => {
  if (event.type === "message.updated") {
    const { info } = event.properties
    if (info.role !== "assistant" || info.summary || info.id === last.id) return
    last.id = info.id
    last.texts.clear()
  } else if (event.type === "message.part.updated") {
    const { part } = event.properties
    if (part.type !== "text" || part.messageID !== last.id) return
    if (last.texts.has(part.id) || last.texts.size < MOST_ENTRIES) last.texts.set(part.id, part.text)
  }
}

const saidIn = (last: LastMessage): string => [...last.texts.values()].join("\n")

export const HoldfastPlugin: Plugin = async ({ client, directory }) => {
  const sessions = new Map<string, Told>()
  let missing = false
  let failures = 0
  let restUntil = 0

  const told = (session: string): Told => {
    const known = sessions.get(session) ?? { news: "", usage: {}, last: { id: "", texts: new Map() } }
    sessions.delete(session)
    sessions.set(session, known)
    const oldest = sessions.keys().next().value
    if (sessions.size > MOST_SESSIONS && oldest !== undefined) sessions.delete(oldest)
    return known
  }

  const lost = (error: unknown): void => {
    const code = (error as { code?: unknown } | undefined)?.code
    if (missing || code !== "ENOENT" || !existsSync(directory)) return
    missing = true
    console.warn("holdfast: the command is not installed or not on PATH; its OpenCode plug-in does nothing.")
  }

  const run = (text: string, limit: number): Promise<Answer> =>
    new Promise((resolve) => {
      let answer = ""
      const child = started(text, directory)
      const timer = setTimeout(() => {
        child.kill("SIGKILL")
        resolve(undefined)
      }, limit)
      const finish = (value: Answer): void => {
        clearTimeout(timer)
        resolve(value)
      }
      child.on("error", (error) => {
        lost(error)
        finish(undefined)
      })
      child.stdout?.setEncoding("utf8")
      child.stdout?.on("data", (chunk: string) => {
        answer += chunk
        if (answer.length <= LONGEST_ANSWER) return
        child.kill("SIGKILL")
        finish(undefined)
      })
      child.on("close", (status) => finish(status === 0 ? contextOf(answer) : undefined))
    })

  const call = async (
    hook: string,
    limit: number,
    input: unknown,
    output?: unknown,
    usage?: Usage,
  ): Promise<Answer> => {
    if (missing || Date.now() < restUntil) return undefined
    let answer: Answer
    try {
      const whole = { hook, directory, input: trimmed(input), output: trimmed(output), usage }
      answer = await run(JSON.stringify(whole), limit)
    } catch (error) {
      lost(error)
    }
    failures = answer === undefined ? failures + 1 : 0
    // Nobody waits for a command that keeps failing or hanging.
    if (failures >= MOST_FAILURES) restUntil = Date.now() + RETRY_AFTER_MS
    return answer
  }

  const brief = async (session: string): Promise<string> => {
    const known = told(session)
    known.brief ??= call("experimental.chat.system.transform", START_MS, { sessionID: session })
    const asked = known.brief
    const text = await asked
    if (text === undefined && known.brief === asked) known.brief = undefined
    return text ?? ""
  }

  // The last summary: the event does not carry it.
  const summaryText = async (session: string): Promise<string> => {
    try {
      const { data } = await client.session.messages({ path: { id: session } })
      for (const { info, parts } of [...(data ?? [])].reverse()) {
        if (info.role !== "assistant" || !info.summary) continue
        const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
        if (text.trim()) return text
      }
    } catch {
      // Without it the event itself is still worth recording.
    }
    return ""
  }

  // After the event itself, which must not wait: OpenCode may end while its messages are read.
  const summarised = async (session: string): Promise<void> => {
    const said = session ? await summaryText(session) : ""
    if (said) await call("event", STOP_MS, { type: "session.summarised", properties: { sessionID: session, said } })
  }

  const stop = async (event: Event, session: string): Promise<void> => {
    const { usage, last } = told(session)
    const said = event.type === "session.idle" ? saidIn(last) : ""
    const properties = said ? { ...event.properties, said } : event.properties
    await call("event", STOP_MS, { type: event.type, properties }, undefined, usage)
  }

  const safely =
    <A extends unknown[]>(act: (...given: A) => Promise<void>) =>
    async (...given: A): Promise<void> => {
      try {
        await act(...given)
      } catch {
        // A host that breaks because its memory does is worse than one without a memory.
      }
    }

  return {
    event: safely(async ({ event }) => {
      const session = sessionOf(event.properties)
      if (event.type === "message.updated") Object.assign(told(session).usage, usageOf(event.properties))
      if (event.type.startsWith("message.")) listen(told(session).last, event)
      if (STOPS.has(event.type)) await stop(event, session)
      if (event.type === "session.compacted" || event.type === "session.deleted") sessions.delete(session)
      if (!STARTS.has(event.type)) return
      const text = await call("event", START_MS, event)
      if (text) told(session).brief ??= Promise.resolve(text)
      if (event.type === "session.compacted") await summarised(session)
    }),

    "chat.message": safely(async (input, output) => {
      const text = await call("chat.message", PROMPT_MS, input, output)
      // What holdfast says at a prompt is worth a changed system prompt; it comes after the brief, which stays.
      if (text) told(input.sessionID).news = text
    }),

    "tool.execute.after": safely(async (input, output) => {
      // A command that succeeds ends an earlier failure of it.
      const ran = input.tool === "bash" && output.metadata?.exit !== undefined
      if (EDITS.has(input.tool) || ran) await call("tool.execute.after", TOOL_MS, input, output)
    }),

    "experimental.chat.system.transform": safely(async (input, output) => {
      if (!input.sessionID || TITLE.test(output.system[0] ?? "")) return
      const window: unknown = input.model?.limit?.context
      if (typeof window === "number") told(input.sessionID).usage.window = window
      const text = await brief(input.sessionID)
      if (text) output.system.push(text)
      const { news } = told(input.sessionID)
      if (news) output.system.push(news)
    }),

    "experimental.session.compacting": safely(async (input, output) => {
      const text = await call("experimental.session.compacting", COMPACT_MS, input)
      if (text) output.context.push(text)
    }),
  }
}
