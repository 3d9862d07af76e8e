// How is a play-out buffer drawn? Its level over time, and above it the path of the last packet.
import type { PathDescription, Run } from '../data/types'
import { short } from './format'
import { pathInk } from './palette'
import type { Band, Mark, Plot, Stretch } from './spec'

interface Choice {
  run: Run
  name: string
  paths: PathDescription[]
  end: number
  most: number
  dark: boolean
  bands: Band[]
  marks: Mark[]
}

/** The fullest any buffer was, in seconds; one scale for all panels. */
export function mostBuffered(runs: Run[]): number {
  const levels = runs.flatMap((run) => run.buffer?.level_ms ?? [])
  return levels.reduce((most, level) => Math.max(most, level), 100) / 1e3
}

export function bufferPlot(c: Choice): Plot {
  const buffer = c.run.buffer ?? { time_delta_ms: [], level_ms: [], path: [], stalls_ms: [] }
  const time: number[] = []
  let at = 0
  for (const delta of buffer.time_delta_ms) time.push((at += delta) / 1e3)
  const level = buffer.level_ms.map((ms) => ms / 1e3)
  const stalls: Band[] = buffer.stalls_ms.map(([from, to]) => ({
    kind: 'waiting',
    from: from / 1e3,
    to: to / 1e3,
    label: 'stall',
    detail: `nothing to play for ${((to - from) / 1e3).toFixed(2)} s`,
  }))
  const path = (index: number) => c.paths[buffer.path[index] ?? -1]
  const plot: Plot = {
    name: `play-out buffer, ${c.name}`,
    height: 170,
    isTime: true,
    data: time.length > 0 ? [time, level] : [[0], [null]],
    series: [
      {
        name: 'buffer',
        ink: { colour: c.dark ? '#a9b4bf' : '#59636e', dash: [], marker: 'circle' },
        shown: true,
        style: 'line',
        width: 1.4,
      },
    ],
    x: { label: 'time [s]', range: [0, c.end] },
    y: { label: 'to play [s]', range: [0, c.most * 1.06], tick: short },
    bands: [...c.bands, ...stalls],
    marks: c.marks,
    readout: (seconds) => {
      const after = time.findIndex((t) => t > seconds)
      const index = (after < 0 ? time.length : after) - 1
      const held = level[index]
      if (held == null) return `${seconds.toFixed(1)} s`
      const last = path(index)
      return [`${seconds.toFixed(1)} s`, `${held.toFixed(2)} s to play`, last && `last packet over ${last.name}`]
        .filter(Boolean)
        .join(' · ')
    },
  }
  const stretches = stretchesOf(c, time, buffer.path)
  if (stretches.length > 0) plot.strip = { label: 'last packet over', stretches }
  return plot
}

/** Spans in which the last packet came over the same path. */
function stretchesOf(c: Choice, time: number[], places: (number | null)[]): Stretch[] {
  const list: Stretch[] = []
  places.forEach((place, i) => {
    const from = time[i] ?? 0
    const last = list.at(-1)
    if (last) last.to = from
    const path = place == null ? undefined : c.paths[place]
    if (!path || path.name === last?.label) return
    list.push({ from, to: from, label: path.name, ink: pathInk(c.paths, path.name, c.dark), hatched: place === 1 })
  })
  const last = list.at(-1)
  if (last) last.to = Math.max(last.to, c.run.end_ms / 1e3)
  return list
}
