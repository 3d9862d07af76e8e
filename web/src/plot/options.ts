// How does a plot's description become uPlot's options?
import uPlot from 'uplot'
import { addMarker } from './markers'
import type { Colours } from './palette'
import type { Axis, Plot, Series } from './spec'

const FONT = '11px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'

interface Hooks {
  /** The cursor moved to this index, or left. */
  cursor: (u: uPlot, index: number | null) => void
  /** The reader chose a time range. */
  select: (from: number, to: number) => void
  reset: () => void
}

/** `current` is asked at each drawing for what moves: data apart, ranges, bands, marks. */
export function options(
  plot: Plot,
  current: () => Plot,
  colours: Colours,
  width: number,
  hooks: Hooks,
): uPlot.Options {
  const isNarrow = width < 420
  return {
    width,
    height: plot.height,
    legend: { show: false },
    padding: [6, 8, 0, 0],
    series: [{}, ...plot.series.map(series)],
    scales: {
      x: scale(plot.x, () => current().x.range),
      y: scale(plot.y, () => current().y.range),
    },
    axes: [
      {
        ...axis(plot.x, colours, (u) => u.bbox.width / uPlot.pxRatio / (isNarrow ? 44 : 52)),
        size: 20,
        labelSize: 17,
        labelGap: 0,
        space: isNarrow ? 44 : 56,
      },
      {
        ...axis(plot.y, colours, (u) => u.bbox.height / uPlot.pxRatio / 20),
        size: 54,
        labelSize: 16,
        labelGap: 0,
        space: plot.height < 150 ? 22 : 30,
      },
    ],
    cursor: {
      y: false,
      points: { show: plot.series.some((s) => s.style !== 'points'), size: 6 },
      drag: { x: plot.isTime ?? false, y: false, setScale: false },
      ...(plot.isTime && { sync: { key: 'time', scales: ['x', null] } }),
      bind: {
        dblclick: () => () => {
          hooks.reset()
          return null
        },
      },
    },
    hooks: {
      drawClear: [
        (u) => {
          drawBands(u, current(), colours)
          current().under?.(u, colours)
        },
      ],
      draw: [
        (u) => {
          drawMarks(u, current(), colours)
          current().draw?.(u, colours)
        },
      ],
      setCursor: [(u) => hooks.cursor(u, (u.cursor.left ?? -1) < 0 ? null : (u.cursor.idx ?? null))],
      setSelect: [
        (u) => {
          const { left, width } = u.select
          if (width < 4) return
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          hooks.select(u.posToVal(left, 'x'), u.posToVal(left + width, 'x'))
        },
      ],
    },
  }
}

function scale(axis: Axis, range: () => [number, number]): uPlot.Scale {
  return {
    time: false,
    distr: axis.log ? 3 : axis.symmetric ? 4 : 1,
    asinh: 1,
    auto: false,
    range: (_u, min, max) => (min == null || max == null ? range() : [min, max]),
    min: axis.range[0],
    max: axis.range[1],
  }
}

/** `room` says how many ticks fit. */
function axis(axis: Axis, colours: Colours, room: (u: uPlot) => number): uPlot.Axis {
  const { tick, splits } = axis
  return {
    label: axis.label,
    font: FONT,
    labelFont: FONT,
    stroke: colours.muted,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { stroke: colours.grid, width: 1, size: 4 },
    gap: 4,
    ...(tick && { values: (_u: uPlot, values: number[]) => values.map((v) => tick(v)) }),
    ...(splits && {
      splits: (u: uPlot, _i: number, low: number, high: number) => splits(low, high, room(u)),
      filter: (_u: uPlot, values: number[]) => values,
    }),
  }
}

function series(s: Series): uPlot.Series {
  const isCross = s.ink.marker === 'cross'
  return {
    label: s.name,
    show: s.shown,
    stroke: s.ink.colour,
    width: s.width ?? 1.5,
    // What lies below is seen.
    alpha: s.style === 'points' ? 0.72 : 1,
    dash: s.ink.dash,
    ...(s.fill && { fill: s.fill as string }),
    ...(s.style === 'points' && { paths: () => null }),
    ...(s.style === 'bars' && uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 60] }) }),
    ...(s.style === 'step' && uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
    points: {
      show: s.style === 'points' || (s.markAt?.length ?? 0) > 0,
      width: isCross ? 1.5 : 0,
      fill: s.ink.colour,
      stroke: s.ink.colour,
      paths: (u, index, from, to) => points(u, index, from, to, s),
    },
  }
}

/** Markers, no two of one series on the same pixel; smaller when there are many. */
function points(
  u: uPlot,
  index: number,
  from: number,
  to: number,
  s: Series,
): uPlot.Series.Points.Paths | null {
  const x = u.data[0]
  const y = u.data[index]
  if (!x || !y) return null
  const path = new Path2D()
  const ratio = uPlot.pxRatio
  const isCloud = s.style === 'points'
  const crowd = (to - from) / Math.max(u.bbox.width / ratio, 1)
  const radius = (isCloud ? (crowd > 4 ? 1.5 : crowd > 1.5 ? 2 : 2.8) : 3.5) * ratio
  const taken = new Set<number>()
  const cell = isCloud ? Math.max(radius * 0.6, 1) : 1
  const indexes = s.markAt ?? { length: to - from + 1 }
  const count = indexes.length
  for (let i = 0; i < count; i++) {
    const at = s.markAt ? (s.markAt[i] ?? 0) : from + i
    const [px, py] = [x[at], y[at]]
    if (px == null || py == null || at < from || at > to) continue
    const cx = u.valToPos(px, 'x', true)
    const cy = u.valToPos(py, 'y', true)
    const key = Math.round(cx / cell) * 65_536 + Math.round(cy / cell)
    if (taken.has(key)) continue
    taken.add(key)
    if (isCloud && crowd > 20) path.rect(cx - ratio, cy - ratio, 2 * ratio, 2 * ratio)
    else addMarker(path, s.ink.marker, cx, cy, radius)
  }
  const clip = new Path2D()
  const { left, top, width, height } = u.bbox
  clip.rect(left - radius, top - radius, width + 2 * radius, height + 2 * radius)
  // Flags: the clip holds for fill and stroke.
  const isCross = s.ink.marker === 'cross'
  return { stroke: isCross ? path : null, fill: isCross ? null : path, clip, flags: 3 }
}

function drawBands(u: uPlot, plot: Plot, colours: Colours) {
  const { ctx, bbox } = u
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (const band of plot.bands ?? []) {
    const left = u.valToPos(band.from, 'x', true)
    const right = u.valToPos(band.to, 'x', true)
    const isBad = band.kind !== 'ended'
    ctx.fillStyle = isBad ? colours.band : colours.ended
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
    ctx.fillStyle = isBad ? colours.bandEdge : colours.grid
    for (const edge of [left, right]) {
      if (edge < bbox.left + bbox.width - 2) ctx.fillRect(edge, bbox.top, uPlot.pxRatio, bbox.height)
    }
  }
  ctx.restore()
}

function drawMarks(u: uPlot, plot: Plot, colours: Colours) {
  const { ctx, bbox } = u
  ctx.save()
  ctx.strokeStyle = colours.decision
  ctx.lineWidth = uPlot.pxRatio
  ctx.setLineDash([2 * uPlot.pxRatio, 3 * uPlot.pxRatio])
  for (const mark of plot.marks ?? []) {
    const x = Math.round(u.valToPos(mark.at, 'x', true)) + 0.5
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}
