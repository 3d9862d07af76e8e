// How is the collector asked, and what is said when it does not answer?
import { PREFIX, type Problem } from './types'

/** Why there is no answer, for people. */
export class Failure extends Error {
  constructor(
    title: string,
    /** The HTTP status; 0 when the collector was not reached. */
    readonly status: number,
    readonly retryAfter?: number,
  ) {
    super(title)
  }

  get isOffline(): boolean {
    return this.status === 0
  }
}

/** Longer than any query may take; then the network is as good as gone. */
const PATIENCE_MS = 20_000

/** The answer to `GET` of `path`, which begins behind the interface's version. */
export async function get<T>(path: string, signal: AbortSignal): Promise<T> {
  const timeout = AbortSignal.timeout(PATIENCE_MS)
  let response: Response
  try {
    response = await fetch(PREFIX + path, {
      headers: { Accept: 'application/json' },
      signal: AbortSignal.any([signal, timeout]),
    })
    if (response.ok) return (await response.json()) as T
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof SyntaxError) throw new Failure('The collector answered something that is not JSON.', 500)
    throw new Failure(
      navigator.onLine
        ? 'The collector cannot be reached. It is tried again when you ask for it.'
        : 'This device is offline. The page goes on as soon as a network is there.',
      0,
    )
  }
  const problem = (await response.json().catch(() => null)) as Problem | null
  throw new Failure(
    typeof problem?.title === 'string' ? problem.title : `The collector answered ${response.status}.`,
    response.status,
    problem?.retry_after_seconds,
  )
}

/** Where a path of the interface is, for links. */
export function address(path: string): string {
  return PREFIX + path
}
