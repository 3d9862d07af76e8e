// Which texts are too faint to read? Runs within the page.

/** Texts whose contrast to what lies behind them is below 4.5 (WCAG 2.2, 1.4.3), or 3 when large. */
export function faint() {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = 1
  const context = canvas.getContext('2d', { willReadFrequently: true })
  /** Any CSS colour as red, green, blue and opacity, 0 to 1. */
  const known = new Map()
  const rgba = (colour) => {
    if (!known.has(colour)) {
      context.clearRect(0, 0, 1, 1)
      context.fillStyle = colour
      context.fillRect(0, 0, 1, 1)
      known.set(colour, [...context.getImageData(0, 0, 1, 1).data].map((part) => part / 255))
    }
    return known.get(colour)
  }
  const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => part * a + below[i] * (1 - a))
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    const layers = []
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor)
      layers.push(colour)
      if (colour[3] === 1) break
    }
    return layers.reduceRight((below, layer) => over(layer, below), [1, 1, 1])
  }
  /** An element's own opacity and that of all around it. */
  const opacity = (element) => {
    let all = 1
    for (let at = element; at; at = at.parentElement) all *= Number(getComputedStyle(at).opacity)
    return all
  }
  const found = new Set()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (!node.textContent.trim() || !element.checkVisibility({ visibilityProperty: true })) continue
    // What is off the screen, for who listens, or a sign beside words; what cannot be used now.
    if (element.closest('.unseen, .skip:not(:focus), legend, script, noscript, [aria-hidden=true], :disabled, option')) continue
    const style = getComputedStyle(element)
    const background = behind(element)
    const [r, g, b, a] = rgba(element instanceof SVGElement ? style.fill : style.color)
    const colour = over([r, g, b, a * opacity(element)], background)
    const [light, dark] = [luminance(colour), luminance(background)].sort((x, y) => y - x)
    const ratio = (light + 0.05) / (dark + 0.05)
    const size = parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    if (ratio < (isLarge ? 3 : 4.5)) found.add(`${ratio.toFixed(2)}: ${node.textContent.trim().slice(0, 40)} (${element.tagName.toLowerCase()}.${element.className.baseVal ?? element.className})`)
  }
  return [...found]
}
