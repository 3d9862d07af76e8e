// How are the distributions of all delays drawn, in one plot?
import { align, cdf, type Cdf } from '../data/decode'
import type { Group } from '../data/groups'
import type { Direction } from '../data/types'
import { delayTick, logSplits } from './format'
import { groupInk } from './palette'
import type { Plot } from './spec'

export type Shape = 'cdf' | 'tail'

interface Choice {
  groups: Group[]
  direction: Direction
  shape: Shape
  range: [number, number]
  dark: boolean
  hidden: Set<string>
}

/** From the least to the greatest delay of all groups and directions. */
export function cdfRange(groups: Group[]): [number, number] | null {
  const all = groups.flatMap((g) => [cdf(g.runs, 'up'), cdf(g.runs, 'down')]).filter((c) => c.x.length > 0)
  if (all.length === 0) return null
  const least = Math.min(...all.map((c) => c.x[0] ?? Infinity))
  const most = Math.max(...all.map((c) => c.x.at(-1) ?? 0))
  return [least * 0.85, most * 1.3]
}

export function cdfPlot(c: Choice): Plot {
  const curves = c.groups.map((group) => cdf(group.runs, c.direction))
  const isTail = c.shape === 'tail'
  const y = (share: number) => (isTail ? (share < 1 - 1e-12 ? 1 - share : null) : share)
  const [x, ...columns] = align(
    curves.map((curve) => {
      if (curve.x.length === 0) return { time: [], value: [] }
      // From nothing at the left edge to a plateau at the right one.
      return {
        time: [c.range[0], ...curve.x, c.range[1]],
        value: [y(0), ...curve.share.map(y), y(curve.share.at(-1) ?? 0)],
      }
    }),
    true,
  )
  const rarest = Math.max(10, ...curves.map((curve) => curve.count))
  return {
    name: `${isTail ? 'Share of messages that waited longer' : 'Cumulative distribution of the delay'}, ${c.direction}`,
    height: 340,
    data: [x, ...columns],
    series: c.groups.map((group, i) => {
      const ink = groupInk(group.transport, group.policy, c.dark)
      return {
        name: group.name,
        ink,
        shown: !c.hidden.has(group.key),
        style: 'step' as const,
        width: 1.7,
        markAt: marked(curves[i], x, i, c.groups.length),
        text: (v: number) => `${(v * 100).toFixed(isTail ? 2 : 1)} %`,
      }
    }),
    x: { label: 'application delay (log)', log: true, range: c.range, tick: delayTick, splits: logSplits },
    y: {
      label: isTail ? 'share that waited longer (log)' : 'share answered within',
      log: isTail,
      range: isTail ? [0.7 / rarest, 1] : [0, 1.02],
      tick: (v) => `${Number((v * 100).toPrecision(3))} %`,
      splits: isTail ? logSplits : () => [0, 0.25, 0.5, 0.75, 0.9, 1],
    },
  }
}

/** A few places along a curve for its marker, other ones for each curve. */
function marked(curve: Cdf | undefined, x: number[], place: number, of: number): number[] {
  if (!curve || curve.x.length === 0) return []
  const shift = (place + 0.5) / of / 8
  const shares = [0.02, 0.15, 0.3, 0.45, 0.6, 0.75, 0.87].map((share) => share + shift)
  const values = shares.map((share) => curve.x[curve.share.findIndex((s) => s >= share)])
  const indexes = [...values, curve.x.at(-1)].map((value) => (value === undefined ? -1 : search(x, value)))
  return [...new Set(indexes.filter((i) => i >= 0))]
}

function search(sorted: number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return sorted[low] === value ? low : -1
}
