// How is one property of a path's links drawn over time?
import { align, downSpans, linkLine, type LinkField } from '../data/decode'
import type { LinkSeries, Run } from '../data/types'
import { short } from './format'
import { directionInk } from './palette'
import type { Band, Plot } from './spec'

export const LINK_FIELDS: { field: LinkField; label: string; unit: string; isOptional: boolean }[] = [
  { field: 'rate', label: 'rate', unit: 'Mbit/s', isOptional: false },
  { field: 'delay', label: 'delay', unit: 'ms', isOptional: false },
  { field: 'loss', label: 'loss', unit: '%', isOptional: true },
  { field: 'queue', label: 'queue', unit: 'kB', isOptional: true },
  { field: 'signal', label: 'signal', unit: 'dBm', isOptional: true },
]

/** The least and the most of a field over all links, with room around; `null` without values. */
export function fieldRange(links: LinkSeries[], field: LinkField, end_ms: number): [number, number] | null {
  const values = links
    .flatMap((link) => linkLine(link, field, end_ms).value)
    .filter((v): v is number => v != null)
  if (values.length === 0) return null
  const [least, most] = values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity])
  if (field === 'signal') return [Math.floor(least / 5) * 5 - 2, Math.ceil(most / 5) * 5 + 2]
  return [0, most > 0 ? most * 1.12 : 1]
}

interface Choice {
  run: Run
  path: string
  field: (typeof LINK_FIELDS)[number]
  range: [number, number]
  end: number
  dark: boolean
  hidden: Set<string>
}

export function linkPlot(c: Choice): Plot {
  const links = c.run.links.filter((link) => link.path === c.path)
  const end_ms = c.run.end_ms
  const [time, ...columns] = align(
    links.map((link) => linkLine(link, c.field.field, end_ms)),
    true,
  )
  return {
    name: `${c.field.label} of ${c.path}`,
    height: 122,
    isTime: true,
    data: [time, ...columns],
    series: links.map((link) => ({
      name: link.direction,
      ink: directionInk(link.direction, c.dark),
      shown: !c.hidden.has(link.direction),
      style: 'step' as const,
      width: link.direction === 'up' ? 2.4 : 1.6,
      text: (v: number) => `${short(v)} ${c.field.unit}`,
    })),
    x: { label: 'time [s]', range: [0, c.end] },
    y: { label: `${c.field.label} [${c.field.unit}]`, range: c.range, tick: short },
    bands: downBands(links, end_ms),
  }
}

function downBands(links: LinkSeries[], end_ms: number): Band[] {
  const spans = links.map((link) => downSpans(link, end_ms))
  const same = spans.every((list) => JSON.stringify(list) === JSON.stringify(spans[0]))
  return (same ? links.slice(0, 1) : links).flatMap((link) =>
    downSpans(link, end_ms).map(([from, to]) => {
      const what = same ? 'down' : `down for ${link.direction} packets`
      return { kind: 'failure' as const, from, to, label: what, detail: `${link.path} is ${what}, ${from.toFixed(2)} to ${to.toFixed(2)} s` }
    }),
  )
}
