// Which runs are asked for? The address says it as the collector's interface does.
import { FILTER_KEYS, type Filter } from './types'

export function parseFilter(query: string): Filter {
  const given = new URLSearchParams(query)
  const filter: Filter = {}
  for (const key of FILTER_KEYS) {
    const value = given.get(key)
    if (value !== null && value !== '') filter[key] = value
  }
  return filter
}

/** `?transport=mptcp&...`, or nothing. */
export function toQuery(filter: Filter): string {
  const set = new URLSearchParams()
  for (const key of FILTER_KEYS) {
    const value = filter[key]
    if (value !== undefined && value !== '') set.set(key, value)
  }
  const text = set.toString()
  return text === '' ? '' : `?${text}`
}

/** Without what only turns pages. */
export function withoutPages({ limit: _limit, after: _after, ...filter }: Filter): Filter {
  return filter
}

/** How many conditions it sets. */
export function conditions(filter: Filter): number {
  return Object.values(withoutPages(filter)).filter((value) => value !== '').length
}

/** A day in UTC as the interface wants a time. */
export function startOfDay(day: string): string {
  return day === '' ? '' : `${day}T00:00:00Z`
}

/** The day of a time, for an input of type `date`. */
export function dayOf(time: string | undefined): string {
  return /^\d{4}-\d{2}-\d{2}/.exec(time ?? '')?.[0] ?? ''
}
