// What is known of one run of a test while it goes on? What was seen of it, the last minutes in full.
import type { Direction } from '../../data/types'
import { endText } from '../words'
import type { LiveItem } from '../types'

/** Seconds of the past that are kept: more than what is shown. */
const KEPT = 90
/** A wait that is not heard of again for this long, in seconds, is over. */
const RENEWED_WITHIN = 1.5
/** Two waits that began within this are of the same message, in seconds. */
const SAME = 0.05

/** A message: when it was sent, in seconds, and how long its answer took, in ms. */
export interface Point {
  sent: number
  delay: number
}

/** What is worth a line in the list. */
export interface Entry {
  run: string
  /** Seconds since the run's start. */
  at: number
  kind: 'decision' | 'path' | 'run'
  what: string
  cause: string
  /** How often at once: a policy decides for each connection. */
  times: number
}

export class Track {
  transport = ''
  policy = ''
  pattern = ''
  paths: string[] = []
  readonly points: Record<Direction, Point[]> = { up: [], down: [] }
  /** Since when which path carries the data. */
  uses: { from: number; path: string }[] = []
  /** When a message waited for long. */
  stalls: { from: number; to: number }[] = []
  /** When a path was away; `null` while it is. */
  outages: { path: string; from: number; to: number | null }[] = []
  decisions: Entry[] = []
  /** Since when the oldest unanswered message waits. */
  waitingSince: number | null = null
  signal: { path: string; dbm: number } | null = null
  ended: string | null = null
  answered = 0
  /** In ms. */
  longest = 0
  /** The latest thing seen, in seconds since the run's start. */
  time = 0
  /** When it was heard of, on the page's clock. */
  heard = 0
  /** What the run's clock shows when the page's shows 0, as far as it is known. */
  private offset = -Infinity
  private waitRenewed = 0

  constructor(readonly run: string) {}

  /** Where the run is when the page's clock shows `clock` seconds. */
  now(clock: number): number {
    if (this.ended !== null) return this.time
    return Math.max(this.time, clock + this.offset)
  }

  get pathInUse(): string | null {
    return this.uses.at(-1)?.path ?? null
  }

  last(direction: Direction): number | null {
    return this.points[direction].at(-1)?.delay ?? null
  }

  /** Takes in what was seen, heard of at `clock` seconds; returns what is worth a line. */
  take({ time_us, event }: LiveItem, clock: number): Entry | null {
    const at = time_us / 1e6
    this.time = Math.max(this.time, at)
    this.heard = clock
    this.offset = Math.max(this.offset, at - clock)
    const entry = (kind: Entry['kind'], what: string, cause = ''): Entry => ({
      run: this.run,
      at,
      kind,
      what,
      cause,
      times: 1,
    })
    if (event.message) {
      this.answer(event.message.direction, at, event.message.delay_us / 1e3)
    } else if (event.waiting) {
      this.wait(at, event.waiting.waited_us / 1e6)
    } else if (event['path-in-use']) {
      const { path } = event['path-in-use']
      if (this.pathInUse === path) return null
      if (!this.paths.includes(path)) this.paths.push(path)
      this.uses.push({ from: at, path })
      return entry('path', `data goes over ${path}`)
    } else if (event.decision) {
      const { action, path, cause } = event.decision
      const decision = entry('decision', [action, path].filter(Boolean).join(' '), cause)
      this.decisions.push(decision)
      return decision
    } else if (event.path) {
      const { path, up } = event.path
      const open = this.outages.findLast((outage) => outage.path === path && outage.to === null)
      if (up && open) open.to = at
      else if (!up && !open) this.outages.push({ path, from: at, to: null })
      return entry('path', up ? `${path} is there` : `${path} is away`)
    } else if (event.signal) {
      this.signal = { path: event.signal.path, dbm: event.signal.signal_dbm }
    } else if (event.started) {
      const { transport, policy, pattern, paths } = event.started
      Object.assign(this, { transport, policy, pattern, paths: [...paths] })
      return entry('run', `started: ${pattern} over ${paths.join(', ')}`)
    } else if (event.ended) {
      this.ended = event.ended.why
      this.settle(at)
      this.waitingSince = null
      return entry('run', `ended: ${endText(event.ended.why)}`)
    }
    return null
  }

  /** What is over at `now`, as nothing more was heard of it; and what is too old goes. */
  settle(now: number) {
    if (this.waitingSince !== null) {
      if (now - this.waitRenewed > RENEWED_WITHIN) this.waitingSince = null
      else this.stall(this.waitingSince, now)
    }
    const since = this.time - KEPT
    for (const points of [this.points.up, this.points.down]) {
      const first = points.findIndex((point) => point.sent >= since)
      if (first > 256) points.splice(0, first)
    }
    this.stalls = this.stalls.filter((stall) => stall.to >= since)
    this.outages = this.outages.filter((outage) => (outage.to ?? Infinity) >= since)
    this.decisions = this.decisions.filter((decision) => decision.at >= since)
    this.uses = this.uses.filter((_, i, all) => (all[i + 1]?.from ?? Infinity) >= since)
  }

  private answer(direction: Direction, at: number, delay: number) {
    const sent = at - delay / 1e3
    this.points[direction].push({ sent, delay })
    this.answered++
    this.longest = Math.max(this.longest, delay)
    if (this.waitingSince !== null && sent <= this.waitingSince + SAME) {
      this.stall(this.waitingSince, at)
      this.waitingSince = null
    }
  }

  private wait(at: number, waited: number) {
    const since = at - waited
    this.waitRenewed = at
    this.longest = Math.max(this.longest, waited * 1e3)
    this.stall(since, at)
    this.waitingSince = since
  }

  /** One stall grows; those that overlap are one. */
  private stall(from: number, to: number) {
    const last = this.stalls.at(-1)
    if (last && from <= last.to + SAME) {
      last.to = Math.max(last.to, to)
      last.from = Math.min(last.from, from)
    } else this.stalls.push({ from, to })
  }
}
