// How does a study's page look? `node test/shoot-study.mjs FOLDER` takes screenshots of the
// made-up studies, and says how large each page is and how soon it can be used.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium as driver } from 'playwright-core'
import { chromium, writePage } from './page.mjs'
import { STUDIES } from './study-fixture.mjs'

const folder = process.argv[2] ?? '.'
const browser = await driver.launch({ executablePath: chromium(), args: ['--no-sandbox'] })
for (const [name, width, colorScheme] of [
  ['plain', 1280, 'light'],
  ['plain', 380, 'light'],
  ['censored', 1280, 'dark'],
  ['censored', 1280, 'light'],
  ['parameters', 1280, 'light'],
  ['parameters', 380, 'dark'],
  ['aa', 1280, 'light'],
  ['aa', 380, 'light'],
  ['large', 1280, 'light'],
]) {
  const file = join(folder, `${name}.html`)
  writePage(file, STUDIES[name]())
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme, deviceScaleFactor: width < 500 ? 2 : 1 })
  page.on('console', (m) => console.log(name, m.type(), m.text()))
  page.on('pageerror', (e) => console.log(name, 'error', e.message))
  const start = performance.now()
  await page.goto(pathToFileURL(file).href)
  await page.waitForSelector('[data-testid=runs] tbody tr')
  // Two frames later the page answers.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  const shown = performance.now() - start
  console.log(`${name} ${width}: ${(statSync(file).size / 1e6).toFixed(2)} MB, used after ${shown.toFixed(0)} ms`)
  const shot = join(folder, `study-${name}-${width}-${colorScheme}`)
  for (const plot of await page.$$('.plot')) await plot.scrollIntoViewIfNeeded()
  await page.waitForTimeout(200)
  for (const section of await page.$$('main > section, .masthead')) {
    await section.evaluate((element) => element.scrollIntoView({ behavior: 'instant' }))
    await page.waitForTimeout(100)
    const id = await section.getAttribute('id')
    if (width > 500) await section.screenshot({ path: `${shot}-${id}.png` })
    else await page.screenshot({ path: `${shot}-${id}.png` })
  }
  await page.close()
}
await browser.close()
