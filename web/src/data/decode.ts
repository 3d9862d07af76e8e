// How do the report's short columns become series with units?
import type { Direction, Grid, LinkSeries, Messages, Run } from './types'

/** The messages of one direction; times in seconds, delays in milliseconds. */
export interface Delays {
  sent: Float64Array
  /** How long the answer took; how long it was waited for when it never came. */
  delay: Float64Array
  unanswered: Uint8Array
  open: number
}

const decoded = new WeakMap<Messages, Delays>()

export function delays(run: Run, direction: Direction): Delays {
  const messages = run[direction]
  const known = decoded.get(messages)
  if (known) return known
  const n = messages.delay_100us.length
  const result: Delays = {
    sent: new Float64Array(n),
    delay: new Float64Array(n),
    unanswered: new Uint8Array(n),
    open: 0,
  }
  let at = 0
  for (let i = 0; i < n; i++) {
    at += messages.sent_delta_100us[i] ?? 0
    result.sent[i] = at / 1e4
    const delay = messages.delay_100us[i]
    if (delay == null) {
      result.unanswered[i] = 1
      result.open++
      result.delay[i] = Math.max(run.end_ms - at / 10, 0)
    } else {
      // A log axis has no zero; the quantum is 0.1 ms.
      result.delay[i] = Math.max(delay / 10, 0.05)
    }
  }
  decoded.set(messages, result)
  return result
}

/** A line over time: seconds and values; `null` is a gap. */
export interface Line {
  time: number[]
  value: (number | null)[]
}

export function gridLine(grid: Grid, scale: number): Line {
  return {
    // Mid-bin.
    time: grid.values.map((_, i) => ((i + 0.5) * grid.step_ms) / 1e3),
    value: grid.values.map((v) => scaled(v, scale)),
  }
}

export type LinkField = 'rate' | 'delay' | 'loss' | 'signal' | 'queue'

/** Mbit/s, ms, %, dBm or kB; a link that is down has only a signal and a queue. */
export function linkLine(link: LinkSeries, field: LinkField, end_ms: number): Line {
  if (field === 'queue') return gridLine(link.queue_bytes, 1e-3)
  const time: number[] = []
  let at = 0
  for (const delta of link.time_delta_ms) time.push((at += delta) / 1e3)
  const column = {
    rate: (i: number) => scaled(link.rate_kbps[i], 1e-3),
    delay: (i: number) => scaled(link.delay_100us[i], 0.1),
    loss: (i: number) => scaled(link.loss_e4[i], 0.01),
    signal: (i: number) => scaled(link.signal_ddbm[i], 0.1),
  }[field]
  const value = time.map((_, i) => (link.up[i] || field === 'signal' ? column(i) : null))
  // A value holds until the next one; the last until the end.
  if (time.length > 0 && (time.at(-1) ?? 0) < end_ms / 1e3) {
    time.push(end_ms / 1e3)
    value.push(value.at(-1) ?? null)
  }
  return { time, value }
}

function scaled(value: number | null | undefined, scale: number): number | null {
  return value == null ? null : value * scale
}

/** When a link carried nothing at all, as spans in seconds. */
export function downSpans(link: LinkSeries, end_ms: number): [number, number][] {
  const spans: [number, number][] = []
  let at = 0
  let since: number | null = null
  link.time_delta_ms.forEach((delta, i) => {
    at += delta
    if (!link.up[i] && since == null) since = at / 1e3
    if (link.up[i] && since != null) {
      spans.push([since, at / 1e3])
      since = null
    }
  })
  if (since != null) spans.push([since, end_ms / 1e3])
  return spans
}

/** Bytes per bin as kbit/s, `every` bins together. */
export function rates(bytes: number[], step_ms: number, every: number, bins: number): number[] {
  const out = new Array<number>(Math.ceil(bins / every)).fill(0)
  bytes.forEach((n, i) => {
    const bin = Math.floor(i / every)
    out[bin] = (out[bin] ?? 0) + (n * 8) / (step_ms * every)
  })
  return out
}

/** A cumulative distribution: `share` of all messages was answered within `x` ms. */
export interface Cdf {
  x: number[]
  share: number[]
  count: number
  open: number
}

export function cdf(runs: Run[], direction: Direction): Cdf {
  const answered: number[] = []
  let open = 0
  for (const run of runs) {
    const d = delays(run, direction)
    open += d.open
    d.delay.forEach((ms, i) => {
      if (!d.unanswered[i]) answered.push(ms)
    })
  }
  const sorted = Float64Array.from(answered).sort()
  const count = sorted.length + open
  const x: number[] = []
  const share: number[] = []
  sorted.forEach((ms, i) => {
    // The last of equal values carries the share.
    if (sorted[i + 1] === ms) return
    x.push(ms)
    share.push((i + 1) / count)
  })
  return { x, share, count, open }
}

/** Lines on one common time axis, each value holding until the next (`hold`) or alone. */
export function align(lines: Line[], hold: boolean): [number[], ...(number | null)[][]] {
  const times = Float64Array.from(new Set(lines.flatMap((line) => line.time))).sort()
  const columns = lines.map((line) => {
    let next = 0
    let value: number | null = null
    const end = line.time.at(-1) ?? -Infinity
    return Array.from(times, (time) => {
      let fresh = false
      while (next < line.time.length && (line.time[next] ?? Infinity) <= time) {
        value = line.value[next++] ?? null
        fresh = true
      }
      return (fresh || hold) && time <= end ? value : null
    })
  })
  return [Array.from(times), ...columns]
}
