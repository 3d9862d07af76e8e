// How are the radios drawn over time? Their power, the energy so far, and the packets of cellular.
import { align, gridLine, type Line } from '../data/decode'
import type { PathDescription, RadioStates, Run } from '../data/types'
import { short } from './format'
import { pathInk } from './palette'
import type { Band, Mark, Plot, Series } from './spec'

export const ENERGY_VIEWS = [
  ['power', 'power'],
  ['energy', 'energy so far'],
  ['packets', 'cellular packets'],
] as const

export type EnergyView = (typeof ENERGY_VIEWS)[number][0]

interface Choice {
  run: Run
  name: string
  view: EnergyView
  paths: PathDescription[]
  end: number
  most: number
  dark: boolean
  hidden: Set<string>
  bands: Band[]
  marks: Mark[]
}

/** Power in mW from each change on; a radio holds it until the next. */
export function powerLine(radio: RadioStates, end_ms: number): Line {
  const time: number[] = []
  const value: (number | null)[] = []
  let at = 0
  radio.time_delta_ms.forEach((delta, i) => {
    at += delta
    time.push(at / 1e3)
    value.push((radio.states[radio.state[i] ?? 0]?.power_100uw ?? 0) / 10)
  })
  time.push(Math.max(end_ms, at) / 1e3)
  value.push(value.at(-1) ?? null)
  return { time, value }
}

/** Energy in J from the start on, at each change of power. */
export function energyLine(radio: RadioStates, end_ms: number): Line {
  const power = powerLine(radio, end_ms)
  let sum = 0
  const value = power.time.map((time, i) => {
    const before = power.time[i - 1] ?? 0
    sum += ((time - before) * (power.value[i - 1] ?? 0)) / 1e3
    return sum
  })
  return { time: power.time, value }
}

/** The largest value of any run, so that all panels have one scale. */
export function mostEnergy(runs: Run[], view: EnergyView): number {
  if (view === 'packets') return 100
  const line = view === 'power' ? powerLine : energyLine
  const values = runs.flatMap((run) => run.radios.flatMap((radio) => line(radio, run.end_ms).value))
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 1)
}

export function energyPlot(c: Choice): Plot {
  const radios = c.run.radios.filter((radio) => !c.hidden.has(radio.path))
  const lines = c.view === 'packets' ? [gridLine(c.run.cellular_packets_e4, 0.01)] : radios.map((radio) => of(c, radio))
  const [time, ...columns] = c.view === 'energy' ? between(lines) : align(lines, true)
  const cellular = c.paths.find((path) => path.kind === 'cellular')
  const series: Series[] =
    c.view === 'packets'
      ? [
          {
            name: 'cellular',
            ink: pathInk(c.paths, cellular?.name ?? '', c.dark),
            shown: true,
            style: 'line',
            text: (v) => `${short(v)} % of all packets so far`,
          },
        ]
      : radios.map((radio) => ({
          name: radio.path,
          ink: pathInk(c.paths, radio.path, c.dark),
          shown: true,
          style: c.view === 'power' ? ('step' as const) : ('line' as const),
          width: 1.4,
        }))
  const label = { power: 'power [mW]', energy: 'energy [J]', packets: 'cellular packets [%]' }[c.view]
  const plot: Plot = {
    name: `${label} of the radios, ${c.name}`,
    height: 170,
    isTime: true,
    data: time.length > 0 ? [time, ...columns] : [[0], ...series.map(() => [null])],
    series,
    x: { label: 'time [s]', range: [0, c.end] },
    y: { label, range: [0, c.most * 1.06], tick: short },
    bands: c.bands,
    marks: c.marks,
  }
  if (c.view !== 'packets') plot.readout = (at) => [`${at.toFixed(1)} s`, ...radios.map((r) => words(c, r, at))].join(' · ')
  return plot
}

/** Lines on one common time axis, straight between their points. */
function between(lines: Line[]): [number[], ...(number | null)[][]] {
  const times = Array.from(Float64Array.from(new Set(lines.flatMap((line) => line.time))).sort())
  const columns = lines.map((line) => {
    let next = 0
    return times.map((time) => {
      while (next < line.time.length && (line.time[next] ?? Infinity) < time) next++
      const [to, from] = [line.time[next], line.time[next - 1]]
      const [high, low] = [line.value[next], line.value[next - 1]]
      if (to === time) return high ?? null
      if (to == null || from == null || high == null || low == null) return null
      return low + ((high - low) * (time - from)) / (to - from)
    })
  })
  return [times, ...columns]
}

function of(c: Choice, radio: RadioStates): Line {
  const end_ms = c.run.end_ms
  return c.view === 'power' ? powerLine(radio, end_ms) : energyLine(radio, end_ms)
}

/** What a radio is doing at a moment, and what that takes. */
function words(c: Choice, radio: RadioStates, seconds: number): string {
  let at = 0
  let place = -1
  for (const delta of radio.time_delta_ms) {
    at += delta
    if (at / 1e3 > seconds) break
    place++
  }
  const state = radio.states[radio.state[place] ?? -1]
  if (!state || seconds * 1e3 > c.run.end_ms) return `${radio.path} –`
  const power = `${radio.path} ${state.name} ${short(state.power_100uw / 10)} mW`
  if (c.view === 'power') return power
  const line = energyLine(radio, c.run.end_ms)
  const from = line.time[place] ?? 0
  const sum = (line.value[place] ?? 0) + ((seconds - from) * state.power_100uw) / 1e4
  return `${power}, ${short(sum)} J so far`
}
