// Which colour, dash and marker stands for what? Colours after Okabe and Ito, told apart with
// the common colour blindnesses; everything is told apart without colour too.
import type { PathDescription } from '../data/types'

export type Marker = 'circle' | 'triangle' | 'square' | 'diamond' | 'cross' | 'down'

export interface Ink {
  colour: string
  dash: number[]
  marker: Marker
}

export interface Colours {
  text: string
  muted: string
  grid: string
  surface: string
  band: string
  bandEdge: string
  ended: string
  decision: string
  warn: string
}

export function colours(dark: boolean): Colours {
  return dark
    ? {
        text: '#e7e9ec',
        muted: '#9aa3ad',
        grid: '#2b3138',
        surface: '#171b20',
        band: 'rgba(255,170,150,0.10)',
        bandEdge: 'rgba(255,170,150,0.55)',
        ended: 'rgba(160,170,180,0.14)',
        decision: '#c9b8ff',
        warn: '#ffab91',
      }
    : {
        text: '#1b1f24',
        muted: '#5c6670',
        grid: '#e6e9ec',
        surface: '#ffffff',
        band: 'rgba(190,60,20,0.075)',
        bandEdge: 'rgba(170,50,10,0.5)',
        ended: 'rgba(90,100,110,0.11)',
        decision: '#5b3fc4',
        warn: '#b3360b',
      }
}

/** A direction of messages or links. */
export function directionInk(direction: 'up' | 'down', dark: boolean): Ink {
  return direction === 'up'
    ? { colour: dark ? '#5fb4ef' : '#0072b2', dash: [], marker: 'circle' }
    : { colour: dark ? '#ff9a52' : '#d55e00', dash: [5, 3], marker: 'down' }
}

const PATHS: [light: string, dark: string][] = [
  ['#00876a', '#35c9a3'],
  ['#b0488f', '#e58ac6'],
  ['#8a6d00', '#e0bf3f'],
  ['#3b4cc0', '#93a2ff'],
]
const PATH_DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]]
const PATH_MARKERS: Marker[] = ['circle', 'square', 'diamond', 'triangle']

/** A path, by its place in the scenario. */
export function pathInk(paths: Pick<PathDescription, 'name'>[], name: string, dark: boolean): Ink {
  const place = Math.max(
    paths.findIndex((path) => path.name === name),
    0,
  )
  return {
    colour: pick(PATHS, place)[dark ? 1 : 0],
    dash: pick(PATH_DASHES, place),
    marker: pick(PATH_MARKERS, place),
  }
}

const TRANSPORTS: Record<string, [light: string, dark: string]> = {
  tcp: ['#59636e', '#a9b4bf'],
  mptcp: ['#0072b2', '#5fb4ef'],
  quic: ['#b27700', '#f0b73c'],
  mpquic: ['#a8326f', '#f07db4'],
}
const OTHER_TRANSPORT: [string, string] = ['#2f7d32', '#7fcf83']
const POLICIES: [name: string, dash: number[], marker: Marker][] = [
  ['single', [], 'circle'],
  ['fullmesh', [], 'triangle'],
  ['backup', [8, 4], 'square'],
  ['apple-interactive', [2, 3], 'diamond'],
  ['break-before-make', [9, 3, 2, 3], 'cross'],
]
const OTHER_POLICIES: [dash: number[], marker: Marker][] = [
  [[4, 2], 'down'],
  [[12, 3], 'circle'],
  [[2, 2, 6, 2], 'square'],
]

/** A transport (its colour) under a policy (its dash and marker). */
export function groupInk(transport: string, policy: string, dark: boolean): Ink {
  const [light, night] = TRANSPORTS[transport] ?? OTHER_TRANSPORT
  const known = POLICIES.find(([name]) => name === policy)
  const sum = [...policy].reduce((n, letter) => n + letter.charCodeAt(0), 0)
  const [dash, marker] = known ? [known[1], known[2]] : pick(OTHER_POLICIES, sum)
  return { colour: dark ? night : light, dash, marker }
}

function pick<T>(list: T[], index: number): T {
  const item = list[index % list.length]
  if (item === undefined) throw new Error('the list is not empty')
  return item
}
