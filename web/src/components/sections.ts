// Which sections does a report have, in which order?

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

export type SectionId = (typeof SECTIONS)[number]['id']
