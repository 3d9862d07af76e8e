// Which sections does a report have, in which order: one of runs, and one of a study?

export const SECTIONS = [
  { id: 'results', short: 'Results', title: 'Results' },
  { id: 'findings', short: 'In words', title: 'In plain words' },
  { id: 'delay', short: 'Delay', title: 'Delay of every message' },
  { id: 'use', short: 'Paths', title: 'Use of each path' },
  { id: 'links', short: 'Links', title: 'State of the links' },
  { id: 'cdf', short: 'Distribution', title: 'Distribution of the delays' },
  { id: 'stack', short: 'Stack', title: 'What the stack saw' },
  { id: 'events', short: 'Events', title: 'Events' },
] as const

/** Those of a study's report. */
export const STUDY_SECTIONS = [
  { id: 'comparison', short: 'Comparison', title: 'Comparison' },
  { id: 'distributions', short: 'Distributions', title: 'Distributions' },
  { id: 'parameters', short: 'Parameters', title: 'Parameters against metric' },
  { id: 'runs', short: 'Runs', title: 'Runs' },
] as const

export type SectionId = (typeof SECTIONS | typeof STUDY_SECTIONS)[number]['id']
