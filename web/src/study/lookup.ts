// Which run, group or comparison belongs to a case and an arm?
import type { Comparison, Group, Metric, StudyReport } from './types'

export class Lookup {
  private readonly groups = new Map<string, Group>()
  private readonly comparisons = new Map<string, Comparison>()
  private readonly rows = new Map<string, number[]>()
  private readonly bounds = new Map<string, Uint8Array>()
  /** Runs whose value of the primary metric is only a lower bound. */
  readonly stalled: Uint8Array
  readonly primary: Metric

  constructor(readonly study: StudyReport) {
    for (const group of study.groups) this.groups.set(`${group.case} ${group.arm}`, group)
    for (const c of study.comparisons) this.comparisons.set(`${c.case} ${c.arm}`, c)
    study.runs.case.forEach((place, i) => {
      const key = `${place} ${study.runs.arm[i]}`
      const known = this.rows.get(key)
      if (known) known.push(i)
      else this.rows.set(key, [i])
    })
    this.stalled = this.censored(study.primary)
    this.primary = study.metrics.find((metric) => metric.name === study.primary) ?? {
      name: study.primary,
      heading: study.primary,
      unit: '1',
      summary: '',
    }
  }

  group(place: number, arm: number): Group | undefined {
    return this.groups.get(`${place} ${arm}`)
  }

  comparison(place: number, arm: number): Comparison | undefined {
    return this.comparisons.get(`${place} ${arm}`)
  }

  /** The indices of the runs of a case and an arm. */
  runs(place: number, arm: number): number[] {
    return this.rows.get(`${place} ${arm}`) ?? []
  }

  /** Per run: 1 where the metric's value is only a lower bound. */
  censored(metric: string): Uint8Array {
    const known = this.bounds.get(metric)
    if (known) return known
    const flags = new Uint8Array(this.study.runs.case.length)
    for (const i of this.study.runs.censored[metric] ?? []) flags[i] = 1
    this.bounds.set(metric, flags)
    return flags
  }

  /** The command that repeats a run. */
  reproduce(run: number): string {
    const { case: places, arm, seed, reproduce } = this.study.runs
    const template = reproduce.template[places[run] ?? -1]?.[arm[run] ?? -1]
    return template == null ? '' : `${template}${seed[run]}`
  }
}
