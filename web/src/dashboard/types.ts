// What does the collector's interface say? Mirrors crates/platform/src/api/*.rs; see there for the
// meaning. Change both together.
import type { Direction } from '../data/types'

/** Where version 1 of the interface is. */
export const PREFIX = '/api/v1'

/** RFC 9457. */
export interface Problem {
  type: string
  title: string
  status: number
  retry_after_seconds?: number
}

export interface Metadata {
  name: string
  walkabout_version: string
  servers: { id: string; place: string }[]
  experiments: Experiment[]
}

export interface Experiment {
  name: string
  summary: string
  mode: string
  transports: string[]
  policies: string[]
  /** The pattern's name is the one key of `traffic`. */
  traffic: { traffic: Record<string, unknown>; seconds: number }[]
}

export interface RunningTest {
  test: string
  experiment: string
  server: string
  since: string
  heard_at: string
  runs: string[]
}

export interface LiveItem {
  run: string
  time_us: number
  event: LiveEvent
}

/** One of these. */
export interface LiveEvent {
  started?: { transport: string; policy: string; pattern: string; paths: string[] }
  message?: { direction: Direction; delay_us: number }
  waiting?: { waited_us: number }
  'path-in-use'?: { path: string }
  decision?: { action: string; path: string; cause: string }
  path?: { path: string; up: boolean }
  signal?: { path: string; signal_dbm: number }
  ended?: { why: string }
}

export interface RunSummary {
  id: string
  test: string
  started_at: string
  stored_at: string
  experiment: string
  mode: string
  server: string
  transport: string
  policy: string
  pattern: string
  family: string
  port: number
  status: string
  invalid?: string | null
  ended?: string | null
  networks: string
  duration_us: number
  walkabout_version: string
  publish: boolean
  metrics: Record<string, MetricValue>
}

/** A censored value is a lower bound. */
export type MetricValue = { value: number; censored: boolean } | string

export interface RunPage {
  runs: RunSummary[]
  total: number
  total_is_lower_bound: boolean
  next?: string | null
}

/** What `GET /api/v1/runs` may be asked, in the order of the address. */
export const FILTER_KEYS = [
  'test',
  'experiment',
  'mode',
  'server',
  'transport',
  'policy',
  'pattern',
  'family',
  'from',
  'to',
  'invalid',
  'delay_max_s',
  'publish',
  'limit',
  'after',
] as const

/** As text, as in the address; what is absent does not filter. */
export type Filter = Partial<Record<(typeof FILTER_KEYS)[number], string>>

export interface Arm {
  transport: string
  policy: string
}

export interface Comparison {
  arms: ComparedArm[]
  pairs: PairedRatio[]
  notes: string[]
}

export interface ComparedArm {
  arm: Arm
  runs: number
  stalled: number
  delay_max_up: CdfPoint[]
  delay_max_down: CdfPoint[]
  handover_duration: CdfPoint[]
  causes: { cause: string; runs: number }[]
}

export interface CdfPoint {
  seconds: number
  share: number
}

export interface PairedRatio {
  a: Arm
  b: Arm
  tests: number
  stalled: number
  median?: number | null
  low?: number | null
  high?: number | null
}

export interface Usage {
  runs: number
  tests: number
  invalid: number
  per_day: Count[]
  platforms: Count[]
  networks: Count[]
  servers: Count[]
  transports: Count[]
}

export interface Count {
  of: string
  runs: number
}
