// Which sections do the pages have: a report of runs, one of a study, and the dashboard's?
import type { Run } from '../data/types'

export const SECTIONS = [
  { id: 'results', short: 'Results', title: 'Results' },
  { id: 'findings', short: 'In words', title: 'In plain words' },
  { id: 'delay', short: 'Delay', title: 'Delay of every message' },
  { id: 'use', short: 'Paths', title: 'Use of each path' },
  { id: 'energy', short: 'Energy', title: 'Energy of the radios' },
  { id: 'buffer', short: 'Buffer', title: 'Play-out buffer' },
  { id: 'links', short: 'Links', title: 'State of the links' },
  { id: 'cdf', short: 'Distribution', title: 'Distribution of the delays' },
  { id: 'stack', short: 'Stack', title: 'What the stack saw' },
  { id: 'events', short: 'Events', title: 'Events' },
] as const

/** The sections that have something to show of these runs: not every path is a radio, nor all traffic a stream. */
export function sectionsOf(runs: Run[]) {
  const hasRadios = runs.some((run) => run.radios.length > 0)
  const hasBuffer = runs.some((run) => run.buffer)
  return SECTIONS.filter(({ id }) => (id !== 'energy' || hasRadios) && (id !== 'buffer' || hasBuffer))
}

/** Those of a study's report. */
export const STUDY_SECTIONS = [
  { id: 'paper', short: 'Paper', title: 'Against the paper' },
  { id: 'comparison', short: 'Comparison', title: 'Comparison' },
  { id: 'distributions', short: 'Distributions', title: 'Distributions' },
  { id: 'parameters', short: 'Parameters', title: 'Parameters against metric' },
  { id: 'runs', short: 'Runs', title: 'Runs' },
] as const

/** Those of the dashboard's pages. */
export const DASHBOARD_SECTIONS = [
  { id: 'running', title: 'Running now' },
  { id: 'transports', title: 'Now' },
  { id: 'decisions', title: 'What happened' },
  { id: 'stored', title: 'Stored runs' },
  { id: 'scenario', title: 'What was run' },
  { id: 'downloads', title: 'Take the tables away' },
  { id: 'compared', title: 'What is compared' },
  { id: 'delays', title: 'Longest delay of a run' },
  { id: 'ratios', title: 'Ratios within tests' },
  { id: 'causes', title: 'Why cellular took over' },
  { id: 'durations', title: 'Duration of handovers' },
  { id: 'days', title: 'Runs per day' },
  { id: 'shares', title: 'What runs are of' },
] as const

/** Every section of every page, by its id. */
export const ALL_SECTIONS = [...SECTIONS, ...STUDY_SECTIONS, ...DASHBOARD_SECTIONS]

export type SectionId = (typeof ALL_SECTIONS)[number]['id']
