// Does the built page show a study: compared, drawn, filtered, sorted, on every width, and quickly?
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { chromium as driver } from 'playwright-core'
import { chromium, drawAll, openPage, writePage } from './page.mjs'
import { STUDIES, study } from './study-fixture.mjs'

const executablePath = chromium()
if (!executablePath && process.env.CI) throw new Error('no Chromium here: apt-get install chromium')
const skip = executablePath ? false : 'no Chromium here: apt-get install chromium'

const folder = mkdtempSync(join(tmpdir(), 'walkabout-study-'))
let browser
before(async () => {
  if (!skip) browser = await driver.launch({ executablePath, args: ['--no-sandbox'] })
})
after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true, force: true })
})
const open = (data, options) => openPage(browser, folder, data, options)
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.innerText.trim().replace(/\s+/g, ' ')))
const rows = (page) => texts(page, '[data-testid=comparison] tbody tr')

test('the conclusion comes first, then each comparison in numbers and in words', { skip }, async () => {
  const data = STUDIES.plain()
  const page = await open(data)
  assert.equal(await page.textContent('h1'), data.name)
  const first = await page.textContent('[data-testid=conclusion]')
  for (const sentence of data.conclusion) assert.ok(first.includes(sentence), sentence)
  const shown = await rows(page)
  assert.equal(shown.length, data.cases.length * data.arms.length)
  assert.match(shown[0], /^blackhole .*quic .*baseline$/)
  const { ratio, low, high } = data.comparisons[0]
  assert.ok(shown[1].includes(`${ratio.toFixed(2)} ${low.toFixed(2)} – ${high.toFixed(2)}`), shown[1])
  assert.match(shown[1], /▼ lower$/)
  const sentences = await texts(page, '[data-testid=sentences] li span:last-child')
  // A number and its unit stay on one line.
  assert.deepEqual(sentences.map((s) => s.replaceAll('\u00a0', ' ')), data.comparisons.map((c) => c.sentence))
  assert.deepEqual(await texts(page, 'main > section h2'), ['Comparison', 'Distributions', 'Runs'])
  await page.close()
})

test('the comparison is filtered, and sorted by keyboard and mouse', { skip }, async () => {
  const data = STUDIES.plain()
  const page = await open(data)
  const section = page.locator('#comparison')
  await section.getByLabel('case', { exact: true }).selectOption('walk')
  assert.equal((await rows(page)).length, data.arms.length)
  await section.getByLabel('arm', { exact: true }).selectOption('mpquic-backup')
  assert.equal((await rows(page)).length, 1)
  assert.equal(await page.locator('[data-testid=sentences] li').count(), 1)
  await section.getByLabel('case', { exact: true }).selectOption('all')
  const as_given = await rows(page)
  assert.equal(as_given.length, data.cases.length)

  const head = section.locator('thead th', { hasText: 'ratio' }).first()
  await head.locator('button').focus()
  await page.keyboard.press('Enter')
  assert.equal(await head.getAttribute('aria-sort'), 'ascending')
  const ratios = await page.$$eval('[data-testid=comparison] .ratio strong', (all) => all.map((one) => Number(one.textContent)))
  assert.deepEqual(ratios, ratios.toSorted((a, b) => a - b))
  await head.locator('button').click()
  assert.equal(await head.getAttribute('aria-sort'), 'descending')
  await head.locator('button').click()
  assert.deepEqual(await rows(page), as_given)
  await page.close()
})

test('every case has its distributions, and the legend hides an arm in all plots', { skip }, async () => {
  const data = STUDIES.parameters()
  const page = await open(data)
  await drawAll(page)
  assert.equal(await page.locator('[data-testid=distributions] canvas').count(), 12)
  await page.locator('#distributions button', { hasText: 'all 20 cases' }).click()
  await drawAll(page)
  assert.equal(await page.locator('[data-testid=distributions] canvas').count(), 20)
  const entry = (id) => page.locator(`#${id} .legend button`, { hasText: 'mpquic-backup' })
  await entry('distributions').focus()
  await page.keyboard.press('Space')
  assert.equal(await entry('distributions').getAttribute('aria-pressed'), 'false')
  assert.equal(await entry('parameters').getAttribute('aria-pressed'), 'false')
  const plot = page.locator('[data-testid=distributions] .plot').first()
  await plot.focus()
  await page.keyboard.press('ArrowRight')
  const readout = page.locator('[data-testid=distributions] .readout').first()
  await page.waitForFunction((e) => e.textContent.includes('mpquic-fullmesh'), await readout.elementHandle())
  assert.match(await readout.textContent(), /^[\d.]+ m?s · quic \d+ % /)
  assert.doesNotMatch(await readout.textContent(), /backup/)

  // Any metric, on a log axis or a linear one.
  const section = page.locator('#distributions')
  for (const metric of data.metrics) {
    await section.getByLabel('metric', { exact: true }).selectOption({ index: data.metrics.indexOf(metric) })
    assert.match(await section.locator('.caption').textContent(), new RegExp(metric.summary.replace(/[()]/g, '.')))
  }
  await page.close()
})

test('stalled runs are bounds, and their curves are explained', { skip }, async () => {
  const data = STUDIES.censored()
  const page = await open(data)
  assert.match(await page.textContent('[data-testid=survival-note]'), /Kaplan and Meier/)
  const notes = await texts(page, '[data-testid=distributions] h4 .note')
  assert.deepEqual(notes.map((note) => note.split(',')[0]), ['survival', 'survival', 'survival', 'survival', 'CDF'])
  await page.locator('#distributions label', { hasText: /^\s*CDF/ }).click()
  assert.ok((await texts(page, '[data-testid=distributions] h4 .note')).every((note) => note.startsWith('CDF')))
  const [quic, fullmesh, backup] = await rows(page)
  assert.match(quic, /≥ 19\.9 s/)
  assert.match(fullmesh, /≤ 0\.0\d+ /)
  assert.match(backup, /not estimable/)
  await drawAll(page)
  await page.close()
})

test('a parameter is swept, with the others held', { skip }, async () => {
  const data = STUDIES.parameters()
  const page = await open(data)
  const section = page.locator('#parameters')
  const plot = section.locator('.plot').first()
  await plot.focus()
  await plot.locator('canvas').waitFor()
  await page.keyboard.press('Home')
  const readout = section.locator('.readout').first()
  const { median } = data.groups[0]
  await page.waitForFunction((e) => e.textContent !== '', await readout.elementHandle())
  assert.ok((await readout.textContent()).startsWith(`cellular-delay 10 ms · quic ${median.toFixed(2)} s`), await readout.textContent())
  await section.getByLabel('queue', { exact: true }).selectOption('shallow')
  assert.match(await section.locator('.caption').textContent(), /at queue shallow/)
  await section.getByLabel('against', { exact: true }).selectOption('queue')
  assert.match(await section.locator('.caption').textContent(), /at cellular-delay 10 ms/)
  await drawAll(page)
  await page.close()
})

test('an A/A study shows its coverage, and warns where it is too low', { skip }, async () => {
  const data = STUDIES.aa()
  let page = await open(data)
  assert.match(await page.textContent('[data-testid=coverage]'), /93\.3.%.*56 of 60/)
  assert.equal(await page.locator('.missed').count(), 0)
  // Said once.
  assert.doesNotMatch(await page.textContent('[data-testid=conclusion]'), /own copy/)
  await page.close()
  Object.assign(data.a_a_coverage, { covering: 48, share: 0.8, low: 0.68, high: 0.88 })
  page = await open(data)
  assert.match(await page.textContent('[data-testid=coverage].missed'), /too narrow/)
  await page.close()
})

test('ten thousand runs are there at once, filtered, sorted and turned over', { skip }, async () => {
  const data = STUDIES.large()
  const file = join(folder, 'large.html')
  writePage(file, data)
  const size = statSync(file).size
  assert.ok(size < 5e6, `${size} bytes`)
  const start = performance.now()
  const page = await open(data)
  await page.waitForSelector('[data-testid=runs] tbody tr')
  const shown = performance.now() - start
  console.log(`10,000 runs: ${(size / 1e6).toFixed(2)} MB, used after ${shown.toFixed(0)} ms`)
  const found = () => page.textContent('[data-testid=found]')
  assert.match(await found(), /runs 1 to 50 of 10,000/)
  await page.getByLabel('last page').click()
  assert.match(await found(), /runs 9,951 to 10,000 of/)

  const section = page.locator('#runs')
  await section.locator('label', { hasText: /^\s*failed/ }).click()
  const failed = data.runs.failed.filter((f) => f).length
  assert.match(await found(), new RegExp(`runs 1 to ${failed} of ${failed}`))
  await section.locator('label', { hasText: /^\s*stalled/ }).click()
  await section.getByLabel('arm', { exact: true }).selectOption('quic')
  const stalled = data.runs.censored['delay-max'].filter((i) => data.runs.arm[i] === 0).length
  assert.match(await found(), new RegExp(`of ${stalled}\\b`))
  await section.locator('label', { hasText: /^\s*all/ }).click()
  const head = section.locator('thead th', { hasText: 'max delay' })
  await head.locator('button').click()
  const least = Math.min(...data.runs.values['delay-max'].filter((v, i) => v != null && data.runs.arm[i] === 0))
  const [first] = await texts(page, '[data-testid=runs] tbody tr')
  assert.ok(first.includes(`${(least * 1000).toFixed(0)} ms`), first)
  await page.close()
})

test('a run has its folder, or else its command', { skip }, async () => {
  const data = study({ seeds: 12, kept: (i) => i === 0 })
  data.runs.folder[0] = 'runs/a b#1'
  const page = await open(data, { permissions: ['clipboard-read', 'clipboard-write'] })
  const links = await page.$$eval('[data-testid=runs] a', (all) => all.map((a) => a.getAttribute('href')))
  assert.deepEqual(links, ['./runs/a%20b%231/'])
  await page.locator('[data-testid=runs] tbody tr').nth(1).getByRole('button').click()
  await page.waitForFunction(() => document.querySelector('[data-testid=runs] tbody button').textContent === 'copied')
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.equal(copied, `${data.runs.reproduce.template[0][1]}${data.runs.seed[1]}`)
  await page.close()
})

test('a phone needs no sideways scrolling, and dark is dark', { skip }, async () => {
  for (const name of ['censored', 'aa', 'parameters']) {
    const page = await open(STUDIES[name](), { viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
    await drawAll(page)
    const widths = await page.$$eval('.scroll, html', (all) => all.map((one) => one.scrollWidth))
    assert.ok(Math.max(...widths) <= 360, `${name} is ${widths} px wide`)
    assert.equal(await page.getAttribute('html', 'data-theme'), 'dark')
    await page.close()
  }
})

test("a paper's numbers stand beside the study's, with a verdict", { skip }, async () => {
  const data = STUDIES.paper()
  let page = await open(data)
  assert.deepEqual(await texts(page, 'main > section h2'), ['Against the paper', 'Comparison', 'Distributions', 'Parameters against metric', 'Runs'])
  assert.match(await page.textContent('[data-testid=verdict].reproduced'), /reproduced\s+in the virtual world: It is halved/)
  const criteria = await texts(page, '[data-testid=criteria] tbody tr')
  assert.match(criteria[0], /with loss it is halved 0\.40 to 0\.65 0\.50 = 275 ms \/ 550 ms ✓ met$/)
  const plot = page.locator('#paper .plot').first()
  await plot.focus()
  await plot.locator('canvas').waitFor()
  await page.keyboard.press('End')
  const readout = page.locator('#paper .readout').first()
  await page.waitForFunction((e) => e.textContent !== '', await readout.elementHandle())
  assert.equal(await readout.textContent(), 'loss 100 % · default 600 ms · follow 300 ms, paper 275 ms')
  // A curve is hidden with the paper's side of it.
  await page.locator('#paper .legend button', { hasText: 'follow' }).click()
  await plot.focus()
  await page.keyboard.press('Home')
  await page.waitForFunction((e) => e.textContent.startsWith('loss 0'), await readout.elementHandle())
  assert.equal(await readout.textContent(), 'loss 0 % · default 30 ms, paper 30 ms')
  await drawAll(page)
  assert.equal(await page.locator('[data-testid=paper-figure] canvas').count(), 2)
  await page.close()

  page = await open(STUDIES.missed(), { viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
  assert.match(await page.textContent('[data-testid=verdict].not-reproduced'), /not reproduced/)
  assert.match((await texts(page, '[data-testid=criteria] tbody tr'))[1], /missed$/)
  const widths = await page.$$eval('.scroll, html', (all) => all.map((one) => one.scrollWidth))
  assert.ok(Math.max(...widths) <= 360, `${Math.max(...widths)} px wide`)
  await page.close()
})

test('a study without runs says so', { skip }, async () => {
  const data = study({ seeds: 0, scenarios: [] })
  Object.assign(data, { conclusion: [] })
  const page = await open(data)
  assert.match(await page.textContent('[data-testid=comparison]'), /Nothing to compare/)
  assert.match(await page.textContent('#distributions .nothing'), /No run/)
  assert.match(await page.textContent('[data-testid=runs]'), /No run/)
  await page.close()
})
