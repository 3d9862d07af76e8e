// Which runs belong together, and what happened in one?
import type { Band, Mark } from '../plot/spec'
import type { Run, RunEvent, ScenarioReport } from './types'

/** The repetitions of one transport under one policy. */
export interface Group {
  key: string
  transport: string
  policy: string
  /** As on the command line: `mptcp backup`. */
  name: string
  runs: Run[]
}

export function groups(scenario: ScenarioReport): Group[] {
  const list: Group[] = []
  for (const run of scenario.runs) {
    const name = `${run.transport} ${run.policy}`
    const known = list.find((group) => group.name === name)
    if (known) known.runs.push(run)
    else list.push({ key: name, transport: run.transport, policy: run.policy, name, runs: [run] })
  }
  return list
}

/** The run of a repetition; there may be none when a run is missing. */
export function repetition(group: Group, n: number): Run | undefined {
  return group.runs.find((run) => run.repetition === n)
}

/**
 * The end of the time axis of all plots, in seconds: the scenario's, unless nothing was recorded in half
 * of its time, as in a walk that ended with the Wi-Fi.
 */
export function endOf(scenario: ScenarioReport): number {
  const last = Math.max(0, ...scenario.runs.map((run) => run.end_ms))
  const isEarly = last > 0 && last < scenario.duration_ms / 2
  return (isEarly ? last : Math.max(scenario.duration_ms, last)) / 1e3 || 1
}

/** The failures of a run, as spans; and what it did not live to see. */
export function bands(run: Run, end: number): Band[] {
  const last = run.end_ms / 1e3
  const list: Band[] = failures(run, end).filter((band) => band.from < last)
  if (end - last > 1) {
    const what = `nothing recorded from ${last.toFixed(2)} s on`
    list.push({ kind: 'ended', from: last, to: end, label: 'ended', detail: what })
  }
  return list
}

export function failures(run: Run, end: number): Band[] {
  return run.failures.map((failure) => {
    const from = failure.from_ms / 1e3
    const to = Math.min((failure.to_ms ?? Infinity) / 1e3, end)
    const what = `${failure.path} ${failure.kind}${failure.direction ? ` (${failure.direction} only)` : ''}`
    const until = failure.to_ms == null ? 'to the end' : `to ${to.toFixed(2)} s`
    return { kind: 'failure', from, to, label: what, detail: `${what}, ${from.toFixed(2)} s ${until}` }
  })
}

const DECISIVE = new Set(['decision', 'action-failed', 'fallback'])

export function isDecision(event: RunEvent): boolean {
  return DECISIVE.has(event.kind)
}

/** What the policy decided, and what went wrong with it. */
export function marks(run: Run): Mark[] {
  return run.events.filter(isDecision).map((event) => ({
    at: event.time_us / 1e6,
    label: what(event),
    detail: event.cause ?? '',
  }))
}

function what(event: RunEvent): string {
  const words = event.detail || [event.kind, event.path].filter(Boolean).join(' ')
  return event.kind === 'decision' ? words : `${event.kind}: ${words}`
}
