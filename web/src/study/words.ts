// How are a study's numbers and verdicts written?
import { delayText, delayTick, short } from '../plot/format'
import type { Bound, Comparison, Metric, Verdict } from './types'

const BYTES = [
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
] as const

const RATES = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const

/** A value with its unit: `341 ms`, `1.2 MB`, `0.25`. */
export function valueText(value: number, unit: string): string {
  return minus(value, (size) => {
    if (unit === 's') return delayText(size * 1e3)
    if (unit === 'B') return bytes(size, 1)
    return plain(short(size), size, unit)
  })
}

/** The same at an axis' tick: no more digits than the tick has. */
export function valueTick(value: number, unit: string): string {
  return minus(value, (size) => {
    if (unit === 's') return size === 0 ? '0' : delayTick(size * 1e3)
    if (unit === 'B') return bytes(size, 3)
    return plain(Number(size.toPrecision(3)).toLocaleString('en'), size, unit)
  })
}

function minus(value: number, write: (size: number) => string): string {
  return value < 0 ? `−${write(-value)}` : write(value)
}

function plain(text: string, size: number, unit: string): string {
  if (unit === 'bit/s') {
    const [scale, prefix] = RATES.find(([least]) => size >= least) ?? [1, '']
    return `${Number((size / scale).toPrecision(3))} ${prefix}bit/s`
  }
  return unit === '1' || unit === '' ? text : `${text} ${unit}`
}

function bytes(size: number, digits: number): string {
  const [scale, unit] = BYTES.find(([least]) => size >= least) ?? [1, 'B']
  return `${Number((size / scale).toFixed(digits))} ${unit}`
}

/** A ratio, two digits behind the first. */
export function ratioText(ratio: number): string {
  if (ratio >= 10) return ratio.toFixed(1)
  return ratio < 0.1 && ratio > 1e-4 ? ratio.toPrecision(2) : ratio.toFixed(2)
}

/** Before a ratio of which only a bound is known. */
export function boundSign(bound: Bound): string {
  return bound === 'at-most' ? '≤ ' : bound === 'at-least' ? '≥ ' : ''
}

export function pText(p: number): string {
  if (p < 0.001) return '< 0.001'
  return p >= 0.9995 ? '1' : p.toFixed(3)
}

const VERDICTS: Record<Verdict, [sign: string, words: string]> = {
  lower: ['▼', 'lower'],
  higher: ['▲', 'higher'],
  equivalent: ['=', 'equivalent'],
  'no-difference': ['○', 'no difference shown'],
  'too-few': ['…', 'too few blocks'],
  'not-estimable': ['–', 'not estimable'],
}

export function verdictSign(verdict: Verdict): string {
  return VERDICTS[verdict]?.[0] ?? ''
}
export function verdictText(verdict: Verdict): string {
  return VERDICTS[verdict]?.[1] ?? verdict
}

/** A sentence in which no number is parted from its unit at the end of a line, with quotes. */
export function unbroken(sentence: string): string {
  const quoted = sentence.replace(/`([^`]+)`/g, '“$1”')
  return quoted.replace(/(\d) (%|ms|s|kB|MB|GB)(?![\w])/g, '$1\u00a0$2')
}

/** Whether a comparison shows a difference. */
export function isShown(comparison: Comparison): boolean {
  return comparison.verdict === 'lower' || comparison.verdict === 'higher'
}

/** `max delay`, and what it is measured in when the values don't carry it. */
export function axisLabel(metric: Metric, log: boolean): string {
  return `${metric.heading}${log ? ' (log)' : ''}`
}
