// How are numbers written, with their units?

/** `341 ms`, `1.25 s`, `12.3 s`: as the findings write delays. */
export function delayText(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${ms.toFixed(0)} ms`
  return ms < 10_000 ? `${(ms / 1000).toFixed(2)} s` : `${(ms / 1000).toFixed(1)} s`
}

/** A delay at an axis tick: no more digits than the tick has. */
export function delayTick(ms: number): string {
  return ms < 1000 ? `${Number(ms.toPrecision(3))} ms` : `${Number((ms / 1000).toPrecision(3))} s`
}

/** `1,234`, `12.3`, `0.05`: at most three digits after the first. */
export function short(value: number): string {
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

export function timeText(seconds: number): string {
  return `${seconds.toFixed(2)} s`
}

/** Powers of ten within a range, with 2 and 5 between when `room` ticks allow it. */
export function logSplits(low: number, high: number, room: number): number[] {
  const decades = Math.log10(high / low)
  const steps = decades * 3 > room ? [1] : [1, 2, 5]
  const splits: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) {
      const value = step * 10 ** power
      if (value >= low * 0.999 && value <= high * 1.001) splits.push(value)
    }
  }
  return splits
}

/** Powers of ten both ways from zero, from 1 on, with 2 and 5 between when `room` ticks allow it. */
export function symmetricSplits(low: number, high: number, room: number): number[] {
  const reach = Math.ceil(Math.log10(Math.max(-low, high, 1)))
  const over = (steps: number[]) => {
    const sizes = Array.from({ length: reach + 1 }, (_, power) => steps.map((step) => step * 10 ** power)).flat()
    return [...sizes.toReversed().map((v) => -v), 0, ...sizes].filter((v) => v >= low && v <= high)
  }
  const fine = over([1, 2, 5])
  return fine.length <= room * 0.8 ? fine : over([1])
}
