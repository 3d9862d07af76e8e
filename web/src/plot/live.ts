// How is a running test drawn? The last minute, moving: a point per message, and what happened then.
import type { Track } from '../dashboard/live/track'
import type { Direction } from '../data/types'
import { rangeOver } from './delay'
import { delayText, delayTick, logSplits } from './format'
import { directionInk, pathInk } from './palette'
import type { Band, Mark, Plot, Stretch } from './spec'

/** Seconds that are shown. */
export const WINDOW = 60

const DIRECTIONS: Direction[] = ['up', 'down']

interface Choice {
  track: Track
  name: string
  /** Where the run is now, in seconds. */
  now: number
  dark: boolean
  hidden: Set<string>
}

export function livePlot(c: Choice): Plot {
  const from = Math.max(c.now - WINDOW, 0)
  // A run that has ended needs no room for what is to come.
  const to = c.track.ended === null ? from + WINDOW : Math.max(c.now, from + 0.1)
  const rows = DIRECTIONS.flatMap((direction) =>
    c.track.points[direction].filter((p) => p.sent >= from - 1).map((p) => ({ ...p, direction })),
  ).sort((a, b) => a.sent - b.sent)
  const delays = rows.map((p) => p.delay)
  const waited = c.track.waitingSince === null ? 0 : (c.now - c.track.waitingSince) * 1e3
  const least = delays.reduce((a, b) => Math.min(a, b), Infinity)
  const most = delays.reduce((a, b) => Math.max(a, b), waited)
  const waits: Band[] = c.track.stalls
    .filter((stall) => stall.to > from)
    .map((stall) => ({
      kind: 'waiting',
      ...stall,
      label: 'waiting',
      detail: `${stall.from.toFixed(1)} s: messages waited for ${(stall.to - stall.from).toFixed(1)} s`,
    }))
  const outages: Band[] = c.track.outages
    .filter((outage) => (outage.to ?? Infinity) > from)
    .map((outage) => ({
      kind: 'ended',
      from: outage.from,
      to: outage.to ?? c.now,
      label: `${outage.path} away`,
      detail: `${outage.from.toFixed(1)} s: ${outage.path} away${outage.to === null ? '' : ` until ${outage.to.toFixed(1)} s`}`,
    }))
  const marks: Mark[] = c.track.decisions
    .filter((decision) => decision.at >= from)
    .map((decision) => ({ at: decision.at, label: decision.what, detail: decision.cause }))
  return {
    key: `${c.name} ${[...c.hidden].join(' ')}`,
    name: `Delay of the messages of the last minute, ${c.name}`,
    height: 230,
    data: [
      rows.map((p) => p.sent),
      ...DIRECTIONS.map((direction) => rows.map((p) => (p.direction === direction ? Math.max(p.delay, 0.05) : null))),
    ],
    series: DIRECTIONS.map((direction) => ({
      name: direction,
      ink: directionInk(direction, c.dark),
      shown: !c.hidden.has(direction),
      style: 'points' as const,
    })),
    x: { label: 'time since the start [s]', range: [from, to], tick: (v) => v.toFixed(0) },
    y: {
      label: 'delay (log)',
      log: true,
      range: rangeOver(Math.max(Math.min(least, most), 0.1), most, true),
      tick: delayTick,
      splits: logSplits,
    },
    bands: [...outages, ...waits],
    marks,
    strip: { label: 'path in use', stretches: stretches(c) },
    readout: (_x, index) => {
      const point = rows[index]
      return point ? `${point.sent.toFixed(2)} s · ${point.direction} ${delayText(point.delay)}` : ''
    },
  }
}

function stretches(c: Choice): Stretch[] {
  const paths = c.track.paths.map((name) => ({ name }))
  return c.track.uses.map((use, i) => ({
    from: use.from,
    // What was not heard of for longer than that is not known.
    to: c.track.uses[i + 1]?.from ?? Math.min(c.now, c.track.time + 1),
    label: use.path,
    ink: pathInk(paths, use.path, c.dark),
    hatched: paths.findIndex(({ name }) => name === use.path) % 2 === 1,
  }))
}
