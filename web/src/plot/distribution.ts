// How are the runs of each arm distributed in one case: a plot of step functions with bands?
import { align } from '../data/decode'
import { as, type Drawn } from '../study/curves'
import type { Metric } from '../study/types'
import { axisLabel, valueTick } from '../study/words'
import { logSplits, symmetricSplits } from './format'
import type { Ink } from './palette'
import type { Plot } from './spec'
import { drawAreas } from './uncertainty'

interface Choice {
  name: string
  metric: Metric
  kind: 'cdf' | 'survival'
  arms: { name: string; ink: Ink; shown: boolean; curve: Drawn | null }[]
  range: [number, number]
  log: boolean
  /** Logarithmic both ways from zero, linear around it: for values of either sign. */
  isSymmetric?: boolean
}

export function distributionPlot(c: Choice): Plot {
  const isSurvival = c.kind === 'survival'
  const arms = c.arms.map((arm) => ({ ...arm, curve: arm.curve && as(c.kind, arm.curve) }))
  // A curve starts at the left edge with all or nothing. Once everything has happened it stays
  // there; what was censored ends where the last run did.
  const until = (curve: Drawn) => (curve.censored > 0 ? curve.end : c.range[1])
  const [x, ...columns] = align(
    arms.map(({ curve }) => {
      if (!curve) return { time: [], value: [] }
      const start = isSurvival ? 1 : 0
      return {
        time: [c.range[0], ...curve.x, until(curve)],
        value: [start, ...curve.y, curve.y.at(-1) ?? start],
      }
    }),
    true,
  )
  return {
    name: `${isSurvival ? 'Survival curves' : 'Cumulative distributions'} of ${c.metric.heading}, ${c.name}`,
    height: 300,
    data: [x, ...columns],
    series: arms.map(({ name, ink, shown, curve }, i) => ({
      name,
      ink,
      shown,
      style: 'step' as const,
      width: 1.8,
      markAt: curve ? marks(x, columns[i] ?? [], curve, i, arms.length) : [],
      text: (v: number) => `${(v * 100).toFixed(0)} %`,
    })),
    x: {
      label: axisLabel(c.metric, c.log),
      log: c.log,
      ...(c.isSymmetric && { symmetric: true, splits: symmetricSplits }),
      range: c.range,
      tick: (v) => valueTick(v, c.metric.unit),
      ...(c.log && { splits: inside }),
    },
    y: {
      label: isSurvival ? 'runs still above' : 'runs at or below',
      range: [0, 1.03],
      tick: (v) => `${Math.round(v * 100)} %`,
      splits: () => [0, 0.25, 0.5, 0.75, 1],
    },
    under: (u) =>
      drawAreas(
        u,
        arms.flatMap(({ ink, shown, curve }) =>
          shown && curve ? [{ ...curve, colour: ink.colour, until: curve.end }] : [],
        ),
      ),
    draw: (u, colours) => {
      // A bar where a curve ends with runs that were still waiting.
      const { ctx } = u
      ctx.save()
      ctx.strokeStyle = colours.text
      ctx.lineWidth = 2
      arms.forEach(({ shown, curve }, i) => {
        if (!shown || !curve || curve.censored === 0) return
        const y = columns[i]?.[x.indexOf(until(curve))]
        if (y == null) return
        const [cx, cy] = [u.valToPos(curve.end, 'x', true), u.valToPos(y, 'y', true)]
        ctx.beginPath()
        ctx.moveTo(cx, cy - 9)
        ctx.lineTo(cx, cy + 9)
        ctx.stroke()
      })
      ctx.restore()
    },
  }
}

/** Ticks whose words do not reach beyond the right edge. */
function inside(low: number, high: number, room: number): number[] {
  return logSplits(low, high, room).filter((v) => Math.log(v / low) < 0.97 * Math.log(high / low))
}

/** A few places along a curve for its marker, other ones for each arm. */
function marks(x: number[], y: (number | null)[], curve: Drawn, place: number, of: number): number[] {
  const shift = ((place + 0.5) / of) * 0.25
  const least = Math.min(...curve.y)
  const most = Math.max(...curve.y)
  const wanted = [0, 0.25, 0.5, 0.75].map((share) => least + (share + shift) * (most - least))
  const falls = curve.kind === 'survival'
  return [...new Set(wanted.map((share) => y.findIndex((v) => v != null && (falls ? v <= share : v >= share))))].filter(
    (i) => i >= 0 && i < x.length,
  )
}
