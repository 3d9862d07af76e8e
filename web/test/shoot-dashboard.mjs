// How does the dashboard look? `node test/shoot-dashboard.mjs FOLDER [PAGE...]` takes screenshots.
import { join } from 'node:path'
import { chromium as driver } from 'playwright-core'
import { collector, runs, TEST } from './collector.mjs'
import { chromium, drawAll } from './page.mjs'

const [folder = '.', ...only] = process.argv.slice(2)
const browser = await driver.launch({ executablePath: chromium(), args: ['--no-sandbox'] })
const served = await collector({ ago: 9, fadesAt: 8 })
const PAGES = { live: '/live', test: `/live/${TEST}`, runs: '/runs', run: `/runs/${runs()[2].id}`, compare: '/compare', usage: '/usage' }
for (const [name, width, colorScheme] of [
  ['desktop', 1280, 'light'],
  ['desktop', 1280, 'dark'],
  ['phone', 360, 'light'],
  ['phone', 360, 'dark'],
]) {
  for (const [id, path] of Object.entries(PAGES)) {
    if (only.length > 0 && !only.includes(id)) continue
    const page = await browser.newPage({ viewport: { width, height: width < 500 ? 740 : 900 }, colorScheme, deviceScaleFactor: width < 500 ? 1.5 : 1 })
    page.on('console', (m) => console.log(id, m.type(), m.text()))
    page.on('pageerror', (e) => console.log(id, 'error', e.message))
    await page.goto(served.origin + path)
    await page.waitForSelector('h1')
    await page.waitForTimeout(id === 'test' ? 2500 : 600)
    await drawAll(page)
    await page.evaluate(() => scrollTo({ top: 0, behavior: 'instant' }))
    await page.waitForTimeout(200)
    await page.screenshot({ path: join(folder, `${id}-${name}-${colorScheme}.png`), fullPage: true })
    await page.close()
  }
}
await browser.close()
await served.close()
