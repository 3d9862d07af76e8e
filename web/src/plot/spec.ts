// What does a plot consist of? A description that `Chart.svelte` turns into uPlot's options.
import type uPlot from 'uplot'
import type { Colours, Ink, Marker } from './palette'

/** One line, area or cloud of points. */
export interface Series {
  name: string
  ink: Ink
  shown: boolean
  /** `line` through the points, `step` holds a value until the next, `points` and `bars` have no line. */
  style: 'line' | 'step' | 'points' | 'bars'
  width?: number
  /** Colour or pattern of the area to zero. */
  fill?: string | CanvasPattern
  /** Indexes at which a line carries its marker. */
  markAt?: number[]
  /** The value in words, with its unit. */
  text?: (value: number) => string
}

export interface Axis {
  /** What, and the unit when the ticks don't carry it. */
  label: string
  log?: boolean
  /** Linear below 1, logarithmic beyond, both ways from zero. */
  symmetric?: boolean
  range: [number, number]
  tick?: (value: number) => string
  /** Where the ticks are, when there is room for so many. */
  splits?: (low: number, high: number, room: number) => number[]
}

/** A span of the x axis that is shaded. */
export interface Band {
  /** Something failed, messages waited for it, or nothing was recorded any more. */
  kind: 'failure' | 'waiting' | 'ended'
  from: number
  to: number
  label: string
  detail: string
}

/** A named span of the x axis, in a strip above the plot: which path was in use. */
export interface Stretch {
  from: number
  to: number
  label: string
  ink: Ink
  hatched: boolean
}

/** A moment that is marked, such as a decision. */
export interface Mark {
  at: number
  label: string
  detail: string
}

export interface Plot {
  /**
   * Plots of one key have the same series and axes: what else differs is drawn anew in place. Without
   * a key, another plot is another chart.
   */
  key?: string
  /** The accessible name: what, of whom. */
  name: string
  height: number
  data: uPlot.AlignedData
  series: Series[]
  x: Axis
  y: Axis
  /** Shares the time axis, the cursor and the zoom with all others that do. */
  isTime?: boolean
  bands?: Band[]
  marks?: Mark[]
  /** A strip of named spans above the plot, and what they name. */
  strip?: { label: string; stretches: Stretch[] }
  /** What the cursor is at, in words; by default the values of the series. */
  readout?: (x: number, index: number) => string
  /** Draws below the series. */
  under?: (u: uPlot, colours: Colours) => void
  /** Draws on top of the series. */
  draw?: (u: uPlot, colours: Colours) => void
}

export type { Marker }
