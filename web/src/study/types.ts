// What is in a study's data? Mirrors the report data of crates/analysis/src/study; see there for
// the meaning. Numbers are in the unit of their metric, `null` where unknown.

export const STUDY_FORMAT = 'walkabout.study-report/1'

export interface StudyReport {
  format: typeof STUDY_FORMAT
  name: string
  summary: string
  world: string
  /** Whether each arm was run against its own copy. */
  a_a: boolean
  facts: { name: string; value: string }[]
  metrics: Metric[]
  primary: string
  baseline: string
  cases: Case[]
  parameters: Parameter[]
  arms: string[]
  comparisons: Comparison[]
  conclusion: string[]
  groups: Group[]
  a_a_coverage: Coverage | null
  runs: Runs
}

export interface Metric {
  name: string
  heading: string
  /** `s`, `B`, or `1` for what has none. */
  unit: string
  summary: string
}

/** A scenario under one setting of the parameters. */
export interface Case {
  label: string
  scenario: string
  parameters: [name: string, value: string][]
}

export interface Parameter {
  name: string
  key: string
  values: string[]
  /** The values as quantities in `unit`, when all of them are. */
  numbers: number[] | null
  unit: string | null
}

export type Verdict = 'lower' | 'higher' | 'no-difference' | 'equivalent' | 'too-few' | 'not-estimable'

export interface Comparison {
  case: number
  arm: number
  blocks: number
  pairs_used: number
  ratio: number | null
  low: number | null
  high: number | null
  hodges_lehmann: number | null
  hl_low: number | null
  hl_high: number | null
  wilcoxon_p: number | null
  holm_p: number | null
  censored_arm: number
  censored_baseline: number
  verdict: Verdict
  sentence: string
}

export interface Group {
  case: number
  arm: number
  runs: number
  failed: number
  censored: number
  median: number | null
  median_low: number | null
  median_high: number | null
  median_censored: boolean
  curve: Curve
}

/** A step function with its band. */
export interface Curve {
  kind: 'cdf' | 'survival'
  x: number[]
  y: number[]
  low: (number | null)[]
  high: (number | null)[]
}

export interface Coverage {
  intervals: number
  covering: number
  share: number
  low: number
  high: number
  sentence: string
}

/** Columns, a value per run. */
export interface Runs {
  case: number[]
  arm: number[]
  replica: number[]
  /** As text where it is beyond JavaScript's 2^53. */
  seed: (number | string)[]
  failed: (0 | 1)[]
  folder: (string | null)[]
  /** By case and arm: the command without the seed. */
  reproduce: { template: string[][] }
  values: Record<string, (number | null)[]>
  /** The indices of the runs whose value is only a lower bound. */
  censored: Record<string, number[]>
}
