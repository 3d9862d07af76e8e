// How are counts drawn, one bar each in a given order?
import { short } from './format'
import { directionInk } from './palette'
import type { Plot } from './spec'

interface Choice {
  name: string
  bars: { name: string; value: number }[]
  /** What is counted. */
  unit: string
  dark: boolean
}

export function barsPlot(c: Choice): Plot {
  const most = Math.max(1, ...c.bars.map((bar) => bar.value))
  const { colour } = directionInk('up', c.dark)
  const total = c.bars.reduce((sum, bar) => sum + bar.value, 0)
  return {
    name: `${c.name}: ${short(total)} ${c.unit} in all, at most ${short(most)}`,
    height: 220,
    data: [c.bars.map((_, i) => i), c.bars.map((bar) => bar.value)],
    series: [
      {
        name: c.unit,
        ink: { colour, dash: [], marker: 'square' },
        shown: true,
        style: 'bars',
        width: 0,
        fill: colour,
        text: (v) => `${short(v)} ${c.unit}`,
      },
    ],
    x: {
      label: '',
      range: [-0.7, c.bars.length - 0.3],
      tick: (i) => c.bars[i]?.name.replace(/^\d{4}-/, '') ?? '',
      splits: (_low, _high, room) => {
        const step = Math.max(1, Math.ceil(c.bars.length / Math.max(room, 2)))
        return c.bars.flatMap((_, i) => ((c.bars.length - 1 - i) % step === 0 ? [i] : []))
      },
    },
    y: { label: c.unit, range: [0, most * 1.08], tick: short, splits: (_low, high, room) => counts(high, room) },
    readout: (_x, index) => {
      const bar = c.bars[index]
      return bar ? `${bar.name} · ${short(bar.value)} ${c.unit}` : ''
    },
  }
}

/** Whole numbers from 0 to `high`, in round steps, as many as there is room for. */
function counts(high: number, room: number): number[] {
  const least = Math.max(high / Math.max(room / 2, 1), 1)
  const decade = 10 ** Math.floor(Math.log10(least))
  const step = ([1, 2, 5].find((n) => n * decade >= least) ?? 10) * decade
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step)
}
