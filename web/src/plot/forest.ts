// Which part of the log axis does the forest plot show?
import type { Bound } from '../study/types'

/** A ratio with its interval. */
export interface Ratio {
  ratio: number | null
  low: number | null
  high: number | null
  /** What the ratio says of the true one. */
  bound: Bound
}

/** Wider than this, the other intervals would shrink to points; what lies beyond has an arrow. */
const WIDEST = 1000

/** All ratios with their intervals, and 1. */
export function forestRange(ratios: Ratio[]): [number, number] {
  const ends = ratios.flatMap((c) => [c.low, c.high, c.ratio]).filter((v) => v != null && v > 0) as number[]
  const least = Math.max(Math.min(0.9, ...ends), 1 / WIDEST)
  const most = Math.min(Math.max(1.1, ...ends), WIDEST)
  const room = (most / least) ** 0.06
  return [least / room, most * room]
}

export const WIDTH = 200

/** Where a ratio lies, in a box that is `WIDTH` wide. */
export function place(ratio: number, [least, most]: [number, number]): number {
  return (Math.log(ratio / least) / Math.log(most / least)) * WIDTH
}

/** Round ratios within the range, from the set that fits and reaches widest. */
export function forestTicks(range: [number, number]): number[] {
  const fits = (set: number[]) =>
    set.every((v, i) => i === 0 || place(v, range) - place(set[i - 1] ?? v, range) > 26)
  const reach = (set: number[]) =>
    place(set.at(-1) ?? 1, range) - place(set[0] ?? 1, range) + 4 * set.length
  return TICKS.map((set) => set.filter((v) => place(v, range) >= 9 && place(v, range) <= WIDTH - 9))
    .filter(fits)
    .reduce((best, set) => (set.length > 0 && reach(set) > reach(best) ? set : best), [1])
}

const TICKS = [
  [0.9, 0.95, 1, 1.05, 1.1],
  [0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5],
  [0.6, 0.8, 1, 1.25, 1.6],
  [0.5, 0.7, 1, 1.4, 2],
  [0.125, 0.25, 0.5, 1, 2, 4, 8],
  [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50],
  [0.03, 0.1, 0.3, 1, 3, 10, 30],
  [0.01, 0.1, 1, 10, 100],
  [0.001, 0.01, 0.1, 1, 10, 100, 1000],
]
