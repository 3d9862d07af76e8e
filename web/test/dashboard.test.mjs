// Does the dashboard show what the collector has, live and stored, to everyone, and only from there?
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { chromium as driver } from 'playwright-core'
import { collector, hostile, HOSTILE, runs, TEST } from './collector.mjs'
import { faint } from './contrast.mjs'
import { chromium, drawAll } from './page.mjs'

const executablePath = chromium()
if (!executablePath && process.env.CI) throw new Error('no Chromium here: apt-get install chromium')
const skip = executablePath ? false : 'no Chromium here: apt-get install chromium'

const RUN = runs()[2].id
const PAGES = ['/live', `/live/${TEST}`, '/runs', `/runs/${RUN}`, '/compare', '/usage']

let browser
before(async () => {
  if (!skip) browser = await driver.launch({ executablePath, args: ['--no-sandbox'] })
})
after(() => browser?.close())

/** A page of `served`; whatever it complains about or asks another host for fails the test. */
async function open(served, path, { expected = [], ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const complaints = []
  const complain = (text) => expected.some((one) => one.test(text)) || complaints.push(text)
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && complain(m.text()))
  page.on('pageerror', (error) => complain(error.message))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== served.origin) complain(`asked for ${request.url()}`)
  })
  page.visit = async (path) => {
    await page.goto(served.origin + path)
    await page.waitForSelector('h1')
  }
  await page.visit(path)
  page.close = async () => {
    const hacked = await page.evaluate(() => window.hacked)
    await context.close()
    assert.equal(hacked, undefined, 'a text of the collector was executed')
    assert.deepEqual(complaints, [])
  }
  return page
}

/** A test with a collector of its own. */
function served(name, options, body) {
  test(name, { skip, timeout: 60_000 }, async () => {
    const one = await collector(options)
    try {
      await body(one)
    } finally {
      await one.close()
    }
  })
}

const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.innerText.trim().replace(/\s+/g, ' ')))
const rows = (page) => page.locator('[data-testid=runs] tbody tr').count()
/** Waits until the explorer says `words`. */
const found = (page, words) => page.waitForFunction((words) => document.querySelector('[data-testid=found]')?.textContent.includes(words), words)

served('a running test is found, and its view moves within a second of what happens', { ago: 2 }, async (one) => {
  const page = await open(one, '/')
  const link = page.locator('[data-testid=running] a')
  await link.waitFor()
  assert.match(await page.textContent('[data-testid=running]'), /walk.*near/)
  await link.click()
  assert.equal(await page.evaluate(() => location.pathname), `/live/${TEST}`)
  const panel = page.locator('[data-run=mptcp-backup]')
  await panel.locator('canvas').waitFor()
  await page.waitForFunction(() => document.querySelector('[data-run=mptcp-backup] [data-testid=path]').textContent === 'wifi')

  const answered = async () => Number((await panel.locator('[data-testid=answered]').textContent()).replace(',', ''))
  const ink = () => panel.locator('canvas').evaluate((canvas) => canvas.toDataURL())
  const [before, drawn] = [await answered(), await ink()]
  await page.waitForFunction((n) => Number(document.querySelector('[data-run=mptcp-backup] [data-testid=answered]').textContent) > n + 5, before)
  assert.notEqual(await ink(), drawn, 'the plot does not move')

  // From what happens at the collector to what is on the page, the best of three on a busy machine.
  const late = []
  for (const action of ['waited', 'watched', 'wondered']) {
    const shown = page.waitForFunction((action) => document.querySelector('[data-testid=entries]').textContent.includes(action) && Date.now(), action, { polling: 20 })
    const at = Date.now()
    one.decide(action)
    late.push((await (await shown).jsonValue()) - at)
  }
  assert.ok(Math.min(...late) < 1000, `shown after ${late} ms`)

  // A stall is shown while it lasts, then the decision with its cause, and the other path.
  one.fade()
  const says = (words) =>
    page.waitForFunction((words) => new RegExp(words).test(document.querySelector('[data-run=mptcp-backup] [data-testid=now]').textContent), words)
  await says('waiting for an answer for [12]')
  assert.equal(await panel.locator('.flags button.waiting').count(), 1)
  await says('messages are answered')
  assert.equal(await panel.locator('[data-testid=path]').textContent(), 'cellular')
  assert.deepEqual(await panel.locator('.strip b').allTextContents(), ['wifi', 'cellular'])
  const decision = page.locator('[data-testid=entries] tr', { hasText: 'opened cellular' }).filter({ hasText: 'mptcp-backup' })
  assert.match(await decision.textContent(), /decision.*opened cellular.*wifi retransmitted: RTO 900 ms/)
  assert.ok((await panel.locator('.flags button.decision').count()) >= 1)
  await page.waitForFunction(() => /mptcp-backup: (opened|data|answered)/.test(document.querySelector('[data-testid=news]').textContent))

  // The plot is read by keyboard while it moves.
  await panel.locator('.plot').focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForFunction(() => / s · (up|down) .*m?s/.test(document.querySelector('[data-run=mptcp-backup] .readout').textContent))

  one.end()
  await says('ended: Wi.Fi was lost')
  one.state.running = false
  await page.waitForFunction(() => document.querySelector('[data-testid=state]').textContent === 'The test is over.')
  await page.getByText('Its runs that were handed in').click()
  assert.equal(await page.evaluate(() => location.pathname + location.search), `/runs?test=${TEST}&invalid=true`)
  await page.close()
})

served('a test that is over shows what was seen of it, and asks no more', { ago: 20, fadesAt: 3 }, async (one) => {
  const early = await open(one, `/live/${TEST}`)
  await early.locator('[data-run=mptcp-backup] canvas').waitFor()
  one.state.running = false
  await early.waitForFunction(() => document.querySelector('[data-testid=state]').textContent === 'The test is over.')
  assert.match(await early.textContent('[data-run=mptcp-backup] [data-testid=now]'), /never said to have ended/)
  await early.close()
  const late = await open(one, `/live/${TEST}`)
  await late.waitForFunction(() => document.querySelector('[data-testid=state]').textContent === 'The test is over.')
  assert.ok((await late.locator('[data-testid=entries] tbody tr').count()) >= 8)
  const asked = () => one.state.asked.filter((url) => url.endsWith('/events')).length
  assert.equal(asked(), 2)
  await late.waitForResponse((response) => response.url().endsWith('/live'))
  await late.waitForResponse((response) => response.url().endsWith('/live'))
  assert.equal(asked(), 2)
  await late.close()
})

served('a connection that breaks is taken up where it was, nothing twice', { ago: 8, fadesAt: 3 }, async (one) => {
  const page = await open(one, `/live/${TEST}`, { expected: [/ERR_|Failed to load/] })
  await page.locator('[data-run=mptcp-backup] canvas').waitFor()
  await page.waitForFunction(() => document.querySelector('[data-testid=state]').textContent === 'Running.')
  one.hangUp()
  await page.waitForFunction(() => /connection .* is lost/.test(document.querySelector('[data-testid=state]').textContent))
  await page.waitForFunction(() => document.querySelector('[data-testid=state]').textContent === 'Running.', null, { timeout: 15_000 })
  assert.equal(one.state.resumed.length, 2)
  assert.ok(one.state.resumed[1] > 50, `resumed at ${one.state.resumed}`)
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=entries] tbody tr').length >= 8)
  const entries = await texts(page, '[data-testid=entries] tbody tr')
  assert.equal(new Set(entries).size, entries.length, entries.join('\n'))
  assert.ok(entries.every((entry) => !entry.includes('×')), entries.join('\n'))
  await page.close()
})

served('filters are in the address, change the rows, and pages turn', {}, async (one) => {
  const page = await open(one, '/runs')
  const valid = runs().filter((run) => run.invalid === null)
  await found(page, `50 of ${valid.length} runs`)
  assert.ok((await page.locator('[data-testid=runs] .bad', { hasText: '≥ 41.2 s' }).count()) > 3)

  await page.getByLabel('transport', { exact: true }).selectOption('mptcp')
  const mptcp = valid.filter((run) => run.transport === 'mptcp')
  await found(page, `of ${mptcp.length} runs`)
  assert.equal(await page.evaluate(() => location.search), '?transport=mptcp')
  assert.ok(one.state.asked.includes('/api/v1/runs?transport=mptcp'))
  await page.getByLabel('longest delay at least [s]').fill('1')
  await page.keyboard.press('Enter')
  const slow = mptcp.filter((run) => (run.metrics['delay-max-up']?.value ?? 0) >= 1)
  await found(page, `of ${slow.length} runs`)
  assert.equal(await page.evaluate(() => location.search), '?transport=mptcp&delay_max_s=1')
  assert.ok((await texts(page, '[data-testid=runs] tbody th')).every((name) => name.startsWith('mptcp')))
  await page.goBack()
  await found(page, `of ${mptcp.length} runs`)
  assert.equal(await page.getByLabel('longest delay at least [s]').inputValue(), '')

  // Dates are days in UTC; those that do not count come when asked for, with the reason.
  await page.getByLabel('stored from').fill('2026-11-20')
  await found(page, `of ${mptcp.filter((run) => run.stored_at >= '2026-11-20').length} runs`)
  assert.equal(new URLSearchParams(await page.evaluate(() => location.search)).get('from'), '2026-11-20T00:00:00Z')
  await page.getByRole('button', { name: 'clear all' }).click()
  await page.getByLabel('also those that do not count').check()
  await found(page, `of ${runs().length} runs`)
  assert.equal(await page.locator('[data-testid=runs] tr', { hasText: 'does not count: the interfaces changed' }).count(), 2)

  // Pages by key, there and back.
  const first = await texts(page, '[data-testid=runs] tbody tr')
  await page.getByRole('button', { name: 'older' }).click()
  await found(page, 'an older page')
  const second = await texts(page, '[data-testid=runs] tbody tr')
  assert.notDeepEqual(second, first)
  await page.getByRole('button', { name: 'older' }).click()
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=runs] tbody tr').length === 30)
  assert.equal(await page.getByRole('button', { name: 'older' }).count(), 0)
  await page.getByRole('button', { name: '‹ newer' }).click()
  await page.waitForFunction((text) => document.querySelector('[data-testid=runs] tbody tr').innerText.replace(/\s+/g, ' ').trim() === text, second[0])
  await page.getByRole('button', { name: 'newest' }).click()
  await page.waitForFunction((text) => document.querySelector('[data-testid=runs] tbody tr').innerText.replace(/\s+/g, ' ').trim() === text, first[0])

  // What is taken away and compared is what is looked at.
  await page.getByLabel('transport', { exact: true }).selectOption('quic')
  await page.waitForFunction(() => document.querySelector('.away a[download]').getAttribute('href').includes('quic'))
  assert.deepEqual(
    await page.$$eval('.away a', (all) => all.map((a) => a.getAttribute('href'))),
    ['/compare?transport=quic', ...['parquet', 'csv', 'json'].map((f) => `/api/v1/export/runs.${f}?transport=quic&invalid=true`)],
  )
  await page.close()
})

served('a shared address shows the same, and a wrong one says what is wrong', {}, async (one) => {
  let page = await open(one, '/runs?transport=mpquic&server=far&family=ipv6')
  const same = runs().filter((r) => r.invalid === null && r.transport === 'mpquic' && r.server === 'far' && r.family === 'ipv6')
  await found(page, `${same.length} of ${same.length} run`)
  await page.waitForFunction(() => [...document.querySelectorAll('option:checked')].map((o) => o.value).includes('mpquic'))
  await page.close()
  page = await open(one, '/runs?policy=nobody')
  await found(page, 'no runs')
  assert.match(await page.textContent('#stored'), /Take a condition away/)
  assert.equal(await page.getByLabel('policy', { exact: true }).inputValue(), 'nobody')
  await page.close()
  page = await open(one, `/runs/${'f'.repeat(32)}`, { expected: [/404/] })
  await page.getByTestId('failure').first().waitFor()
  assert.match(await page.getByTestId('failure').first().textContent(), /there is no run f{32}: it may have been deleted/)
  await page.close()
})

served('a result opens by keyboard, with its report and its tables', {}, async (one) => {
  const page = await open(one, '/runs?transport=mptcp&policy=backup')
  await page.locator('[data-testid=runs] tbody a').first().focus()
  await page.keyboard.press('Enter')
  await page.waitForSelector('#events')
  assert.equal(await page.evaluate(() => location.pathname), `/runs/${RUN}`)
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1')
  assert.equal(await page.textContent('h1'), 'mptcp backup')
  assert.equal(await page.locator('h1').count(), 1)
  await drawAll(page)
  assert.equal(await page.locator('[data-testid=delay] canvas').count(), 1)
  assert.equal(await page.locator('[data-testid=cdf] canvas').count(), 2)
  assert.equal(await page.locator('[data-testid=results] tbody tr').count(), 1)
  const links = await page.$$eval('[data-testid=downloads] a', (all) => all.map((a) => a.getAttribute('href')))
  assert.equal(links.length, 12)
  assert.equal(links[0], `/api/v1/runs/${RUN}/messages.parquet`)
  // Sections are reached within the page, and the time of all plots is one.
  await page.locator('nav[aria-label=Sections] a', { hasText: 'Delay' }).click()
  assert.equal(await page.evaluate(() => location.hash), '#delay')
  const plot = page.locator('[data-testid=delay] .plot')
  await plot.focus()
  await page.keyboard.press('+')
  await page.locator('header button', { hasText: '–' }).waitFor()
  await page.goBack()
  await page.goBack()
  await page.waitForSelector('[data-testid=runs]')
  assert.equal(await page.locator('header button', { hasText: '–' }).count(), 0)
  await page.close()
})

served('arms are compared: curves, stalls in words, ratios, causes, durations', {}, async (one) => {
  const page = await open(one, '/compare')
  await page.waitForSelector('[data-testid=ratios]')
  await drawAll(page)
  assert.equal(await page.locator('[data-testid=delays] canvas').count(), 2)
  assert.match((await texts(page, '[data-testid=stalled] li'))[0], /^tcp: 74 of 240 runs \(31 %\) stalled; the curves end at 69 % up, 69 % down\.$/)
  const ratios = await texts(page, '[data-testid=ratios] tbody tr')
  assert.equal(ratios.length, 10)
  assert.match(ratios[0], /^tcp to quic 1\.90 1\.63 – 2\.22 .*160 36 ▲ tcp is longer$/)
  assert.match(ratios[9], / 1\.40 .*3 0 … too few tests$/)
  const causes = await texts(page, '[data-testid=causes] tbody tr')
  assert.match(causes[2], /^mptcp backup cellular used in 200 of 212 runs RTT above threshold 5 of 200 2\.5 %$/)
  assert.match(causes[3], /^under RTO 132 of 200 66 %$/)
  assert.equal(await page.locator('[data-testid=durations] canvas').count(), 1)

  // Hidden in one plot, hidden in all.
  const entry = (id) => page.locator(`#${id} .legend button`, { hasText: 'mptcp backup' })
  await entry('delays').focus()
  await page.keyboard.press('Space')
  assert.equal(await entry('durations').getAttribute('aria-pressed'), 'false')
  await page.locator('[data-testid=delays] .plot').first().focus()
  await page.keyboard.press('End')
  await page.waitForFunction(() => /tcp 69 %/.test(document.querySelector('[data-testid=delays] .readout').textContent))
  assert.doesNotMatch(await page.textContent('[data-testid=delays] .readout'), /backup 98/)

  await page.getByLabel('transport', { exact: true }).selectOption('mptcp')
  await found(page, 'of 2 arms')
  assert.equal(await page.evaluate(() => location.search), '?transport=mptcp')
  await page.close()
})

served('usage is counted, drawn and listed', {}, async (one) => {
  const page = await open(one, '/usage')
  await page.waitForSelector('[data-testid=days] canvas')
  assert.match(await page.textContent('.lead'), /12,345 runs in 2,469 tests; 321 of them do not count/)
  assert.deepEqual(await texts(page, '[data-testid=servers] tbody tr'), ['near 7,800 63 %', 'far 4,545 37 %'])
  await page.locator('[data-testid=days] .plot').focus()
  await page.keyboard.press('End')
  await page.waitForFunction(() => /^2026-11-21 · \d+ runs$/.test(document.querySelector('[data-testid=days] .readout').textContent))
  await page.locator('[data-testid=transports] a', { hasText: 'mpquic' }).click()
  assert.equal(await page.evaluate(() => location.pathname + location.search), '/runs?transport=mpquic')
  await page.close()
})

served('what is not there yet, is empty, fails or cannot be reached is said', {}, async (one) => {
  one.state.delay = 700
  let page = await open(one, '/runs')
  assert.match(await page.textContent('#stored [role=status]'), /Asking the collector for the runs/)
  await found(page, 'runs')
  await page.close()
  one.state.delay = 0

  Object.assign(one.state, { running: false, runs: [], comparison: { arms: [], pairs: [], notes: [] }, usage: { runs: 0, tests: 0, invalid: 0, per_day: [], platforms: [], networks: [], servers: [], transports: [] } })
  page = await open(one, '/live', { expected: [/404|503|ERR_/] })
  for (const [path, words] of [
    ['/live', /No test runs now/],
    ['/runs', /No run is stored yet/],
    ['/compare', /No stored run that counts is like this/],
    ['/usage', /No run is stored yet/],
    [`/live/${'e'.repeat(32)}`, /This test does not run now/],
  ]) {
    await page.visit(path)
    await page.waitForFunction((source) => new RegExp(source).test(document.querySelector('main').textContent), words.source)
  }
  Object.assign(one.state, { running: true, runs: undefined, comparison: undefined, usage: undefined })

  const title = 'the store does not answer: try again in a minute'
  one.state.problem = { type: 'unavailable', title, status: 503, retry_after_seconds: 60 }
  for (const path of PAGES.filter((path) => path !== `/live/${TEST}`)) {
    await page.visit(path)
    await page.getByTestId('failure').first().waitFor()
    assert.match(await page.getByTestId('failure').first().textContent(), /the store does not answer.*again in 60 s/)
  }

  // Tried again by hand, and by itself when a network is back.
  one.state.problem = null
  await page.visit('/usage')
  await page.waitForSelector('[data-testid=servers]')
  await page.context().setOffline(true)
  await page.locator('nav a', { hasText: 'Runs' }).click()
  await page.getByText('This device is offline').waitFor()
  await page.context().setOffline(false)
  await found(page, 'of 125 runs')
  one.state.down = true
  await page.getByLabel('transport', { exact: true }).selectOption('tcp')
  await page.getByText('The collector cannot be reached').waitFor()
  assert.match(await page.textContent('[data-testid=failure]'), /What is shown below is older/)
  one.state.down = false
  await page.getByRole('button', { name: 'try again' }).click()
  await page.getByTestId('failure').waitFor({ state: 'detached' })
  assert.ok((await rows(page)) > 0)
  await page.close()
})

served('no text of the collector is more than text', { spoil: hostile, ago: 6, fadesAt: 2 }, async (one) => {
  const page = await open(one, '/live', { viewport: { width: 360, height: 740 } })
  for (const path of PAGES) {
    await page.visit(path)
    await page.waitForFunction((text) => document.querySelector('main').textContent.includes(text), HOSTILE)
    await drawAll(page)
    for (const flag of (await page.$$('.flags button')).slice(0, 2)) await flag.focus()
    assert.equal(await page.locator('main img, main script').count(), 0)
    // Long words have to break, too.
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(width <= 360, `${path} is ${width} px wide`)
    assert.equal(await page.evaluate(() => window.hacked), undefined, path)
  }
  await page.close()
})

served('every page is reached and used by keyboard', {}, async (one) => {
  const page = await open(one, '/live')
  await page.locator('[data-testid=running] a').waitFor()
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim().replace(/\s+/g, ' '))
  const order = []
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press('Tab')
    order.push(await focused())
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle)
    assert.notEqual(outline, 'none', `no outline around ${order.at(-1)}`)
  }
  assert.deepEqual(order.slice(0, 7), ['Skip to the content', 'Walkabout', 'Live', 'Runs', 'Compare', 'Usage', 'colours: auto'])
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Shift+Tab')
  assert.equal(await focused(), 'Runs')
  await page.keyboard.press('Enter')
  await found(page, 'runs')
  // Who listens is told where they are now.
  assert.equal(await focused(), 'Runs')
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1')
  assert.equal(await page.title(), 'Runs · Walkabout')
  assert.equal(await page.getAttribute('nav a[aria-current]', 'href'), '/runs')
  // A filter is set without a mouse, and the focus stays on it.
  await page.getByLabel('server', { exact: true }).focus()
  await page.keyboard.press('ArrowDown')
  await page.waitForFunction(() => location.search === '?server=far')
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SELECT')
  // The skip link leads past the bar.
  await page.locator('.skip').focus()
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main')
  await page.close()
})

for (const colorScheme of ['light', 'dark']) {
  served(`${colorScheme}: readable, named, and no wider than a phone`, { ago: 11, fadesAt: 4 }, async (one) => {
    const page = await open(one, '/live', { colorScheme, reducedMotion: 'reduce' })
    for (const path of PAGES) {
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.visit(path)
      await page.waitForFunction(() => document.querySelector('main table, main .panels'))
      if (path.startsWith('/runs/')) await page.waitForSelector('#events')
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 })
        await drawAll(page)
        for (const summary of await page.$$('.filters:not([open]) summary')) await summary.click()
        const at = `${path} at ${width} px, ${colorScheme}`
        const wide = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.ok(wide <= width, `${at} is ${wide} px wide`)
        assert.deepEqual(await page.evaluate(faint), [], at)
      }
      assert.equal(await page.getAttribute('html', 'data-theme'), colorScheme)
      assert.equal(await page.getAttribute('html', 'lang'), 'en')
      for (const landmark of ['header', 'nav', 'main', 'footer']) assert.ok((await page.locator(landmark).count()) >= 1, `${path}: ${landmark}`)
      assert.equal(await page.locator('h1').count(), 1, path)
      const nameless = await page.$$eval('input, select, button, a', (all) =>
        all.filter((one) => !(one.labels?.[0]?.textContent ?? one.getAttribute('aria-label') ?? one.textContent).trim()).map((one) => one.outerHTML),
      )
      assert.deepEqual(nameless, [], path)
      const ids = await page.$$eval('[id]', (all) => all.map((one) => one.id))
      assert.deepEqual(ids.filter((id, i) => ids.indexOf(id) !== i), [], path)
    }
    await page.close()
  })
}

served('the colours are chosen here, and stay', {}, async (one) => {
  const page = await open(one, '/usage', { colorScheme: 'dark' })
  await page.waitForSelector('[data-testid=days] canvas')
  await page.locator('[data-testid=theme]').click()
  assert.equal(await page.getAttribute('html', 'data-theme'), 'light')
  await page.reload()
  await page.waitForSelector('[data-testid=days] canvas')
  assert.equal(await page.getAttribute('html', 'data-theme'), 'light')
  await page.close()
})
