// How is the use of each path drawn? Areas stacked by path, upload above zero, download below.
import uPlot from 'uplot'
import { rates } from '../data/decode'
import type { Direction, PathDescription, Run } from '../data/types'
import { short } from './format'
import { pathInk } from './palette'
import type { Band, Mark, Plot, Series } from './spec'

interface Choice {
  run: Run
  name: string
  paths: PathDescription[]
  end: number
  /** Bins drawn as one. */
  every: number
  most: number
  dark: boolean
  surface: string
  hidden: Set<string>
  bands: Band[]
  marks: Mark[]
}

/**
 * What all paths together carried in a bin, in kbit/s, at the most; one range for all panels.
 * A burst after a stall may be twenty times the rest: it is cut rather than the rest flattened.
 */
export function mostUse(runs: Run[], every: number): number {
  const all: number[] = []
  for (const run of runs) {
    for (const direction of ['up', 'down'] as const) {
      const links = run.usage.filter((link) => link.direction === direction)
      const bins = Math.max(0, ...links.map((link) => link.bytes.length))
      const sum = new Float64Array(Math.ceil(bins / every))
      for (const link of links) {
        rates(link.bytes, link.step_ms, every, bins).forEach((rate, i) => (sum[i] = (sum[i] ?? 0) + rate))
      }
      all.push(...sum)
    }
  }
  const busy = Float64Array.from(all.filter((rate) => rate > 0)).sort()
  const usual = (busy[Math.floor(busy.length * 0.99)] ?? 1) * 2
  return Math.max(1, Math.min(busy.at(-1) ?? 1, usual))
}

export function usePlot(c: Choice): Plot {
  const step_ms = c.run.usage[0]?.step_ms ?? 100
  // To the end of the run, and one more: the last bin of a step line has no width.
  const bins =
    Math.max(...c.run.usage.map((link) => link.bytes.length), Math.ceil(c.run.end_ms / step_ms)) + c.every
  const shown = c.paths.filter((path) => !c.hidden.has(path.name))
  const columns: number[][] = []
  const series: Series[] = []
  const alone = new Map<string, number[]>()
  for (const direction of ['up', 'down'] as const) {
    const sign = direction === 'up' ? 1 : -1
    const stack: { path: PathDescription; sums: number[] }[] = []
    let below = new Array<number>(Math.ceil(bins / c.every)).fill(0)
    for (const path of shown) {
      const link = c.run.usage.find((l) => l.path === path.name && l.direction === direction)
      const rate = rates(link?.bytes ?? [], step_ms, c.every, bins)
      alone.set(`${path.name} ${direction}`, rate)
      below = below.map((sum, i) => sum + sign * (rate[i] ?? 0))
      stack.push({ path, sums: below })
    }
    // The highest first, so that those below it are drawn over it.
    for (const { path, sums } of stack.reverse()) {
      const ink = pathInk(c.paths, path.name, c.dark)
      columns.push(sums)
      series.push({
        name: `${path.name} ${direction}`,
        ink: { ...ink, dash: [] },
        shown: true,
        style: 'step',
        width: 1,
        fill: pattern(ink.colour, c.surface, c.paths.indexOf(path) % 2 === 1),
      })
    }
  }
  return {
    name: `Use of each path, ${c.name}`,
    height: 190,
    isTime: true,
    data: [columns[0]?.map((_, i) => (i * c.every * step_ms) / 1e3) ?? [0], ...columns],
    series,
    x: { label: 'time [s]', range: [0, c.end] },
    y: {
      label: 'down ← kbit/s → up',
      range: [-c.most * 1.08, c.most * 1.08],
      tick: (v) => short(Math.abs(v)),
    },
    bands: c.bands,
    marks: c.marks,
    readout: (time) => {
      const index = Math.floor((time * 1e3) / (c.every * step_ms))
      const rate = (path: PathDescription, direction: Direction) =>
        short(alone.get(`${path.name} ${direction}`)?.[index] ?? 0)
      const values = shown.map((path) => `${path.name} ↑ ${rate(path, 'up')} ↓ ${rate(path, 'down')} kbit/s`)
      return [`${time.toFixed(1)} s`, ...values].join(' · ')
    },
    draw: (u, colours) => {
      for (const link of c.run.usage) {
        if (c.hidden.has(link.path)) continue
        const { colour } = pathInk(c.paths, link.path, c.dark)
        const place = c.paths.findIndex((path) => path.name === link.path)
        drawDrops(u, link.direction, place, link.dropped, step_ms, colour)
      }
      // The line between up and down.
      u.ctx.fillStyle = colours.muted
      u.ctx.fillRect(u.bbox.left, Math.round(u.valToPos(0, 'y', true)), u.bbox.width, uPlot.pxRatio)
    },
  }
}

/** Ticks at the top edge for drops on the way up, at the bottom edge for those on the way down. */
function drawDrops(
  u: uPlot,
  direction: Direction,
  place: number,
  dropped: [number, number][],
  step_ms: number,
  colour: string,
) {
  const { ctx, bbox } = u
  const ratio = uPlot.pxRatio
  const inset = (1 + place * 6) * ratio
  const y = direction === 'up' ? bbox.top + inset : bbox.top + bbox.height - inset - 4 * ratio
  ctx.save()
  ctx.fillStyle = colour
  for (const [bin] of dropped) {
    const x = u.valToPos(((bin + 0.5) * step_ms) / 1e3, 'x', true)
    if (x >= bbox.left && x <= bbox.left + bbox.width) ctx.fillRect(x - 0.6 * ratio, y, 1.2 * ratio, 4 * ratio)
  }
  ctx.restore()
}

const patterns = new Map<string, CanvasPattern | string>()

/** A wash of the colour; hatched for every second path, so that it needs no colour to be told. */
function pattern(colour: string, surface: string, hatched: boolean): CanvasPattern | string {
  const key = `${colour} ${surface} ${hatched} ${uPlot.pxRatio}`
  const known = patterns.get(key)
  if (known) return known
  const canvas = document.createElement('canvas')
  const size = Math.round(6 * uPlot.pxRatio)
  canvas.width = canvas.height = size
  const ctx = canvas.getContext('2d')
  if (!ctx) return colour
  ctx.fillStyle = surface
  ctx.fillRect(0, 0, size, size)
  ctx.globalAlpha = 0.28
  ctx.fillStyle = colour
  ctx.fillRect(0, 0, size, size)
  if (hatched) {
    ctx.globalAlpha = 0.9
    ctx.strokeStyle = colour
    ctx.lineWidth = 1.3 * uPlot.pxRatio
    ctx.beginPath()
    for (const shift of [-size, 0, size]) {
      ctx.moveTo(shift, size)
      ctx.lineTo(shift + size, 0)
    }
    ctx.stroke()
  }
  const made = ctx.createPattern(canvas, 'repeat') ?? colour
  patterns.set(key, made)
  return made
}
