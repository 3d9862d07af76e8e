// Does the built page show a report, alone, on every width, by mouse and by keyboard?
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { chromium as driver } from 'playwright-core'
import { chromium, drawAll, fixture, openPage } from './page.mjs'

const executablePath = chromium()
if (!executablePath && process.env.CI) throw new Error('no Chromium here: apt-get install chromium')
const skip = executablePath ? false : 'no Chromium here: apt-get install chromium'

const folder = mkdtempSync(join(tmpdir(), 'walkabout-report-'))
let browser
before(async () => {
  if (!skip) browser = await driver.launch({ executablePath, args: ['--no-sandbox'] })
})
after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true, force: true })
})

const open = (data, options) => openPage(browser, folder, data, options)

const rows = (page) =>
  page.$$eval('[data-testid=results] tbody th', (cells) =>
    cells.map((cell) => cell.querySelector('.name').textContent.trim().replace(/\s+/g, ' ')),
  )

test('every plot is there and none is empty', { skip }, async () => {
  const data = fixture()
  const runs = data.scenarios[0].runs.length
  const page = await open(data)
  await drawAll(page)
  for (const [section, count] of [
    ['delay', runs],
    ['use', runs],
    ['energy', runs],
    ['cdf', 2],
    ['stack', 4],
  ]) {
    assert.equal(await page.locator(`[data-testid=${section}] canvas`).count(), count, section)
  }
  assert.ok((await page.locator('[data-testid=links] canvas').count()) >= 8)
  const painted = await page.$$eval('canvas', (canvases) =>
    canvases.map((canvas) => {
      const { width, height } = canvas
      if (width === 0 || height === 0) return 0
      const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data
      let count = 0
      for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 0) count++
      return count
    }),
  )
  assert.ok(Math.min(...painted) > 2_000, `painted pixels: ${painted}`)
  assert.match(await page.textContent('#licences'), /uplot [\d.]+ \(MIT\)[\s\S]*Permission is hereby/)
  await page.close()
})

test('energies are read in words, and a section without data is not there', { skip }, async () => {
  const data = fixture()
  const page = await open(data)
  assert.equal(await page.locator('#buffer, nav a[href="#buffer"]').count(), 0)
  await page.locator('#energy label', { hasText: 'energy so far' }).click()
  const plot = page.locator('[data-testid=energy] .plot').nth(1)
  await plot.scrollIntoViewIfNeeded()
  await plot.focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForFunction(() => /J so far/.test(document.querySelector('[data-testid=energy]').textContent))
  await page.close()

  for (const run of data.scenarios[0].runs) run.radios = []
  data.scenarios[0].runs[0].buffer = {
    time_delta_ms: [0, 1000, 4000, 500],
    level_ms: [0, 4000, 0, 2000],
    path: [null, 0, 0, 1],
    stalls_ms: [[5000, 5500]],
  }
  const heard = await open(data)
  assert.equal(await heard.locator('#energy, nav a[href="#energy"]').count(), 0)
  await drawAll(heard)
  assert.equal(await heard.locator('[data-testid=buffer] canvas').count(), 1)
  await heard.close()
})

test('the table sorts by click and by keyboard', { skip }, async () => {
  const page = await open(fixture())
  const as_given = await rows(page)
  assert.equal(as_given.length, 10)
  const head = page.locator('[data-testid=results] thead th', { hasText: 'max delay up' })
  await head.locator('button').click()
  assert.equal(await head.getAttribute('aria-sort'), 'ascending')
  const ascending = await rows(page)
  assert.notDeepEqual(ascending, as_given)
  const values = await page.$$eval('[data-testid=results] tbody td:nth-child(2)', (cells) =>
    cells.map((cell) => Number(cell.textContent.replace(/[^\d.]/g, ''))),
  )
  assert.deepEqual(values, values.toSorted((a, b) => a - b))

  await head.locator('button').focus()
  await page.keyboard.press('Enter')
  assert.equal(await head.getAttribute('aria-sort'), 'descending')
  assert.match((await rows(page))[0], /single/)
  await page.keyboard.press('Space')
  assert.equal(await head.getAttribute('aria-sort'), null)
  assert.deepEqual(await rows(page), as_given)

  const bounds = await page.$$eval('[data-testid=results] td.bound', (cells) =>
    cells.map((cell) => cell.textContent.trim()),
  )
  assert.ok(bounds.length > 0 && bounds.every((text) => text.startsWith('≥')), String(bounds))
  assert.ok((await page.locator('.flag').count()) >= 2)
  await page.close()
})

test('plots are read, zoomed and filtered by keyboard', { skip }, async () => {
  const page = await open(fixture())
  const chart = page.locator('[data-testid=delay] .chart').first()
  const plot = chart.locator('.plot')
  await plot.focus()
  await plot.locator('canvas').waitFor()
  await page.keyboard.press('ArrowRight')
  await page.waitForFunction(() => /up .*ms.*down/.test(document.querySelector('[data-testid=delay] .readout').textContent))
  // The cursor is shared by the plots over time.
  const other = page.locator("[data-testid=delay] .readout").nth(1)
  assert.match(await other.textContent(), / s · up /)
  await page.keyboard.press('+')
  const reset = page.locator('header button', { hasText: '–' })
  await reset.waitFor()
  assert.match(await reset.textContent(), /^\s*[\d.]+–[\d.]+ s/)
  await page.keyboard.press('0')
  await reset.waitFor({ state: 'detached' })

  const down = page.locator('#delay .legend button', { hasText: 'down' })
  await down.focus()
  await page.keyboard.press('Space')
  assert.equal(await down.getAttribute('aria-pressed'), 'false')
  await plot.focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForFunction(() => {
    const text = document.querySelector('[data-testid=delay] .readout').textContent
    return text.includes('up') && !text.includes('down')
  })
  await page.close()
})

test('a decision says its cause, to the mouse, the keyboard and in a table', { skip }, async () => {
  const page = await open(fixture())
  const chart = page.locator('[data-testid=delay] .chart', { hasText: 'mptcp break-before-make' }).first()
  await chart.scrollIntoViewIfNeeded()
  const flag = chart.locator('.flags button.decision').first()
  await flag.focus()
  assert.match(await chart.locator('[role=tooltip]').textContent(), /because wifi retransmitted/)
  await page.keyboard.press('Escape')
  assert.equal(await chart.locator('[role=tooltip]').count(), 0)
  await page.mouse.move(0, 0)
  await flag.hover()
  await chart.locator('[role=tooltip]').waitFor()
  await page.locator('#delay summary').click()
  assert.match(await page.textContent('[data-testid=decisions]'), /wifi retransmitted/)
  // What a run logged is text, never markup.
  await page.locator('#events summary', { hasText: 'mptcp fullmesh' }).click()
  assert.match(await page.locator('#events').textContent(), /<b>not markup<\/b><\/script>/)
  await page.close()
})

test('a phone needs no sideways scrolling', { skip }, async () => {
  const page = await open(fixture(), { viewport: { width: 360, height: 740 } })
  await drawAll(page)
  for (const summary of await page.$$('#delay summary, #events summary')) await summary.click()
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  assert.ok(width <= 360, `the page is ${width} px wide`)
  await page.close()
})

test('dark by the system, light by choice', { skip }, async () => {
  const page = await open(fixture(), { colorScheme: 'dark' })
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const dark = await background()
  const sum = (rgb) => rgb.match(/\d+/g).reduce((n, part) => n + Number(part), 0)
  assert.ok(sum(dark) < 150, dark)
  await page.locator('[data-testid=theme]').click()
  assert.ok(sum(await background()) > 600)
  await page.locator('[data-testid=theme]').click()
  assert.equal(await background(), dark)
  await page.close()
})

test('what is missing is said', { skip }, async () => {
  const data = fixture()
  const [scenario] = data.scenarios
  for (const run of scenario.runs) {
    Object.assign(run, { usage: [], links: [], samples: [], radios: [], events: [], failures: [], end_ms: 0 })
    for (const direction of ['up', 'down']) run[direction] = { sent_delta_100us: [], delay_100us: [] }
  }
  Object.assign(scenario, { findings: [], results: { columns: [], rows: [] } })
  let page = await open(data)
  assert.ok((await page.locator('.nothing').count()) >= 10)
  assert.equal(await page.locator('canvas').count(), 0)
  await page.close()

  for (const [empty, words] of [
    [{ format: data.format, scenarios: [] }, /no runs/],
    [{ format: 'walkabout.report/9', scenarios: [] }, /walkabout\.report\/9/],
    [null, /without data/],
  ]) {
    page = await open(empty)
    assert.match(await page.textContent('main'), words)
    await page.close()
  }
})

test('repetitions and scenarios are chosen at the top', { skip }, async () => {
  const data = fixture()
  const [walk] = data.scenarios
  walk.runs = walk.runs.flatMap((run) => [run, { ...run, repetition: 1, seed: '43' }])
  data.scenarios.push({ ...fixture().scenarios[0], name: 'steady' })
  const page = await open(data)
  await page.getByLabel('repetition').selectOption('1')
  assert.equal(await page.locator('[data-testid=delay] .chart').count(), 10)
  assert.match(await page.textContent('#links .caption'), /seed 43/)
  await page.getByLabel('scenario').selectOption('steady')
  assert.equal(await page.textContent('h1'), 'steady')
  assert.equal(await page.getByLabel('repetition').count(), 0)
  await page.close()
})

test('two hundred thousand messages stay quick', { skip }, async () => {
  const data = fixture()
  for (const run of data.scenarios[0].runs) {
    for (const direction of ['up', 'down']) {
      const count = 10_000
      run[direction] = {
        sent_delta_100us: Array.from({ length: count }, () => 110),
        delay_100us: Array.from({ length: count }, (_, i) => (i % 997 === 0 ? null : 200 + ((i * 7919) % 1000))),
      }
    }
  }
  const start = performance.now()
  const page = await open(data)
  const shown = performance.now() - start
  await drawAll(page)
  console.log(`200,000 messages: page after ${shown.toFixed(0)} ms, all plots after ${(performance.now() - start).toFixed(0)} ms`)
  await page.close()
})
