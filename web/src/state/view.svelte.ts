// What part of the data is looked at? Shared by all plots: the time range, the repetition.

class View {
  /** Seconds; `null` is the whole run. */
  range = $state<[number, number] | null>(null)
  repetition = $state(0)
  /** Log or linear delays. */
  log = $state(true)

  zoom(from: number, to: number, whole: [number, number]) {
    const least = 0.5
    const low = Math.max(Math.min(from, to), whole[0])
    const high = Math.min(Math.max(from, to, low + least), whole[1])
    this.range = high - low >= whole[1] - whole[0] - 1e-9 ? null : [low, high]
  }
}

export const view = new View()
