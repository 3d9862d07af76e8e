// Where is the page, and how does data get into it? As `report::render` does.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const PLACEHOLDER = '<script type="application/json" id="walkabout-data">null</script>'

/** Writes the built page with `data` into `file`. */
export function writePage(file, data) {
  const page = readFileSync(new URL('../dist/report/index.html', import.meta.url), 'utf8')
  if (page.split(PLACEHOLDER).length !== 2) throw new Error('dist/report/index.html has no single placeholder')
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

/** Opens `data`; whatever the page complains about or asks the network for fails the test. */
export async function openPage(browser, folder, data, options = {}) {
  const file = join(folder, `${Math.random()}.html`)
  writePage(file, data)
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
  const complaints = []
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complaints.push(m.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && request.url() !== pathToFileURL(file).href) {
      complaints.push(`asked for ${request.url()}`)
    }
  })
  await page.goto(pathToFileURL(file).href)
  await page.waitForSelector('#app > *')
  page.close = ((close) => async () => {
    assert.deepEqual(complaints, [])
    await close.call(page)
  })(page.close)
  return page
}

/** Scrolls through the page until each plot is drawn. */
export async function drawAll(page) {
  for (const plot of await page.$$('.plot')) await plot.scrollIntoViewIfNeeded()
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('canvas')),
  )
}
