// How does the page look? `node test/shoot.mjs FOLDER` takes screenshots of the fixture.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium as driver } from 'playwright-core'
import { chromium, fixture, writePage } from './page.mjs'

const folder = process.argv[2] ?? '.'
const file = join(folder, 'report.html')
writePage(file, fixture())
const browser = await driver.launch({ executablePath: chromium(), args: ['--no-sandbox'] })
for (const [name, width, colorScheme, scale] of [
  ['light', 1280, 'light', 1],
  ['dark', 1280, 'dark', 1],
  ['phone', 360, 'light', 2],
]) {
  const page = await browser.newPage({
    viewport: { width, height: 900 },
    colorScheme,
    deviceScaleFactor: scale,
  })
  page.on('console', (m) => console.log(name, m.type(), m.text()))
  page.on('pageerror', (e) => console.log(name, 'error', e.message))
  const start = Date.now()
  await page.goto(pathToFileURL(file).href)
  await page.waitForSelector('#events')
  console.log(name, 'page after', Date.now() - start, 'ms')
  for (const section of await page.$$('section')) {
    await section.scrollIntoViewIfNeeded()
    await page.waitForTimeout(150)
    const id = await section.getAttribute('id')
    if (width > 500) await section.screenshot({ path: join(folder, `${name}-${id}.png`) })
    else {
      await section.evaluate((element) => element.scrollIntoView({ behavior: 'instant' }))
      await page.waitForTimeout(150)
      await page.screenshot({ path: join(folder, `${name}-${id}.png`) })
    }
  }
  await page.evaluate(() => scrollTo(0, 0))
  await page.waitForTimeout(100)
  await page.screenshot({ path: join(folder, `${name}-top.png`) })
  await page.close()
}
await browser.close()
