// What is seen of a running test? Its items as they come, each once, over a connection that is taken
// up again where it broke.
import { SvelteMap } from 'svelte/reactivity'
import { address } from '../api'
import type { LiveItem } from '../types'
import { Track, type Entry } from './track'

/** As many runs and lines as a page can show; a test has a few. */
const MOST_RUNS = 64
const MOST_ENTRIES = 200
/** Decisions this close to each other, in seconds, and in as many lines, may be one for several connections. */
const AT_ONCE_S = 0.1
const NEAR = 8
/** How often the plots move. */
const TICK_MS = 250
const CALM_TICK_MS = 1000
/** How soon a refused connection is tried again. */
const RETRY_MS = 3000

export class Stream {
  readonly tracks = new SvelteMap<string, Track>()
  entries = $state.raw<Entry[]>([])
  /** `lost` while the connection is taken up again; `over` when the collector says that nothing more comes. */
  state = $state<'connecting' | 'open' | 'lost' | 'over'>('connecting')
  /** Whether a connection that was refused is worth another try. */
  isWanted = true
  /** The page's clock in seconds: what is drawn depends on it. */
  clock = $state(performance.now() / 1e3)
  /** What a listener is told next. */
  news = $state('')
  private source: EventSource | null = null
  private isClosed = false
  private seen = 0
  private fresh: string[] = []
  private readonly timers: ReturnType<typeof setInterval>[] = []
  private retry: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly test: string) {
    this.connect()
    const isCalm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
    this.timers.push(
      setInterval(() => this.tick(), isCalm ? CALM_TICK_MS : TICK_MS),
      setInterval(() => this.tell(), 2000),
    )
  }

  /** No more of it: what was seen stays as it is. */
  close() {
    this.isClosed = true
    this.source?.close()
    clearTimeout(this.retry)
    this.timers.forEach((timer) => clearInterval(timer))
    this.tell()
  }

  /** Whether every run that was seen has ended. */
  get isOver(): boolean {
    void this.clock
    const tracks = [...this.tracks.values()]
    return tracks.length > 0 && tracks.every((track) => track.ended !== null)
  }

  private connect() {
    // The browser says `Last-Event-ID` when it connects again by itself.
    const source = new EventSource(address(`/live/${encodeURIComponent(this.test)}/events`))
    this.source = source
    source.onopen = () => (this.state = 'open')
    source.onmessage = (event: MessageEvent<string>) => this.take(event)
    source.addEventListener('over', () => {
      this.tick()
      this.state = 'over'
      this.close()
    })
    source.onerror = () => {
      if (this.isClosed) return
      this.state = 'lost'
      if (source.readyState === EventSource.CLOSED) this.tryAgain()
    }
  }

  /** A connection that was refused, as the collector starts or knows of no such test. */
  private tryAgain() {
    this.retry = setTimeout(() => (this.isWanted ? this.connect() : this.tryAgain()), RETRY_MS)
  }

  private take(event: MessageEvent<string>) {
    // A new connection begins at the first item that is kept: each counts once.
    const sequence = Number(event.lastEventId)
    if (Number.isFinite(sequence) && sequence > 0) {
      if (sequence <= this.seen) return
      this.seen = sequence
    }
    const item = parse(event.data)
    if (item === null) return
    let track = this.tracks.get(item.run)
    if (!track) {
      if (this.tracks.size >= MOST_RUNS) return
      track = new Track(item.run)
      this.tracks.set(item.run, track)
    }
    const wasWaiting = track.waitingSince !== null
    const entry = track.take(item, performance.now() / 1e3)
    if (entry) this.list(entry)
    const isWaiting = track.waitingSince !== null
    if (isWaiting !== wasWaiting) this.fresh.push(`${item.run}: ${isWaiting ? 'waits for an answer' : 'answered again'}`)
  }

  /** The newest first; what is decided for several connections at once is one line. */
  private list(entry: Entry) {
    const same = this.entries.findIndex(
      (other, i) => i < NEAR && other.run === entry.run && other.what === entry.what && other.cause === entry.cause && Math.abs(other.at - entry.at) < AT_ONCE_S,
    )
    const known = this.entries[same]
    if (known) {
      this.entries = this.entries.with(same, { ...known, times: known.times + 1 })
      return
    }
    this.entries = [entry, ...this.entries].slice(0, MOST_ENTRIES)
    this.fresh.push(`${entry.run}: ${entry.what}`)
  }

  private tick() {
    if (document.hidden) return
    const clock = performance.now() / 1e3
    for (const track of this.tracks.values()) track.settle(track.now(clock))
    this.clock = clock
  }

  /** Now and then, and only the latest: who listens has to keep up. */
  private tell() {
    if (this.fresh.length === 0) return
    this.news = this.fresh.slice(-3).join('. ')
    this.fresh = []
  }
}

function parse(text: string): LiveItem | null {
  try {
    const item = JSON.parse(text) as LiveItem
    const isItem = typeof item.run === 'string' && Number.isFinite(item.time_us) && typeof item.event === 'object'
    return isItem && item.event !== null ? item : null
  } catch {
    return null
  }
}
