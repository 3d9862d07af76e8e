// What is known of something the collector has: the value, that it is on its way, or why not?
import { Failure, get } from './api'

export class Resource<T> {
  /** Stays while a newer one is on its way. */
  value = $state.raw<T | null>(null)
  failure = $state.raw<Failure | null>(null)
  isLoading = $state(false)
  private path: string | null = null
  private asked: AbortController | null = null

  /** Asks for `path`; a question before it is forgotten. Returns what stops it. */
  load(path: string): () => void {
    this.path = path
    void this.again()
    const online = () => {
      if (this.failure?.isOffline) void this.again()
    }
    window.addEventListener('online', online)
    return () => {
      window.removeEventListener('online', online)
      this.asked?.abort()
    }
  }

  /** Asks once more. */
  async again(): Promise<void> {
    if (this.path === null) return
    this.asked?.abort()
    const asked = new AbortController()
    this.asked = asked
    this.isLoading = true
    try {
      const value = await get<T>(this.path, asked.signal)
      if (asked.signal.aborted) return
      this.value = value
      this.failure = null
    } catch (error) {
      if (asked.signal.aborted) return
      this.failure = error instanceof Failure ? error : new Failure(String(error), 500)
    }
    this.isLoading = false
  }
}
