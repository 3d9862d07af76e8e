// What is in a study's data? Mirrors the types of crates/analysis/src/study/report.rs; see there for
// the meaning. Numbers are in the unit of their metric, `null` where unknown.

export const STUDY_FORMAT = 'walkabout.study-report/1'

export interface StudyReport {
  format: typeof STUDY_FORMAT
  name: string
  summary: string
  world: string
  /** Whether each arm was run twice, to check the intervals against a ratio of 1. */
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
  /** What the study is held against, where it has a paper's numbers. */
  reproduction?: Reproduced
  runs: Runs
}

/** Mirrors crates/analysis/src/reproduction. */
export interface Reproduced {
  id: string
  title: string
  source: string
  claim: string
  notes: string[]
  world: string
  verdict: 'reproduced' | 'not-reproduced' | 'not-decidable'
  criteria: Judged[]
  figures: PaperFigure[]
}

export interface Judged {
  says: string
  finding: 'met' | 'missed' | 'open'
  expected: string
  found: string
}

/** A figure of the paper with the study's numbers in it. */
export interface PaperFigure {
  title: string
  metric: Metric
  /** `median`, `mean`, ... */
  statistic: string
  /** The parameter of the x axis; without one each curve is a point at a tick of its own. */
  along: string | null
  ticks: string[]
  /** The ticks as quantities, when all of them are. */
  numbers: number[] | null
  curves: PaperCurve[]
}

export interface PaperCurve {
  name: string
  ours: { at: number; runs: number; value: number; bound: boolean; low: number; high: number | null }[]
  paper: { at: number; value: number }[]
  source: string | null
}

export interface Metric {
  name: string
  heading: string
  /** `s`, `B`, `bit/s`, or `1` for what has none. */
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

/** `at-most`: the true ratio is lower or equal, as values of the baseline are lower bounds. */
export type Bound = 'exact' | 'at-most' | 'at-least' | 'open'

export interface Comparison {
  case: number
  arm: number
  blocks: number
  pairs_used: number
  /** What the ratio says of the true one. */
  bound: Bound
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
  /** Below 2^53: JavaScript's numbers hold it. */
  seed: number[]
  failed: (0 | 1)[]
  folder: (string | null)[]
  /** By case and arm: the command without the seed. */
  reproduce: { template: (string | null)[][] }
  values: Record<string, (number | null)[]>
  /** The indices of the runs whose value is only a lower bound. */
  censored: Record<string, number[]>
}
