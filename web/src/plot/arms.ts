// Which colour, dash and marker has an arm of a study? Its transport's colour, shaded by the
// policy, so that curves with bands are told apart; dash and marker as in every other plot.
import { groupInk, type Ink, type Marker } from './palette'

/** Shades of a transport's colour for the policies that are often in one study with another. */
const SHADES: Record<string, Record<string, [light: string, dark: string]>> = {
  mptcp: {
    backup: ['#3b3fb8', '#9aa2ff'],
    'apple-interactive': ['#1f93ad', '#86e3ee'],
    'break-before-make': ['#0b3d66', '#3f86c8'],
  },
  mpquic: {
    backup: ['#6f4bc4', '#b79cff'],
    'apple-interactive': ['#de4f7c', '#ffc4d6'],
    'break-before-make': ['#57164a', '#c25790'],
  },
}
const KNOWN = ['mpquic', 'mptcp', 'quic', 'tcp']
const SPARE: [dash: number[], marker: Marker][] = [
  [[4, 2], 'down'],
  [[12, 3], 'circle'],
  [[2, 2, 6, 2], 'square'],
  [[1, 3], 'triangle'],
  [[14, 2, 2, 2], 'diamond'],
]

/** `mpquic-break-before-make` is `mpquic` under `break-before-make`; `quic` has one path. */
export function armParts(label: string): [transport: string, policy: string] {
  const known = KNOWN.find((name) => label === name || label.startsWith(`${name}-`))
  const end = known?.length ?? (label.includes('-') ? label.indexOf('-') : label.length)
  return [label.slice(0, end), label.slice(end + 1) || 'single']
}

/** The inks of a study's arms, no two alike. */
export function armInks(arms: string[], dark: boolean): Ink[] {
  const taken = new Set<string>()
  const look = (ink: Ink) => `${ink.colour} ${ink.dash.join()} ${ink.marker}`
  return arms.map((label) => {
    const [transport, policy] = armParts(label)
    const shade = SHADES[transport]?.[policy]
    let ink = groupInk(transport, policy, dark)
    if (shade) ink = { ...ink, colour: shade[dark ? 1 : 0] }
    for (const [dash, marker] of SPARE) {
      if (!taken.has(look(ink))) break
      ink = { ...ink, dash, marker }
    }
    taken.add(look(ink))
    return ink
  })
}
