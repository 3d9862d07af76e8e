// Which tests run now? Asked again and again, as long as the page is seen.
import { Resource } from '../resource.svelte'
import type { RunningTest } from '../types'

const EVERY_MS = 2000

export class Poll {
  readonly running = new Resource<RunningTest[]>()
  /** When it was last asked, by this device's clock: what is said of the past counts from here. */
  now = $state(Date.now())

  /** Asks until what it returns is called. */
  start(): () => void {
    const stop = this.running.load('/live')
    const timer = setInterval(() => {
      this.now = Date.now()
      if (!document.hidden && !this.running.isLoading) void this.running.again()
    }, EVERY_MS)
    return () => {
      clearInterval(timer)
      stop()
    }
  }
}
