// How are a paper's numbers and a study's drawn together: a line each, the paper's dashed?
import { align } from '../data/decode'
import type { PaperCurve, PaperFigure } from '../study/types'
import { padded, spansDecade } from '../study/curves'
import { axisLabel, valueText, valueTick } from '../study/words'
import { logSplits } from './format'
import type { Ink, Marker } from './palette'
import type { Plot, Series } from './spec'
import { drawWhiskers, type Whisker } from './uncertainty'

const COLOURS: [light: string, dark: string][] = [
  ['#0072b2', '#5fb4ef'],
  ['#d55e00', '#ff9a52'],
  ['#00876a', '#35c9a3'],
  ['#b0488f', '#e58ac6'],
  ['#8a6d00', '#e0bf3f'],
  ['#59636e', '#a9b4bf'],
]
const MARKERS: Marker[] = ['circle', 'square', 'triangle', 'diamond', 'down', 'circle']

/** The ink of a curve, by its place: ours. */
export function curveInk(place: number, dark: boolean): Ink {
  const [light, night] = COLOURS[place % COLOURS.length] ?? ['#000', '#fff']
  return { colour: dark ? night : light, dash: [], marker: MARKERS[place % MARKERS.length] ?? 'circle' }
}

/** The same for the paper's numbers. */
export function paperInk(ink: Ink): Ink {
  return { ...ink, dash: [3, 4], marker: 'cross' }
}

/** All numbers of a figure, with the ends of their intervals. */
export function extentOf(figure: PaperFigure): [number, number] | null {
  const all = figure.curves.flatMap((c) => [
    ...c.ours.flatMap((p) => [p.value, p.low, p.high ?? p.value]),
    ...c.paper.map((p) => p.value),
  ])
  return all.length > 0 ? [Math.min(...all), Math.max(...all)] : null
}

/** `hidden` names the curves that are not shown. */
export function paperPlot(figure: PaperFigure, dark: boolean, hidden: Set<string>): Plot | null {
  const extent = extentOf(figure)
  if (!extent) return null
  const isLog = spansDecade(extent)
  const hasArrows = figure.curves.some((c) => c.ours.some((p) => p.bound || p.high === null))
  const { unit } = figure.metric
  const places = figure.numbers ?? figure.ticks.map((_, i) => i)
  const [least, most] = [Math.min(...places), Math.max(...places)]
  const isLogX = figure.numbers !== null && least > 0 && most / least > 10
  const width = isLogX ? Math.log(most / least) || 1 : most - least || 1
  const move = (x: number, share: number) => (isLogX ? x * Math.exp(share * width) : x + share * width)
  // Side by side, the paper's beside ours, so that none hides another.
  const step = 0.07 / Math.max(2 * figure.curves.length, 6)
  const at = (tick: number, curve: number, isPaper: boolean) => {
    const slot = figure.along === null ? (isPaper ? 1 : 0) - 0.5 : 2 * curve + (isPaper ? 1 : 0) - figure.curves.length + 0.5
    return move(places[tick] ?? 0, slot * step)
  }
  const lines = figure.curves.flatMap((curve, i) => [
    { time: curve.ours.map((p) => at(p.at, i, false)), value: curve.ours.map((p) => p.value) },
    { time: curve.paper.map((p) => at(p.at, i, true)), value: curve.paper.map((p) => p.value) },
  ])
  const [x, ...columns] = align(lines, false)
  const text = (v: number) => valueText(v, unit)
  const series = figure.curves.flatMap((curve, i): Series[] => {
    const ink = curveInk(i, dark)
    const shown = !hidden.has(curve.name)
    const marks = (of: { at: number }[], isPaper: boolean) => of.map((p) => x.indexOf(at(p.at, i, isPaper)))
    return [
      { name: curve.name, ink, shown, style: 'line', width: 1.5, markAt: marks(curve.ours, false), text },
      { name: `${curve.name}, paper`, ink: paperInk(ink), shown, style: 'line', width: 1.2, markAt: marks(curve.paper, true), text },
    ]
  })
  const whiskers = figure.curves.flatMap((curve, i): Whisker[] =>
    hidden.has(curve.name)
      ? []
      : curve.ours.map((p) => ({
          x: at(p.at, i, false),
          y: p.value,
          low: p.low,
          high: p.high,
          bound: p.bound,
          colour: curveInk(i, dark).colour,
        })),
  )
  return {
    name: `${figure.title}: the study's and the paper's numbers`,
    height: 300,
    data: [x, ...columns.map((column) => column.map((v) => v ?? undefined))],
    series,
    x: {
      label: figure.along ? `${figure.along}${isLogX ? ' (log)' : ''}` : '',
      log: isLogX,
      range: [move(least, -0.1), move(most, 0.1)],
      tick: (v) => figure.ticks[places.indexOf(v)] ?? '',
      splits: () => places.toSorted((a, b) => a - b),
    },
    y: {
      label: `${figure.statistic} ${axisLabel(figure.metric, isLog)}`,
      log: isLog,
      range: padded(extent, isLog, hasArrows),
      tick: (v) => valueTick(v, unit),
      ...(isLog && { splits: logSplits }),
    },
    readout: (near) => {
      const far = (place: number) => Math.abs(isLogX ? Math.log(place / near) : place - near)
      const tick = places.reduce((best, place, i) => (far(place) < far(places[best] ?? Infinity) ? i : best), 0)
      const words = figure.curves.filter((c) => !hidden.has(c.name)).flatMap((c) => told(c, tick, text))
      return [figure.along ? `${figure.along} ${figure.ticks[tick]}` : '', ...words].filter(Boolean).join(' · ')
    },
    draw: (u) => drawWhiskers(u, whiskers, devicePixelRatio),
  }
}

/** `follow 270 ms, paper 275 ms` */
function told(curve: PaperCurve, tick: number, text: (v: number) => string): string[] {
  const ours = curve.ours.find((p) => p.at === tick)
  const paper = curve.paper.find((p) => p.at === tick)
  const parts = [
    ...(ours ? [`${ours.bound ? '≥ ' : ''}${text(ours.value)}`] : []),
    ...(paper ? [`paper ${text(paper.value)}`] : []),
  ]
  return parts.length > 0 ? [`${curve.name} ${parts.join(', ')}`] : []
}
