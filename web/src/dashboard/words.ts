// How are the collector's values written for people?
import { delayText } from '../plot/format'
import { valueText } from '../study/words'
import type { Arm, MetricValue, RunSummary } from './types'

/** `mptcp backup`; what has one path has no policy to name. */
export function armText(arm: Arm): string {
  return arm.policy === 'single' ? arm.transport : `${arm.transport} ${arm.policy}`
}

/** As a study names arms: what `armInks` reads. */
export function armLabel(arm: Arm): string {
  return armText(arm).replaceAll(' ', '-')
}

/** `2026-11-21 13:44`, in UTC. */
export function minute(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? time : date.toISOString().slice(0, 16).replace('T', ' ')
}

/** How long ago, roughly. */
export function ago(time: string, now: number): string {
  const seconds = Math.round((now - new Date(time).getTime()) / 1000)
  if (!Number.isFinite(seconds)) return time
  if (seconds < 1) return 'now'
  if (seconds < 120) return `${seconds} s ago`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`
}

/** The first digits of an id, as many as people tell apart. */
export function shortId(id: string): string {
  return id.length > 12 ? `${id.slice(0, 8)}…` : id
}

/** A column of the explorer. */
export interface MetricColumn {
  name: string
  heading: string
  /** `s`, or a word. */
  unit: 's' | 'word'
  title: string
}

/** Those of the metrics that are worth a column; the run's page has all. */
export const METRIC_COLUMNS: MetricColumn[] = [
  { name: 'delay-max-up', heading: 'longest delay up', unit: 's', title: 'longest application delay of a message from the client' },
  { name: 'delay-max-down', heading: 'longest delay down', unit: 's', title: 'longest application delay of a message from the server' },
  { name: 'completion-time', heading: 'completion', unit: 's', title: 'from the first request to the last byte of the last answer' },
  { name: 'handover-sent', heading: 'handover', unit: 's', title: 'first cellular data sent to the last packet sent over Wi-Fi; negative when abrupt' },
  { name: 'cellular-cause', heading: 'cellular because', unit: 'word', title: 'why cellular was first used' },
]

export function metricText(value: MetricValue | undefined, column: MetricColumn): string | null {
  if (value === undefined) return null
  if (typeof value === 'string') return column.name === 'cellular-cause' ? causeText(value) : value
  return `${value.censored ? '≥ ' : ''}${column.unit === 's' ? valueText(value.value, 's') : value.value}`
}

export function isCensored(value: MetricValue | undefined): boolean {
  return typeof value === 'object' && value.censored
}

const CAUSES: Record<string, string> = {
  none: 'never used',
  'rtt-threshold': 'RTT above threshold',
  'under-rto': 'under RTO',
  'rto-threshold': 'RTO above threshold',
  other: 'other',
}

export function causeText(cause: string): string {
  return CAUSES[cause] ?? cause
}

const ENDINGS: Record<string, string> = {
  done: 'done',
  'wifi-lost': 'Wi\u2011Fi was lost',
  'wifi-changed': 'Wi\u2011Fi changed',
  'interfaces-changed': 'the interfaces changed',
  stopped: 'stopped by the user',
  failed: 'failed',
}

export function endText(ended: string): string {
  return ENDINGS[ended] ?? ended
}

/** Whether a run counts, and if not, why. */
export function stateOf(run: RunSummary): { text: string; isBad: boolean } {
  if (run.invalid != null) return { text: `does not count: ${run.invalid}`, isBad: true }
  const stalls = Object.entries(run.metrics).some(([name, value]) => name.startsWith('delay-max') && isCensored(value))
  const ended = run.ended == null || run.ended === 'done' ? '' : `, ${endText(run.ended)}`
  if (run.status !== 'complete') return { text: run.status + ended, isBad: true }
  return stalls ? { text: `stalled to its end${ended}`, isBad: true } : { text: `complete${ended}`, isBad: false }
}

export function durationText(us: number): string {
  return delayText(us / 1e3)
}

export function count(n: number): string {
  return n.toLocaleString('en')
}

/** `67 %`; small shares keep a digit. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–'
  const share = (100 * part) / whole
  return `${share < 10 && share > 0 ? share.toFixed(1) : share.toFixed(0)}\u00a0%`
}
