// How is uncertainty drawn: a band around a step function, a whisker through a point?
import type uPlot from 'uplot'

/** A band between two step functions, each value holding until the next x. */
export interface Area {
  x: number[]
  low: (number | null)[]
  high: (number | null)[]
  colour: string
}

/** An interval at a point. */
export interface Whisker {
  x: number
  y: number
  low: number | null
  high: number | null
  colour: string
  /** The value is only a lower bound: an arrow shows that it may be higher. */
  bound: boolean
}

const OPACITY = 0.13

function clipped(u: uPlot, draw: (ctx: CanvasRenderingContext2D) => void) {
  const { ctx, bbox } = u
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  draw(ctx)
  ctx.restore()
}

/** `until` is where the last value ends. */
export function drawAreas(u: uPlot, areas: (Area & { until: number })[]) {
  clipped(u, (ctx) => {
    ctx.globalAlpha = OPACITY
    for (const area of areas) {
      const known = area.x.flatMap((x, i) => {
        const [low, high] = [area.low[i], area.high[i]]
        return low == null || high == null ? [] : [{ x, low, high }]
      })
      if (known.length === 0) continue
      ctx.fillStyle = area.colour
      const at = (x: number) => u.valToPos(x, 'x', true)
      const up = (y: number) => u.valToPos(y, 'y', true)
      const path = new Path2D()
      const end = (i: number) => at(known[i + 1]?.x ?? area.until)
      path.moveTo(at(known[0]?.x ?? 0), up(known[0]?.high ?? 0))
      known.forEach(({ x, high }, i) => {
        path.lineTo(at(x), up(high))
        path.lineTo(end(i), up(high))
      })
      for (let i = known.length - 1; i >= 0; i--) {
        const { x, low } = known[i] ?? { x: 0, low: 0 }
        path.lineTo(end(i), up(low))
        path.lineTo(at(x), up(low))
      }
      path.closePath()
      ctx.fill(path)
    }
  })
}

export function drawWhiskers(u: uPlot, whiskers: Whisker[], ratio: number) {
  clipped(u, (ctx) => {
    ctx.lineWidth = 1.5 * ratio
    for (const { x, y, low, high, colour, bound } of whiskers) {
      ctx.strokeStyle = colour
      ctx.fillStyle = colour
      const cx = u.valToPos(x, 'x', true)
      const from = u.valToPos(low ?? y, 'y', true)
      const isOpen = bound || high == null
      const to = u.valToPos(high ?? y, 'y', true) - (isOpen ? 16 * ratio : 0)
      const cap = 4 * ratio
      ctx.beginPath()
      ctx.moveTo(cx, from)
      ctx.lineTo(cx, to)
      ctx.moveTo(cx - cap, from)
      ctx.lineTo(cx + cap, from)
      if (!isOpen) {
        ctx.moveTo(cx - cap, to)
        ctx.lineTo(cx + cap, to)
      }
      ctx.stroke()
      if (isOpen) {
        ctx.beginPath()
        ctx.moveTo(cx, to - 3 * ratio)
        ctx.lineTo(cx - cap, to + 4 * ratio)
        ctx.lineTo(cx + cap, to + 4 * ratio)
        ctx.closePath()
        ctx.fill()
      }
    }
  })
}
