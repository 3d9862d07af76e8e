// How is a marker drawn, on a canvas and in a legend?
import type { Marker } from './palette'

/** Adds a marker around a point; `r` is half its width. */
export function addMarker(path: Path2D, marker: Marker, x: number, y: number, r: number) {
  switch (marker) {
    case 'circle':
      path.moveTo(x + r, y)
      path.arc(x, y, r, 0, 2 * Math.PI)
      break
    case 'square':
      path.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8)
      break
    case 'diamond':
      polygon(path, [x, y - r * 1.25, x + r * 1.1, y, x, y + r * 1.25, x - r * 1.1, y])
      break
    case 'triangle':
      polygon(path, [x, y - r * 1.15, x + r * 1.1, y + r * 0.85, x - r * 1.1, y + r * 0.85])
      break
    case 'down':
      polygon(path, [x, y + r * 1.15, x + r * 1.1, y - r * 0.85, x - r * 1.1, y - r * 0.85])
      break
    case 'cross':
      path.moveTo(x - r, y - r)
      path.lineTo(x + r, y + r)
      path.moveTo(x - r, y + r)
      path.lineTo(x + r, y - r)
      break
  }
}

function polygon(path: Path2D, points: number[]) {
  path.moveTo(points[0] ?? 0, points[1] ?? 0)
  for (let i = 2; i < points.length; i += 2) path.lineTo(points[i] ?? 0, points[i + 1] ?? 0)
  path.closePath()
}

/** The same as an SVG path around (0, 0). */
export function markerSvg(marker: Marker, r: number): string {
  const p = (points: number[]) =>
    `M${points.map((n) => (n * r).toFixed(2)).reduce((s, n, i) => s + (i % 2 ? `,${n}` : `${i ? 'L' : ''}${n}`), '')}Z`
  switch (marker) {
    case 'circle':
      return `M${r},0A${r},${r} 0 1 1 ${-r},0A${r},${r} 0 1 1 ${r},0Z`
    case 'square':
      return p([-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9])
    case 'diamond':
      return p([0, -1.25, 1.1, 0, 0, 1.25, -1.1, 0])
    case 'triangle':
      return p([0, -1.15, 1.1, 0.85, -1.1, 0.85])
    case 'down':
      return p([0, 1.15, 1.1, -0.85, -1.1, -0.85])
    case 'cross':
      return `M${-r},${-r}L${r},${r}M${-r},${r}L${r},${-r}`
  }
}
