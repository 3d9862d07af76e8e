// How is any metric distributed over the runs of a case and an arm?
import type { Lookup } from './lookup'
import type { Curve } from './types'

const MOST = 200

/** What is drawn of one arm: a step function that ends where its runs do. */
export interface Drawn {
  kind: 'cdf' | 'survival'
  x: number[]
  y: number[]
  low: (number | null)[]
  high: (number | null)[]
  /** Greatest value of all runs, lower bounds among them. */
  end: number
  runs: number
  censored: number
}

/** The curve of the primary metric as the study has it, or of any other from the runs. */
export function curveOf(lookup: Lookup, metric: string, place: number, arm: number): Drawn | null {
  const { values } = lookup.study.runs
  const column = values[metric] ?? []
  const bounds = lookup.censored(metric)
  const runs = lookup.runs(place, arm).filter((i) => column[i] != null)
  if (runs.length === 0) return null
  const censored = runs.reduce((n, i) => n + (bounds[i] ?? 0), 0)
  const end = runs.reduce((most, i) => Math.max(most, column[i] ?? most), -Infinity)
  const group = lookup.group(place, arm)
  const curve =
    metric === lookup.study.primary && group
      ? group.curve
      : estimate(runs.map((i) => ({ value: column[i] ?? 0, bound: bounds[i] === 1 })))
  return { ...curve, end: Math.max(end, curve.x.at(-1) ?? end), runs: runs.length, censored }
}

/** Kaplan and Meier's estimate: without lower bounds, the empirical distribution. */
function estimate(observed: { value: number; bound: boolean }[]): Curve {
  // A lower bound leaves after those that were observed at the same value.
  const sorted = observed.toSorted((a, b) => a.value - b.value || Number(a.bound) - Number(b.bound))
  const isSurvival = sorted.some((o) => o.bound)
  const x: number[] = []
  const y: number[] = []
  let left = 1
  sorted.forEach(({ value, bound }, i) => {
    if (bound) return
    left *= 1 - 1 / (sorted.length - i)
    const share = isSurvival ? left : 1 - left
    if (x.at(-1) === value) y[y.length - 1] = share
    else {
      x.push(value)
      y.push(share)
    }
  })
  const step = Math.ceil(x.length / MOST)
  const keep = (_: number, i: number) => i % step === 0 || i === x.length - 1
  const none = x.filter(keep).map(() => null)
  return { kind: isSurvival ? 'survival' : 'cdf', x: x.filter(keep), y: y.filter(keep), low: none, high: none }
}

/** The same curve the other way up. */
export function as(kind: 'cdf' | 'survival', curve: Drawn): Drawn {
  if (curve.kind === kind) return curve
  const turn = (v: number | null) => (v == null ? null : 1 - v)
  return {
    ...curve,
    kind,
    y: curve.y.map((v) => 1 - v),
    low: curve.high.map(turn),
    high: curve.low.map(turn),
  }
}

/** From the least to the greatest value of all curves. */
export function rangeOf(curves: (Drawn | null)[]): [number, number] | null {
  const all = curves.filter((c) => c !== null)
  const least = Math.min(...all.map((c) => c.x[0] ?? c.end))
  const most = Math.max(...all.map((c) => c.end))
  return all.length > 0 && Number.isFinite(least) && Number.isFinite(most) ? [least, most] : null
}

/** Whether a log axis serves: all above zero, over more than a decade. */
export function spansDecade([least, most]: [number, number]): boolean {
  return least > 0 && most / least > 10
}

/** Of a plot's height: what an arrow at its greatest value takes. */
const ARROW = 0.12

/** A range with room at its ends, and above for arrows where there are some. */
export function padded([least, most]: [number, number], log: boolean, arrows = false): [number, number] {
  const above = arrows ? ARROW : 0
  if (log) return [least * 0.85, most * 1.2 * (most / least) ** above]
  const room = (most - least) * 0.05 || Math.abs(most) * 0.1 || 1
  const from = least >= 0 && least < most / 2 ? 0 : least - room
  return [from, most + room + (most - from) * above]
}
