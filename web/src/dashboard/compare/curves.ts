// How does an arm's CDF become what the plot of distributions draws?
import type { Drawn } from '../../study/curves'
import type { CdfPoint } from '../types'

/** `stalled` runs are the part of the CDF that never reaches 1; `end` is where the plot does. */
export function drawn(points: CdfPoint[], runs: number, stalled: number, end: number): Drawn | null {
  if (points.length === 0) return null
  const none = points.map(() => null)
  return {
    kind: 'cdf',
    x: points.map((p) => p.seconds),
    y: points.map((p) => p.share),
    low: none,
    high: none,
    end,
    runs,
    censored: stalled,
  }
}

/** From the least to the greatest of all points, or nothing. */
export function extent(all: CdfPoint[][]): [number, number] | null {
  const seconds = all.flat().map((p) => p.seconds)
  if (seconds.length === 0) return null
  return [seconds.reduce((a, b) => Math.min(a, b)), seconds.reduce((a, b) => Math.max(a, b))]
}
