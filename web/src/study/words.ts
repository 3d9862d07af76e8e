// How are a study's numbers and verdicts written?
import { delayText, delayTick, short } from '../plot/format'
import type { Comparison, Metric, Verdict } from './types'

const BYTES = [
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
] as const

/** A value with its unit: `341 ms`, `1.2 MB`, `0.25`. */
export function valueText(value: number, unit: string): string {
  return minus(value, (size) => {
    if (unit === 's') return delayText(size * 1e3)
    if (unit === 'B') return bytes(size, 1)
    return unit === '1' || unit === '' ? short(size) : `${short(size)} ${unit}`
  })
}

/** The same at an axis' tick: no more digits than the tick has. */
export function valueTick(value: number, unit: string): string {
  return minus(value, (size) => {
    if (unit === 's') return size === 0 ? '0' : delayTick(size * 1e3)
    if (unit === 'B') return bytes(size, 3)
    const text = Number(size.toPrecision(3)).toLocaleString('en')
    return unit === '1' || unit === '' ? text : `${text} ${unit}`
  })
}

function minus(value: number, write: (size: number) => string): string {
  return value < 0 ? `−${write(-value)}` : write(value)
}

function bytes(size: number, digits: number): string {
  const [scale, unit] = BYTES.find(([least]) => size >= least) ?? [1, 'B']
  return `${Number((size / scale).toFixed(digits))} ${unit}`
}

/** A ratio, two digits behind the first. */
export function ratioText(ratio: number): string {
  if (ratio >= 10) return ratio.toFixed(1)
  return ratio < 0.1 ? String(Number(ratio.toPrecision(2))) : ratio.toFixed(2)
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

/** Whether a comparison shows a difference. */
export function isShown(comparison: Comparison): boolean {
  return comparison.verdict === 'lower' || comparison.verdict === 'higher'
}

/** `max delay`, and what it is measured in when the values don't carry it. */
export function axisLabel(metric: Metric, log: boolean): string {
  return `${metric.heading}${log ? ' (log)' : ''}`
}
