// Which part of the log axis does the forest plot show?
import type { Comparison } from './types'

/** Wider than this, the other intervals would shrink to points; what lies beyond has an arrow. */
const WIDEST = 100

/** All ratios with their intervals, and 1. */
export function forestRange(comparisons: Comparison[]): [number, number] {
  const ends = comparisons.flatMap((c) => [c.low, c.high, c.ratio]).filter((v) => v != null && v > 0) as number[]
  const least = Math.max(Math.min(0.9, ...ends), 1 / WIDEST)
  const most = Math.min(Math.max(1.1, ...ends), WIDEST)
  const room = (most / least) ** 0.06
  return [least / room, most * room]
}

export const WIDTH = 180

/** Where a ratio lies, in a box that is `WIDTH` wide. */
export function place(ratio: number, [least, most]: [number, number]): number {
  return (Math.log(ratio / least) / Math.log(most / least)) * WIDTH
}

/** Round ratios within the range: powers of ten and of two about 1, as many as there is room for. */
export function forestTicks([least, most]: [number, number]): number[] {
  const sets = [
    [0.9, 0.95, 1, 1.05, 1.1],
    [0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5],
    [0.25, 0.5, 1, 2, 4],
    [0.1, 0.3, 1, 3, 10],
    [0.01, 0.1, 1, 10, 100],
  ].map((set) => set.filter((v) => v >= least && v <= most))
  const far = (set: number[]) => set.every((v, i) => i === 0 || place(v, [least, most]) - place(set[i - 1] ?? v, [least, most]) > 28)
  return sets.find((set) => set.length >= 2 && far(set)) ?? [1]
}
