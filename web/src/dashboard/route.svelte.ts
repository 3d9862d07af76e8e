// Which page is shown? The address says; links change it without loading anything anew.
import { tick } from 'svelte'

export type Route =
  | { page: 'live' }
  | { page: 'test'; test: string }
  | { page: 'runs' }
  | { page: 'run'; id: string }
  | { page: 'compare' }
  | { page: 'usage' }
  | { page: 'missing' }

/** What a place in the history remembers. */
interface Memory {
  /** `after` of the pages before this one, the first page's being empty. */
  trail?: string[]
}

class Router {
  path = $state(location.pathname)
  query = $state(location.search)
  memory = $state.raw<Memory>((history.state as Memory | null) ?? {})
  route = $derived(parse(this.path))

  constructor() {
    window.addEventListener('popstate', () => {
      const isOther = location.pathname !== this.path
      this.read()
      if (isOther) void arrive()
    })
    document.addEventListener('click', (event) => {
      if (event.defaultPrevented || event.button !== 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
      const link = event.target instanceof Element ? event.target.closest('a') : null
      if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
      if (parse(link.pathname).page === 'missing') return
      const isHere = link.pathname === location.pathname && link.search === location.search
      if (isHere && link.hash) return
      event.preventDefault()
      this.go(link.pathname + link.search)
    })
  }

  /** Goes to `href`; on the same page only the query changes, and the focus stays. */
  go(href: string, memory: Memory = {}) {
    const before = this.path
    history.pushState(memory, '', href)
    this.read()
    if (this.path !== before) {
      window.scrollTo(0, 0)
      void arrive()
    }
  }

  private read() {
    this.path = location.pathname
    this.query = location.search
    this.memory = (history.state as Memory | null) ?? {}
  }
}

/** Who listens is told where they are now: the focus goes to the page's title. */
async function arrive() {
  await tick()
  document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
}

function parse(path: string): Route {
  const [, page = '', id, ...rest] = path.split('/')
  if (rest.length > 0) return { page: 'missing' }
  if (id !== undefined && id !== '') {
    const name = decoded(id)
    if (page === 'live') return { page: 'test', test: name }
    if (page === 'runs') return { page: 'run', id: name }
    return { page: 'missing' }
  }
  switch (page) {
    case '':
    case 'live':
      return { page: 'live' }
    case 'runs':
    case 'compare':
    case 'usage':
      return { page }
    default:
      return { page: 'missing' }
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const router = new Router()
