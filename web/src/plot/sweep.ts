// How does the median of each arm go with a parameter: a plot of points with intervals?
import { align } from '../data/decode'
import type { Metric, Parameter } from '../study/types'
import { axisLabel, valueText, valueTick } from '../study/words'
import { logSplits } from './format'
import type { Ink } from './palette'
import type { Plot } from './spec'
import { drawWhiskers } from './uncertainty'

/** The median of one arm at one value of the parameter, by its place in the list of values. */
export interface Point {
  value: number
  median: number
  low: number | null
  high: number | null
  bound: boolean
}

interface Choice {
  name: string
  metric: Metric
  parameter: Parameter
  arms: { name: string; ink: Ink; shown: boolean; points: Point[] }[]
  /** Of the medians and their intervals, with room. */
  range: [number, number]
  log: boolean
}

export function sweepPlot(c: Choice): Plot {
  const { values, numbers, unit } = c.parameter
  const places = numbers ?? values.map((_, i) => i)
  const [least, most] = [Math.min(...places), Math.max(...places)]
  const isLog = numbers !== null && least > 0 && most / least > 10
  const width = isLog ? Math.log(most / least) || 1 : most - least || 1
  // Side by side, so that intervals do not hide each other.
  const move = (x: number, share: number) => (isLog ? x * Math.exp(share * width) : x + share * width)
  const at = (value: number, arm: number) => {
    const step = 0.06 / Math.max(c.arms.length, 5)
    return move(places[value] ?? 0, (arm - (c.arms.length - 1) / 2) * step)
  }
  const lines = c.arms.map((arm, i) => ({
    time: arm.points.map((p) => at(p.value, i)),
    value: arm.points.map((p) => p.median),
  }))
  const [x, ...columns] = align(lines, false)
  // A category has no line to the next, and `undefined` is no gap where another arm has its point.
  const gap = numbers ? undefined : null
  return {
    name: `Median ${c.metric.heading} against ${c.parameter.name}, ${c.name}`,
    height: 300,
    data: [x, ...columns.map((column) => column.map((v) => v ?? gap))],
    series: c.arms.map(({ name, ink, shown, points }, i) => ({
      name,
      ink,
      shown,
      style: 'line' as const,
      width: 1.5,
      markAt: points.map((p) => x.indexOf(at(p.value, i))),
      text: (v: number) => valueText(v, c.metric.unit),
    })),
    x: {
      label: `${c.parameter.name}${isLog ? ' (log)' : ''}`,
      log: isLog,
      range: [move(least, -0.08), move(most, 0.08)],
      tick: (v) => values[places.indexOf(v)] ?? (numbers ? valueTick(v, unit ?? '') : ''),
      splits: (_low, _high, room) => thinned(places, room),
    },
    y: {
      label: `median ${axisLabel(c.metric, c.log)}`,
      log: c.log,
      range: c.range,
      tick: (v) => valueTick(v, c.metric.unit),
      ...(c.log && { splits: logSplits }),
    },
    readout: (near) => {
      const value = nearest(places, near, isLog)
      const words = c.arms.flatMap((arm) => {
        const point = arm.points.find((p) => p.value === value)
        if (!arm.shown || !point) return []
        return [`${arm.name} ${point.bound ? '≥ ' : ''}${valueText(point.median, c.metric.unit)}`]
      })
      return [`${c.parameter.name} ${values[value] ?? ''}`, ...words].join(' · ')
    },
    draw: (u) =>
      drawWhiskers(
        u,
        c.arms.flatMap((arm, i) =>
          arm.shown
            ? arm.points.map((p) => ({
                x: at(p.value, i),
                y: p.median,
                low: p.low,
                high: p.high,
                bound: p.bound,
                colour: arm.ink.colour,
              }))
            : [],
        ),
        devicePixelRatio,
      ),
  }
}

/** As many of the values as there is room for, the first among them. */
function thinned(places: number[], room: number): number[] {
  const sorted = places.toSorted((a, b) => a - b)
  const step = Math.ceil(sorted.length / Math.max(room, 2))
  return sorted.filter((_, i) => i % step === 0)
}

function nearest(places: number[], x: number, log: boolean): number {
  const far = (place: number) => Math.abs(log ? Math.log(place / x) : place - x)
  return places.reduce((best, place, i) => (far(place) < far(places[best] ?? Infinity) ? i : best), 0)
}
