// What does this collector know of: its name, and the values that filters can have?
import { Resource } from './resource.svelte'
import type { Metadata, Usage } from './types'

type Values = Record<'experiment' | 'mode' | 'server' | 'transport' | 'policy' | 'pattern' | 'family', string[]>

class About {
  readonly metadata = new Resource<Metadata>()
  private readonly usage = new Resource<Usage>()

  /** Asks once; the answers stay as long as the page does. */
  load(): () => void {
    const stops = [this.metadata.load('/metadata'), this.usage.load('/usage')]
    return () => stops.forEach((stop) => stop())
  }

  /** What the collector hands out now, and what it has stored. */
  values = $derived.by((): Values => {
    const { experiments = [], servers = [] } = this.metadata.value ?? {}
    const { servers: stored = [], transports = [] } = this.usage.value ?? {}
    return {
      experiment: known(experiments.map((e) => e.name)),
      mode: ['stable', 'mobile'],
      server: known([...servers.map((s) => s.id), ...stored.map((c) => c.of)]),
      transport: known([...experiments.flatMap((e) => e.transports), ...transports.map((c) => c.of)]),
      policy: known(['single', ...experiments.flatMap((e) => e.policies)]),
      pattern: known(experiments.flatMap((e) => e.traffic.flatMap((t) => Object.keys(t.traffic)))),
      family: ['ipv4', 'ipv6'],
    }
  })
}

function known(values: string[]): string[] {
  return [...new Set(values)].sort()
}

export const about = new About()
