// How is the delay of every message drawn? A point each; what was never answered at the top.
import uPlot from 'uplot'
import { delays, type Delays } from '../data/decode'
import type { Direction, Run } from '../data/types'
import { delayText, delayTick, logSplits, timeText } from './format'
import { directionInk } from './palette'
import type { Band, Mark, Plot } from './spec'

const DIRECTIONS: Direction[] = ['up', 'down']

/** One range for all panels, so that they can be compared. */
export function delayRange(runs: Run[], log: boolean): [number, number] {
  let [least, most] = [Infinity, 0]
  for (const run of runs) {
    for (const direction of DIRECTIONS) {
      const d = delays(run, direction)
      d.delay.forEach((ms, i) => {
        if (d.unanswered[i]) return
        least = Math.min(least, ms)
        most = Math.max(most, ms)
      })
    }
  }
  return rangeOver(least, most, log)
}

/** Round ends around the delays from `least` to `most`, in ms, with room at the top for the unanswered. */
export function rangeOver(least: number, most: number, log: boolean): [number, number] {
  if (most === 0) [least, most] = [10, 1000]
  return log ? [nice(least * 0.8, Math.floor), nice(most * 2.2, Math.ceil)] : [0, most * 1.15]
}

function nice(value: number, round: (n: number) => number): number {
  const decade = 10 ** Math.floor(Math.log10(value))
  const steps = [1, 2, 5, 10]
  const ratio = value / decade
  const step =
    round === Math.floor ? steps.findLast((s) => s <= ratio + 1e-9) : steps.find((s) => s >= ratio - 1e-9)
  return decade * (step ?? 1)
}

interface Choice {
  run: Run
  name: string
  end: number
  range: [number, number]
  log: boolean
  dark: boolean
  hidden: Set<string>
  bands: Band[]
  marks: Mark[]
}

export function delayPlot(c: Choice): Plot {
  const both = DIRECTIONS.map((direction) => delays(c.run, direction))
  const count = both.reduce((n, d) => n + d.sent.length, 0)
  const all = both.flatMap((d) => Array.from(d.sent))
  const order = Uint32Array.from({ length: count }, (_, i) => i).sort(
    (a, b) => (all[a] ?? 0) - (all[b] ?? 0),
  )
  const first = both[0]?.sent.length ?? 0
  const columns = both.map((d, which) =>
    Array.from(order, (i) => {
      const at = which === 0 ? i : i - first
      if (at < 0 || at >= d.sent.length || d.unanswered[at]) return null
      return d.delay[at] ?? null
    }),
  )
  const open = both.map((d) => `${d.open} of ${d.sent.length}`)
  return {
    name: `Delay of every message, ${c.name}; unanswered: ${open[0]} up, ${open[1]} down`,
    height: 206,
    isTime: true,
    data: [Array.from(order, (i) => all[i] ?? 0), ...columns],
    series: DIRECTIONS.map((direction) => ({
      name: direction,
      ink: directionInk(direction, c.dark),
      shown: !c.hidden.has(direction),
      style: 'points' as const,
    })),
    x: { label: 'time [s]', range: [0, c.end] },
    y: {
      label: `delay${c.log ? ' (log)' : ''}`,
      log: c.log,
      range: c.range,
      tick: delayTick,
      ...(c.log && { splits: logSplits }),
    },
    bands: c.bands,
    marks: c.marks,
    readout: (time) => {
      if (time > c.run.end_ms / 1e3) return `${timeText(time)} · nothing recorded`
      const values = DIRECTIONS.flatMap((direction, i) => {
        const d = both[i]
        return d && !c.hidden.has(direction) ? [`${direction} ${nearest(d, time)}`] : []
      })
      return [timeText(time), ...values].join(' · ')
    },
    draw: (u) => {
      both.forEach((d, i) => {
        const direction = DIRECTIONS[i] ?? 'up'
        if (!c.hidden.has(direction)) drawOpen(u, d, i, directionInk(direction, c.dark).colour)
      })
    },
  }
}

/** The delay of the message sent closest to a moment. */
function nearest(d: Delays, time: number): string {
  let [low, high] = [0, d.sent.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((d.sent[middle] ?? 0) < time) low = middle + 1
    else high = middle
  }
  if (low > 0 && time - (d.sent[low - 1] ?? 0) < (d.sent[low] ?? Infinity) - time) low--
  const ms = d.delay[low]
  if (ms === undefined) return '–'
  return d.unanswered[low] ? `≥ ${delayText(ms)}` : delayText(ms)
}

/** Ticks at the top edge, one row per direction. */
function drawOpen(u: uPlot, d: Delays, row: number, colour: string) {
  if (d.open === 0) return
  const { ctx, bbox } = u
  const ratio = uPlot.pxRatio
  const top = bbox.top + (1 + row * 8) * ratio
  ctx.save()
  ctx.fillStyle = colour
  let last = -Infinity
  d.sent.forEach((time, i) => {
    if (!d.unanswered[i]) return
    const x = u.valToPos(time, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width || x - last < 2.5 * ratio) return
    last = x
    ctx.fillRect(x - 0.6 * ratio, top, 1.3 * ratio, 6 * ratio)
  })
  ctx.restore()
}
