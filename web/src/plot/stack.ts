// How is the state of a stack's paths drawn over time?
import { align, gridLine } from '../data/decode'
import type { Grid, PathDescription, PathSamples, Run, Side } from '../data/types'
import { delayText, delayTick, logSplits, short } from './format'
import { pathInk, type Ink } from './palette'
import type { Band, Mark, Plot } from './spec'

export interface StackField {
  title: string
  short: string
  unit: string
  grid: (samples: PathSamples) => Grid
  scale: number
  isDelay: boolean
}

export const STACK_FIELDS: StackField[] = [
  { title: 'smoothed RTT', short: 'SRTT', unit: 'ms', grid: (s) => s.srtt_100us, scale: 0.1, isDelay: true },
  { title: 'RTO or PTO', short: 'RTO', unit: 'ms', grid: (s) => s.rto_ms, scale: 1, isDelay: true },
  { title: 'congestion window', short: 'cwnd', unit: 'kB', grid: (s) => s.cwnd_bytes, scale: 1e-3, isDelay: false },
  { title: 'in flight', short: 'in flight', unit: 'kB', grid: (s) => s.in_flight_bytes, scale: 1e-3, isDelay: false },
]

/** The paths of the connections of one side; the colour is the path, the dash the connection. */
export function stackViews(run: Run, side: Side): PathSamples[] {
  return run.samples.filter((s) => s.side === side && s.path !== undefined)
}

export function viewKey(s: PathSamples): string {
  return `${s.path} ${s.connection}`
}

export function viewInk(s: PathSamples, paths: PathDescription[], dark: boolean): Ink {
  const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]]
  return { ...pathInk(paths, s.path ?? '', dark), dash: dashes[s.connection % dashes.length] ?? [] }
}

interface Choice {
  run: Run
  side: Side
  field: StackField
  paths: PathDescription[]
  end: number
  dark: boolean
  hidden: Set<string>
  bands: Band[]
  marks: Mark[]
}

/** `null` when the stack does not report the field. */
export function stackPlot(c: Choice): Plot | null {
  const views = stackViews(c.run, c.side)
  const lines = views.map((view) => gridLine(c.field.grid(view), c.field.scale))
  const values = lines.flatMap((line) => line.value).filter((v): v is number => v != null)
  if (values.length === 0) return null
  const positive = values.filter((v) => v > 0)
  const least = positive.reduce((a, b) => Math.min(a, b), Infinity)
  const most = positive.reduce((a, b) => Math.max(a, b), 0)
  const isLog = c.field.isDelay && positive.length > 0
  const [time, ...columns] = align(lines, false)
  return {
    name: `${c.field.title} of ${c.run.transport} ${c.run.policy}, ${c.side}`,
    height: 190,
    isTime: true,
    data: [time, ...columns],
    series: views.map((view) => {
      const ink = viewInk(view, c.paths, c.dark)
      return {
        name: `${view.path}${views.some((v) => v.connection !== view.connection) ? ` #${view.connection}` : ''}`,
        ink,
        shown: !c.hidden.has(viewKey(view)),
        style: 'line' as const,
        markAt: spread(time.length, view.connection),
        text: c.field.isDelay ? delayText : (v: number) => `${short(v)} ${c.field.unit}`,
      }
    }),
    x: { label: 'time [s]', range: [0, c.end] },
    y: isLog
      ? { label: `${c.field.short} (log)`, log: true, range: [least * 0.7, most * 1.5], tick: delayTick, splits: logSplits }
      : { label: `${c.field.short} [${c.field.unit}]`, range: [0, (most || 1) * 1.1], tick: short },
    bands: c.bands,
    marks: c.marks,
  }
}

/** A marker now and then. */
function spread(length: number, shift: number): number[] {
  const every = Math.max(Math.floor(length / 9), 1)
  const indexes: number[] = []
  for (let i = Math.floor(every / 2) + shift * Math.floor(every / 5); i < length; i += every) indexes.push(i)
  return indexes
}
