// What does a study look like? Made-up ones, the same each time, in the shape that
// `analysis::study` writes. Their statistics are plain stand-ins, good enough to be drawn.

/** Mulberry32: a small seeded generator, so that every picture can be made again. */
function random(seed) {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = a
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
const normal = (draw) => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw())
const six = (value) => (value == null ? null : Number(value.toPrecision(6)))

const ARMS = ['quic', 'mpquic-fullmesh', 'mpquic-backup', 'mpquic-apple-interactive', 'mpquic-break-before-make']
const FACTOR = { quic: 1, 'mpquic-fullmesh': 0.42, 'mpquic-backup': 0.55, 'mpquic-apple-interactive': 0.31, 'mpquic-break-before-make': 0.97 }
const SCENARIOS = { blackhole: 2.4, 'blackhole-down': 1.9, 'blackhole-up': 2.1, 'carrier-loss': 0.9, walk: 0.35 }
const METRICS = [
  ['cellular-bytes', 'cellular', 'B', 'IP bytes the client sent and received over cellular paths'],
  ['cellular-share', 'cellular share', '1', 'cellular bytes in those of all paths'],
  ['delay-max', 'max delay', 's', 'longest application delay of any message in either direction'],
  ['delay-median-up', 'median delay up', 's', 'median application delay of the messages from the client'],
  ['delay-p95-up', 'P95 delay up', 's', '95th percentile of the application delay of the messages from the client'],
  ['gap-longest', 'longest gap', 's', 'longest time in which no payload arrived in a direction that had some to carry'],
  ['handover-sent', 'handover (sent)', 's', 'first cellular data sent to the last packet the client sent over Wi-Fi; negative when abrupt'],
  ['unanswered-up', 'unanswered up', '1', 'messages from the client without an answer when the run ended'],
]

/**
 * A study of `cases` (label, scenario, parameters, scale of its delays) x `arms` x `seeds`.
 * `censoring(arm, case)` is the probability that a run stalls to its end.
 */
export function study({
  name = 'handover',
  summary = 'Every way in which Wi-Fi can fail, over the delay of the cellular path',
  scenarios = Object.keys(SCENARIOS),
  parameters = [],
  arms = ARMS,
  seeds = 100,
  censoring = () => 0,
  failing = () => false,
  aa = false,
  kept = (i) => i % 97 === 0,
} = {}) {
  const draw = random(7)
  const end = 30
  const settings = parameters.reduce(
    (list, p) => list.flatMap((set) => p.values.map((value) => [...set, [p.name, value]])),
    [[]],
  )
  const cases = scenarios.flatMap((scenario) =>
    settings.map((set) => ({
      label: [scenario, ...set.map(([n, v]) => `${n}=${v}`)].join(' '),
      scenario,
      parameters: set,
    })),
  )
  const replicas = aa ? 2 : 1
  const runs = { case: [], arm: [], replica: [], seed: [], failed: [], folder: [], reproduce: { template: [] }, values: {}, censored: {} }
  for (const [metric] of METRICS) {
    runs.values[metric] = []
    runs.censored[metric] = []
  }
  const table = cases.map(() => arms.map(() => []))
  cases.forEach((c, ci) => {
    const slower = c.parameters.reduce((f, [n, v]) => f * (n === 'cellular-delay' ? 0.6 + parseFloat(v) / 150 : n === 'queue' ? (v === 'none' ? 0.9 : 1.1) : 1), 1)
    runs.reproduce.template.push(
      arms.map((arm) => {
        const [transport, ...policy] = arm.split('-')
        const set = c.parameters.map(([n, v]) => ` --set ${n}='${v}'`).join('')
        return `walkabout run ${c.scenario} --world virtual --protocol ${transport}${policy.length ? ` --policy ${policy.join('-')}` : ''}${set} --seed `
      }),
    )
    for (let seed = 1; seed <= seeds; seed++) {
      const block = Math.exp(0.25 * normal(draw))
      arms.forEach((arm, ai) => {
        for (let replica = 0; replica < replicas; replica++) {
          const i = runs.case.length
          const failed = failing(i)
          const stalled = !failed && draw() < censoring(arm, c.scenario)
          const factor = aa ? 0.7 + 0.1 * ai : (FACTOR[arm] ?? 0.8)
          const delay = (SCENARIOS[c.scenario] ?? 1) * slower * block * factor * Math.exp(0.3 * normal(draw))
          const most = failed ? null : stalled ? end - 10 - draw() * 0.1 : delay
          runs.case.push(ci)
          runs.arm.push(ai)
          runs.replica.push(replica)
          runs.seed.push(seed + replica * seeds)
          runs.failed.push(failed ? 1 : 0)
          runs.folder.push(kept(i) ? `runs/${c.scenario}-${ci}-${arm}-${seed}` : null)
          const cellular = arm === 'quic' ? 0 : 4e5 * (1 + draw())
          const values = {
            'cellular-bytes': Math.round(cellular),
            'cellular-share': cellular / 2e6,
            'delay-max': most,
            'delay-median-up': 0.042 + 0.004 * draw(),
            'delay-p95-up': 0.05 + 0.05 * draw() * (most ?? 1),
            'gap-longest': most == null ? null : most * 0.93,
            'handover-sent': arm === 'quic' ? null : -0.4 + 0.2 * normal(draw),
            'unanswered-up': stalled ? Math.round((most ?? 0) * 10) : 0,
          }
          for (const [metric] of METRICS) {
            runs.values[metric].push(failed ? null : six(values[metric]))
            if (stalled && (metric === 'delay-max' || metric === 'gap-longest')) runs.censored[metric].push(i)
          }
          table[ci][ai].push({ value: six(most), stalled, failed, replica, seed })
        }
      })
    }
  })

  const groups = cases.flatMap((_, ci) => arms.map((_, ai) => group(ci, ai, table[ci][ai])))
  const comparisons = cases.flatMap((c, ci) =>
    arms.flatMap((arm, ai) => {
      if (ai === 0) return []
      return [comparison(c.label, arm, arms[0], ci, ai, table[ci][ai], table[ci][0])]
    }),
  )
  holm(comparisons)
  const intervals = cases.length * arms.length
  const covering = Math.round(0.94 * intervals)
  const coverage = `${covering} of ${intervals} intervals of an arm against its own copy cover the ratio 1, as the 95 % they promise.`
  const count = runs.case.length
  return {
    format: 'walkabout.study-report/1',
    name,
    summary,
    world: 'virtual',
    a_a: aa,
    facts: [
      ['version', 'walkabout 0.1.0'],
      ['world', 'virtual'],
      ['seeds', String(seeds)],
      ['blocks', String(cases.length * seeds)],
      ['runs', count.toLocaleString('en')],
      ['failed runs', String(runs.failed.filter((f) => f).length)],
      ['intervals', '95 %, BCa bootstrap by block, 10,000 resamples'],
    ].map(([n, value]) => ({ name: n, value })),
    metrics: METRICS.map(([n, heading, unit, text]) => ({ name: n, heading, unit, summary: text })),
    primary: 'delay-max',
    baseline: arms[0],
    cases,
    parameters,
    arms,
    comparisons,
    conclusion: [
      `${comparisons.filter((c) => c.verdict === 'lower').length} of ${comparisons.length} comparisons show a max delay that is lower than quic's, after Holm's correction.`,
      `Where no difference is shown, ${seeds} blocks are too few to tell one from luck; that is not proof that there is none.`,
      ...(aa ? [coverage] : []),
      'All this holds for the scenarios and parameters of this study, in the virtual world.',
    ],
    groups,
    a_a_coverage: aa
      ? {
          intervals,
          covering,
          share: covering / intervals,
          low: Math.max(covering / intervals - 0.08, 0),
          high: Math.min(covering / intervals + 0.06, 1),
          sentence: coverage,
        }
      : null,
    runs,
  }
}

function group(ci, ai, list) {
  const done = list.filter((r) => !r.failed)
  const sorted = done.toSorted((a, b) => a.value - b.value)
  const censored = done.filter((r) => r.stalled).length
  const n = sorted.length
  const rank = (q) => sorted[Math.min(Math.max(Math.round(q), 0), n - 1)]
  const middle = rank(0.5 * n)
  return {
    case: ci,
    arm: ai,
    runs: list.length,
    failed: list.length - n,
    censored,
    median: middle?.value ?? null,
    median_low: rank(n / 2 - 0.98 * Math.sqrt(n))?.value ?? null,
    median_high: rank(n / 2 + 0.98 * Math.sqrt(n))?.value ?? null,
    median_censored: middle?.stalled ?? false,
    curve: curve(sorted, censored > 0),
  }
}

/** Kaplan and Meier's estimate with Greenwood's variance, or the plain distribution. */
function curve(sorted, isSurvival) {
  const out = { kind: isSurvival ? 'survival' : 'cdf', x: [], y: [], low: [], high: [] }
  let s = 1
  let sum = 0
  const n = sorted.length
  const clamp = (v) => six(Math.min(Math.max(v, 0), 1))
  const eps = Math.sqrt(Math.log(40) / (2 * n))
  sorted.forEach(({ value, stalled }, i) => {
    if (stalled) return
    const left = n - i
    s *= 1 - 1 / left
    if (left > 1) sum += 1 / (left * (left - 1))
    const half = 1.96 * s * Math.sqrt(sum)
    const y = isSurvival ? s : (i + 1) / n
    out.x.push(value)
    out.y.push(clamp(y))
    out.low.push(clamp(isSurvival ? s - half : y - eps))
    out.high.push(clamp(isSurvival ? s + half : y + eps))
  })
  return out
}

function comparison(label, arm, baseline, ci, ai, one, other) {
  const pairs = one.flatMap((r, i) => (r.failed || other[i].failed ? [] : [[r, other[i]]]))
  const logs = pairs.map(([a, b]) => Math.log(a.value / b.value))
  const n = logs.length
  const mean = logs.reduce((a, b) => a + b, 0) / n
  const spread = Math.sqrt(logs.reduce((a, l) => a + (l - mean) ** 2, 0) / (n - 1))
  const half = (1.98 * spread) / Math.sqrt(n)
  const stalled = (list) => list.filter((r) => r.stalled).length
  const bound = [['exact', 'at-most'], ['at-least', 'open']][Number(stalled(one) > 0)][Number(stalled(other) > 0)]
  const z = Math.abs(mean) / (spread / Math.sqrt(n))
  const p = Math.min(1, 2 * Math.exp(-0.717 * z - 0.416 * z * z))
  const r = { case: ci, arm: ai, blocks: one.length, pairs_used: n, censored_arm: stalled(one), censored_baseline: stalled(other), bound }
  if (bound === 'open' || stalled(other) === other.length) {
    return {
      ...r, ratio: null, low: null, high: null, hodges_lehmann: null, hl_low: null, hl_high: null, wilcoxon_p: null, holm_p: null,
      verdict: 'not-estimable',
      sentence: `On ${label}, the ratio of ${arm} to ${baseline} cannot be estimated: too many of their runs stalled to the end.`,
    }
  }
  const [ratio, low, high] = [mean, mean - half, mean + half].map((l) => six(Math.exp(l)))
  const verdict = n < 10 ? 'too-few' : high < 1 ? 'lower' : low > 1 ? 'higher' : low > 0.95 && high < 1.05 ? 'equivalent' : 'no-difference'
  const percent = Math.abs(100 * (ratio - 1)).toFixed(0)
  const words = {
    lower: `${arm}'s max delay is ${percent} % lower than ${baseline}'s`,
    higher: `${arm}'s max delay is ${percent} % higher than ${baseline}'s`,
    equivalent: `${arm}'s max delay is within 5 % of ${baseline}'s`,
    'no-difference': `no difference of ${arm}'s max delay from ${baseline}'s is shown`,
    'too-few': `there are too few blocks to compare ${arm} with ${baseline}`,
  }[verdict]
  return {
    ...r, ratio, low, high,
    hodges_lehmann: six(ratio * 1.01), hl_low: six(low * 1.01), hl_high: six(high * 1.01),
    wilcoxon_p: p, holm_p: p, verdict,
    sentence: `On ${label}, ${words} (ratio ${ratio.toFixed(2)}, 95 % interval ${low.toFixed(2)} to ${high.toFixed(2)}, ${n} blocks).`,
  }
}

function holm(comparisons) {
  const order = comparisons.filter((c) => c.wilcoxon_p != null).sort((a, b) => a.wilcoxon_p - b.wilcoxon_p)
  let most = 0
  order.forEach((c, i) => {
    most = Math.max(most, Math.min(1, c.wilcoxon_p * (order.length - i)))
    c.holm_p = most
  })
}

const DELAYS = { name: 'cellular-delay', key: 'path.cellular.delay', values: ['10 ms', '30 ms', '60 ms', '120 ms', '240 ms'], numbers: [0.01, 0.03, 0.06, 0.12, 0.24], unit: 's' }
const QUEUE = { name: 'queue', key: 'path.cellular.queue', values: ['none', 'shallow'], numbers: null, unit: '' }

const LOSS = { name: 'loss', key: 'failure.0.loss', values: ['0 %', '25 %', '100 %'], numbers: [0, 0.25, 1], unit: '1' }

/** What a study that is held against a paper has more. */
function reproduction(verdict) {
  const metric = { name: 'delay-max', heading: 'max delay', unit: 's', summary: 'longest application delay' }
  const curve = (name, ours, paper) => ({
    name,
    ours: ours.map((value, at) => ({ at, runs: 25, value, bound: false, low: value * 0.9, high: value * 1.2 })),
    paper: paper.map((value, at) => ({ at, value })),
    source: 'a thesis, about',
  })
  const point = (name, at, ours, paper) => ({
    name,
    ours: [{ at, runs: 25, value: ours, bound: at === 1, low: ours * 0.9, high: at === 1 ? null : ours * 1.2 }],
    paper: paper === null ? [] : [{ at, value: paper }],
    source: null,
  })
  return {
    id: 'X1',
    title: 'It is halved',
    source: 'a paper, figure 3',
    claim: 'A server that follows the client halves the longest delay.',
    notes: ['The paper does not say how long its runs are.'],
    world: 'virtual',
    verdict,
    criteria: [
      { says: 'with loss it is halved', finding: 'met', expected: '0.40 to 0.65', found: '0.50 = 275 ms / 550 ms' },
      { says: 'without loss both are alike', finding: verdict === 'reproduced' ? 'met' : 'missed', expected: '0.90 to 1.10', found: '1.20' },
    ],
    figures: [
      { title: 'Longest delay', metric, statistic: 'median', along: 'loss', ticks: LOSS.values, numbers: LOSS.numbers,
        curves: [curve('default', [0.03, 0.3, 0.6], [0.03, 0.605]), curve('follow', [0.03, 0.2, 0.3], [0.03, 0.25, 0.275])] },
      { title: 'On a walk', metric, statistic: 'mean', along: null, ticks: ['NBK', 'BK'], numbers: null,
        curves: [point('NBK', 0, 1.2, 1.112), point('BK', 1, 0.9, null)] },
    ],
  }
}

/** The studies that the page is looked at and tested with. */
export const STUDIES = {
  plain: () => study(),
  parameters: () => study({ name: 'handover-sweep', scenarios: ['blackhole', 'walk'], parameters: [DELAYS, QUEUE], seeds: 50 }),
  censored: () =>
    study({
      name: 'stalls',
      summary: 'Runs that never recover before they end',
      censoring: (arm, scenario) => (scenario === 'walk' ? 0 : arm === 'quic' ? (scenario === 'blackhole' ? 1 : 0.6) : arm.endsWith('make') ? 0.3 : arm.endsWith('backup') ? 0.03 : 0),
      failing: (i) => i % 211 === 5,
    }),
  aa: () => study({ name: 'handover-a-a', summary: 'Each arm against its own copy', seeds: 30, aa: true, scenarios: ['blackhole', 'carrier-loss', 'walk'], parameters: [{ ...DELAYS, values: DELAYS.values.slice(0, 4), numbers: DELAYS.numbers.slice(0, 4) }] }),
  paper: () => ({ ...study({ name: 'multimob', scenarios: ['blackhole'], parameters: [LOSS], seeds: 25 }), reproduction: reproduction('reproduced') }),
  missed: () => ({ ...study({ name: 'multimob', scenarios: ['blackhole'], parameters: [LOSS], seeds: 25 }), reproduction: reproduction('not-reproduced') }),
  large: () => study({ name: 'ten-thousand', seeds: 400, censoring: (arm) => (arm === 'quic' ? 0.05 : 0.01), failing: (i) => i % 1013 === 9 }),
}
