// By which column is a table sorted?

export class Sorting {
  by = $state<string | null>(null)
  descending = $state(false)

  /** Ascending, then descending, then as given. */
  next(by: string) {
    if (this.by !== by) {
      this.by = by
      this.descending = false
    } else if (this.descending) {
      this.by = null
    } else {
      this.descending = true
    }
  }

  direction(by: string): 'ascending' | 'descending' | undefined {
    if (this.by !== by) return undefined
    return this.descending ? 'descending' : 'ascending'
  }

  /** The rows in this order; what has no value stays at the end. */
  sorted<T>(rows: T[], value: (row: T, by: string) => number | string | null): T[] {
    const { by, descending } = this
    if (by === null) return rows
    const sign = descending ? -1 : 1
    const keyed = rows.map((row) => ({ row, key: value(row, by) }))
    keyed.sort(({ key: a }, { key: b }) => {
      if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0)
      if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
      return sign * String(a).localeCompare(String(b), 'en', { numeric: true })
    })
    return keyed.map(({ row }) => row)
  }
}
