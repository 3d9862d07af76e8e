// Where is the page, and how does data get into it? As `report::render` does.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const PLACEHOLDER = '<script type="application/json" id="walkabout-data">null</script>'

/** Writes the built page with `data` into `file`. */
export function writePage(file, data) {
  const page = readFileSync(new URL('../dist/index.html', import.meta.url), 'utf8')
  if (page.split(PLACEHOLDER).length !== 2) throw new Error('dist/index.html has no single placeholder')
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  writeFileSync(file, page.replace(PLACEHOLDER, () => PLACEHOLDER.replace('null', () => json)))
}

/** The data of ten made-up runs: `npm run fixture` writes it. */
export function fixture() {
  return JSON.parse(readFileSync(new URL('../fixtures/walk.json', import.meta.url), 'utf8'))
}

/** A Chromium of this machine, or undefined. */
export function chromium() {
  const names = [
    process.env.CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    '/usr/bin/google-chrome-stable',
  ]
  return names.find((name) => name && existsSync(name))
}
