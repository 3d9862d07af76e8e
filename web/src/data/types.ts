// What is in a report's data? Mirrors crates/analysis/src/report.rs; see there for the meaning.

export const FORMAT = 'walkabout.report/1'

export type Direction = 'up' | 'down'
export type Side = 'client' | 'server'

export interface ReportData {
  format: typeof FORMAT
  scenarios: ScenarioReport[]
}

export interface ScenarioReport {
  name: string
  summary: string
  parameters: Parameter[]
  paths: PathDescription[]
  failures: string[]
  duration_ms: number
  results: Results
  findings: string[]
  runs: Run[]
}

export interface Parameter {
  name: string
  value: string
}

export interface PathDescription {
  name: string
  kind: 'wifi' | 'cellular' | 'ethernet'
  up: string
  down: string
  over_time: string
}

export interface Results {
  columns: ResultColumn[]
  rows: ResultRow[]
}

export interface ResultColumn {
  name: string
  heading: string
  unit: string
  scale: number
  digits?: number
  summary: string
  primary: boolean
}

export interface ResultRow {
  transport: string
  policy: string
  runs: number
  flags: string[]
  cells: (Cell | null)[]
}

export interface Observed {
  value: number
  censored: boolean
}

export type Cell =
  | { median: Observed; min: Observed; max: Observed; runs: number }
  | { counts: Record<string, number> }

export interface Run {
  transport: string
  policy: string
  repetition: number
  seed: string
  folder: string
  parameters: Parameter[]
  flags: string[]
  end_ms: number
  failures: FailureSpan[]
  up: Messages
  down: Messages
  usage: LinkUse[]
  links: LinkSeries[]
  samples: PathSamples[]
  radios: RadioStates[]
  cellular_packets_e4: Grid
  buffer?: Buffered
  events: RunEvent[]
}

export interface RadioStates {
  path: string
  model: string
  states: { name: string; power_100uw: number }[]
  time_delta_ms: number[]
  state: number[]
}

export interface Buffered {
  time_delta_ms: number[]
  level_ms: number[]
  path: (number | null)[]
  stalls_ms: [from: number, to: number][]
}

export interface FailureSpan {
  path: string
  kind: string
  direction?: Direction
  from_ms: number
  to_ms?: number
}

export interface Messages {
  sent_delta_100us: number[]
  delay_100us: (number | null)[]
}

export interface LinkUse {
  path: string
  direction: Direction
  step_ms: number
  bytes: number[]
  dropped: [bin: number, bytes: number][]
}

export interface Grid {
  step_ms: number
  values: (number | null)[]
}

export interface LinkSeries {
  path: string
  direction: Direction
  time_delta_ms: number[]
  rate_kbps: (number | null)[]
  delay_100us: number[]
  loss_e4: number[]
  up: (0 | 1)[]
  signal_ddbm: (number | null)[]
  queue_bytes: Grid
}

export interface PathSamples {
  side: Side
  connection: number
  path?: string
  srtt_100us: Grid
  rto_ms: Grid
  cwnd_bytes: Grid
  in_flight_bytes: Grid
}

export interface RunEvent {
  time_us: number
  kind: string
  side?: Side
  path?: string
  connection?: number
  cause?: string
  detail?: string
}
