// What does the dashboard talk to in its tests? A collector that is made up: the built page, canned
// results, and a test that runs for as long as the collector does.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fixture } from './page.mjs'

const DIST = new URL('../dist/dashboard/', import.meta.url)
const PAGES = /^\/(live|runs|compare|usage)?(\/[^/]+)?$/
const KINDS = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', txt: 'text/plain' }
/** As the collector sends it. */
const POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'"

/** Text that must stay text: each would show itself in `window.hacked`. */
export const HOSTILE = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'

const hex = (n) => n.toString(16).padStart(32, '0')
export const TEST = hex(0xa11ce)
const ARMS = [
  ['tcp', 'single'],
  ['quic', 'single'],
  ['mptcp', 'backup'],
  ['mptcp', 'break-before-make'],
  ['mpquic', 'backup'],
]

/** 130 runs, the newest first. */
export function runs() {
  return Array.from({ length: 130 }, (_, i) => {
    const [transport, policy] = ARMS[i % ARMS.length]
    const isMobile = policy !== 'single'
    const stalls = i % 7 === 3
    const delay = 0.05 * 1.05 ** (i % 90)
    return {
      id: hex(i + 1),
      test: hex(0xbeef00 + Math.floor(i / 5)),
      started_at: `2026-11-${String(21 - Math.floor(i / 10)).padStart(2, '0')}T10:${String(59 - (i % 50)).padStart(2, '0')}:00Z`,
      stored_at: `2026-11-${String(21 - Math.floor(i / 10)).padStart(2, '0')}T11:00:00Z`,
      experiment: isMobile ? 'walk' : 'stable',
      mode: isMobile ? 'mobile' : 'stable',
      server: i % 3 ? 'near' : 'far',
      transport,
      policy,
      pattern: i % 11 === 5 ? 'bulk' : 'interactive',
      family: i % 4 ? 'ipv4' : 'ipv6',
      port: i % 6 ? 443 : 6121,
      status: i % 40 === 39 ? 'incomplete' : 'complete',
      invalid: i % 25 === 24 ? 'the interfaces changed: cell0 appeared after 12.4 s' : null,
      ended: isMobile ? 'wifi-lost' : 'done',
      networks: isMobile ? 'wifi+cellular' : 'wifi',
      duration_us: 80e6 + i * 1e5,
      walkabout_version: '0.1.0',
      publish: i % 2 === 0,
      metrics: {
        ...(i % 11 === 5
          ? { 'completion-time': { value: 3.2, censored: false } }
          : {
              'delay-max-up': { value: stalls ? 41.2 : delay, censored: stalls },
              'delay-max-down': { value: delay * 0.7, censored: false },
            }),
        ...(isMobile && { 'handover-sent': { value: i % 9 ? 12.5 : -0.8, censored: false }, 'cellular-cause': 'under-rto' }),
      },
    }
  })
}

/** As the store filters. */
function matching(all, query) {
  const given = (key) => query.get(key)
  return all.filter(
    (run) =>
      ['test', 'experiment', 'mode', 'server', 'transport', 'policy', 'pattern', 'family'].every(
        (key) => given(key) === null || run[key] === given(key),
      ) &&
      (given('from') === null || run.stored_at >= given('from')) &&
      (given('to') === null || run.stored_at < given('to')) &&
      (given('invalid') === 'true' || run.invalid == null) &&
      (given('publish') === null || String(run.publish) === given('publish')) &&
      (given('delay_max_s') === null || (run.metrics['delay-max-up']?.value ?? 0) >= Number(given('delay_max_s'))),
  )
}

const KEYS = ['test', 'experiment', 'mode', 'server', 'transport', 'policy', 'pattern', 'family', 'from', 'to', 'invalid', 'delay_max_s', 'publish', 'limit', 'after']

function page(all, query) {
  const found = matching(all, query)
  const limit = Number(query.get('limit') ?? 50)
  const from = query.has('after') ? found.findIndex((run) => run.id === query.get('after')) + 1 : 0
  const shown = found.slice(from, from + limit)
  return {
    runs: shown,
    total: found.length,
    total_is_lower_bound: false,
    next: from + limit < found.length ? shown.at(-1).id : null,
  }
}

function cdf(scale, stalled, from = 0) {
  const count = 80
  return Array.from({ length: Math.round(count * (1 - stalled)) }, (_, i) => ({
    seconds: from + scale * Math.exp(2.2 * (i / count - 0.5) * 2),
    share: (i + 1) / count,
  }))
}

export function comparison(query = new URLSearchParams()) {
  const only = query.get('transport')
  const arms = ARMS.filter(([transport]) => only === null || transport === only).map(([transport, policy], i) => {
    const stalled = [0.31, 0.18, 0.02, 0, 0.05][i] ?? 0
    const isMobile = policy !== 'single'
    return {
      arm: { transport, policy },
      runs: 240 - 11 * i,
      stalled: Math.round((240 - 11 * i) * stalled),
      delay_max_up: cdf(2.6 / (i + 1), stalled),
      delay_max_down: cdf(3.4 / (i + 1), stalled),
      handover_duration: isMobile ? cdf(9 / (i + 1), 0, -3 + i / 3) : [],
      causes: isMobile
        ? [
            { cause: 'none', runs: 12 },
            { cause: 'under-rto', runs: 134 - i },
            { cause: 'rtt-threshold', runs: 5 },
            { cause: 'rto-threshold', runs: 22 + i },
            { cause: 'other', runs: 39 },
          ]
        : [{ cause: 'none', runs: 240 - 11 * i }],
    }
  })
  const pairs = []
  arms.forEach((a, i) =>
    arms.slice(i + 1).forEach((b, j) => {
      const ratio = [1.9, 3.1, 4.0, 2.2, 1.02, 0.4, 1.3, 0.97, 1.1, 0.6][(i * 4 + j) % 10]
      pairs.push({ a: a.arm, b: b.arm, tests: 160 - 9 * i, stalled: 12 * (3 - Math.min(i, 3)), median: ratio, low: ratio * 0.86, high: ratio * 1.17 })
    }),
  )
  if (pairs.length > 1) Object.assign(pairs.at(-1), { tests: 3, median: 1.4, low: null, high: null })
  return { arms, pairs, notes: ['Runs of one test are compared with each other; runs that do not count are left out.'] }
}

const usage = () => ({
  runs: 12_345,
  tests: 2_469,
  invalid: 321,
  per_day: Array.from({ length: 30 }, (_, i) => ({
    of: new Date(Date.UTC(2026, 9, 23 + i)).toISOString().slice(0, 10),
    runs: i === 7 ? 0 : Math.round(300 + 180 * Math.sin(i / 2.3) + 9 * i),
  })),
  platforms: [{ of: 'Linux 6.18.2 x86_64', runs: 8_000 }, { of: 'Linux 6.12.0 aarch64', runs: 4_345 }],
  networks: [{ of: 'wifi+cellular', runs: 9_001 }, { of: 'wifi', runs: 3_000 }, { of: 'ethernet', runs: 344 }],
  servers: [{ of: 'near', runs: 7_800 }, { of: 'far', runs: 4_545 }],
  transports: [{ of: 'mptcp', runs: 5_000 }, { of: 'mpquic', runs: 4_000 }, { of: 'quic', runs: 2_345 }, { of: 'tcp', runs: 1_000 }],
})

const metadata = () => ({
  name: 'The collector of the tests',
  walkabout_version: '0.1.0',
  consent: { version: '0123456789abcdef', text: 'Agree.', retention_days: 90 },
  servers: [{ id: 'near', place: 'Next door' }, { id: 'far', place: 'Far away' }],
  experiments: [
    { name: 'stable', summary: 's', mode: 'stable', transports: ['tcp', 'quic', 'mptcp', 'mpquic'], policies: ['backup'], traffic: [{ traffic: { interactive: {} }, seconds: 10 }, { traffic: { bulk: {} }, seconds: 10 }] },
    { name: 'walk', summary: 'w', mode: 'mobile', transports: ['mptcp', 'mpquic'], policies: ['backup', 'break-before-make'], traffic: [{ traffic: { interactive: {} }, seconds: 300 }] },
  ],
})

/** The report of one run, from the report's own fixture. */
export function report(run) {
  const data = fixture()
  const [scenario] = data.scenarios
  scenario.runs = scenario.runs.filter((r) => r.transport === run.transport && r.policy === run.policy).slice(0, 1)
  scenario.results.rows = scenario.results.rows.filter((r) => r.transport === run.transport && r.policy === run.policy)
  return data
}

/** Every text in `value` is hostile too; what is a key, an id or a time stays. */
export function hostile(value, key = '') {
  if (Array.isArray(value)) return value.map((one) => hostile(one, key))
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hostile(one, name)]))
  }
  return typeof value === 'string' && !['id', 'format', 'next', 'name_of_metric', 'direction', 'side', 'seed'].includes(key) ? `${value}${HOSTILE}` : value
}

/** What two runs of a test on a walk see, a message each way every 100 ms; Wi-Fi fades at `state.fadesAt` s. */
function* walk(state) {
  const paths = ['wifi', 'cellular']
  const item = (run, at, event) => ({ at, item: { run, time_us: Math.round(at * 1e6), event } })
  const names = [['mptcp-backup', 'mptcp', 'backup', 3], ['mpquic-break-before-make', 'mpquic', 'break-before-make', 0.6]]
  for (const [run, transport, policy] of names) {
    yield item(run, 0, { started: { transport, policy, pattern: 'interactive', paths } })
    yield item(run, 0.001, { 'path-in-use': { path: 'wifi' } })
  }
  const over = new Map()
  for (let tick = 1; ; tick++) {
    const at = tick / 10
    const fade = state.fadesAt
    for (const [run, , , stall] of names) {
      const since = at - fade
      if (since >= 0 && since < stall) {
        if (since > 0.2) yield item(run, at, { waiting: { waited_us: Math.round(since * 1e6) } })
        continue
      }
      if (since >= stall && !over.has(run)) {
        over.set(run, true)
        yield item(run, at, { decision: { action: 'opened', path: 'cellular', cause: `wifi retransmitted: RTO ${(stall * 300).toFixed(0)} ms` } })
        yield item(run, at, { 'path-in-use': { path: 'cellular' } })
        for (let lost = 0; lost < stall * 10; lost++) {
          yield item(run, at, { message: { direction: 'up', delay_us: Math.round((stall - lost / 10) * 1e6) } })
          yield item(run, at, { message: { direction: 'down', delay_us: Math.round((stall - lost / 10) * 0.9e6) } })
        }
      }
      const base = since >= 0 ? 62_000 : 28_000
      yield item(run, at, { message: { direction: 'up', delay_us: base + ((tick * 7919) % 9000) } })
      yield item(run, at, { message: { direction: 'down', delay_us: base * 0.9 + ((tick * 104_729) % 12_000) } })
      if (tick % 10 === 0) yield item(run, at, { signal: { path: 'wifi', signal_dbm: -55 - Math.min(at * 2, 33) } })
    }
    if (!over.has('path') && at >= fade + 5) {
      over.set('path', true)
      for (const [run] of names) yield item(run, at, { path: { path: 'wifi', up: false } })
    }
  }
}

/**
 * Starts the collector. `spoil` changes every answer; `state.down` refuses all, `state.problem` answers
 * with a problem, `state.running` says whether a test runs.
 */
export async function collector({ spoil = (x) => x, ago = 4, fadesAt = Infinity } = {}) {
  const state = { down: false, problem: null, running: true, ended: false, asked: [], resumed: [], delay: 0, fadesAt }
  const began = Date.now() - ago * 1000
  const items = walk(state)
  const known = []
  let next = items.next().value
  /** Everything that has happened by now. */
  const upToNow = () => {
    while (!state.ended && next.at <= now()) {
      known.push(next.item)
      next = items.next().value
    }
    return known
  }
  const now = () => (Date.now() - began) / 1000
  /** Adds a decision of this moment. */
  const decide = (action) => {
    upToNow()
    known.push({ run: 'mptcp-backup', time_us: Math.round(now() * 1e6), event: { decision: { action, path: 'wifi', cause: 'asked to' } } })
  }
  const end = () => {
    upToNow()
    state.ended = true
    for (const run of ['mptcp-backup', 'mpquic-break-before-make']) {
      known.push({ run, time_us: Math.round(now() * 1e6), event: { ended: { why: 'wifi-lost' } } })
    }
  }
  const streams = new Set()

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, 'http://collector')
    const { pathname: path, searchParams: query } = url
    response.setHeader('Content-Security-Policy', POLICY)
    if (!path.startsWith('/api/')) return file(path, response)
    state.asked.push(request.url)
    if (state.down) return request.socket.destroy()
    const json = (value, status = 200) => {
      response.writeHead(status, { 'Content-Type': status === 200 ? 'application/json' : 'application/problem+json' })
      response.end(JSON.stringify(value))
    }
    if (state.problem) return json(state.problem, state.problem.status)
    if (state.delay) await new Promise((done) => setTimeout(done, state.delay))
    const problem = (title, status = 404) => json({ type: 'not-found', title, status }, status)
    const api = path.slice('/api/v1'.length)
    if (api === '/metadata') return json(spoil(metadata()))
    if (api === '/usage') return json(spoil(state.usage ?? usage()))
    if (api === '/compare') return json(spoil(state.comparison ?? comparison(query)))
    if (api === '/live') {
      const running = state.running
        ? [{ test: TEST, experiment: 'walk', server: 'near', since: new Date(began).toISOString(), heard_at: new Date().toISOString(), runs: ['mptcp-backup', 'mpquic-break-before-make'] }]
        : []
      return json(spoil(running).map((test) => ({ ...test, test: TEST })))
    }
    if (api === `/live/${TEST}/events`) return stream(request, response)
    if (api === '/runs') {
      const unknown = [...query.keys()].find((key) => !KEYS.includes(key))
      if (unknown) return problem(`unknown filter \`${unknown}\``, 422)
      return json(spoil(page(state.runs ?? runs(), query)))
    }
    const [, id, part] = /^\/runs\/([^/]+)(\/report)?$/.exec(api) ?? []
    const run = runs().find((one) => one.id === id)
    if (run) return json(spoil(part ? report(run) : run))
    return problem(`there is no run ${id ?? path}: it may have been deleted, or its time was over`)
  })

  function stream(request, response) {
    if (!state.running && known.length === 0) return response.writeHead(404).end()
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    let at = Number(request.headers['last-event-id'] ?? 0)
    state.resumed.push(at)
    const push = () => {
      const all = upToNow()
      let text = ''
      for (; at < all.length; at++) text += `id: ${at + 1}\ndata: ${JSON.stringify(spoil(all[at]))}\n\n`
      if (text) response.write(text)
      if (!state.running) response.end('event: over\ndata: {}\n\n')
    }
    push()
    const timer = setInterval(push, 100)
    streams.add(response)
    response.on('close', () => {
      clearInterval(timer)
      streams.delete(response)
    })
  }

  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${server.address().port}`
  return {
    origin,
    state,
    decide,
    /** Wi-Fi fades now, both ways at once. */
    fade: () => (state.fadesAt = Math.ceil(now() * 10) / 10),
    end,
    /** Breaks the connections of who looks live. */
    hangUp: () => streams.forEach((one) => one.destroy()),
    close: () => {
      streams.forEach((one) => one.destroy())
      server.closeAllConnections()
      return new Promise((done) => server.close(done))
    },
  }
}

/** As `dashboard::routes` does. */
function file(path, response) {
  try {
    const isPage = PAGES.test(path) && path !== '/licences.txt'
    const name = isPage ? 'dashboard.html' : path.slice(1)
    const body = readFileSync(new URL(name, DIST))
    const kind = isPage ? 'text/html' : (KINDS[name.split('.').at(-1)] ?? 'application/octet-stream')
    response.writeHead(200, { 'Content-Type': `${kind}; charset=utf-8` })
    response.end(body)
  } catch {
    response.writeHead(404).end()
  }
}
