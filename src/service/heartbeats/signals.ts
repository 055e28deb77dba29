import type { BodyFilters } from '@picket/checks/contract/frequency.ts';
import type { JobSignal } from '@picket/checks/heartbeat/spec.ts';

/** Longest message of a job that is stored, in characters. */
export const maxMessageLength = 500;

/** Origin and content of a ping. */
export interface Ping {
  /** End of the ping URL: `start`, `fail`, `log`, an exit code; undefined: none. */
  readonly ending: string | undefined;
  /** `?status=` of the ping URL, as Uptime Kuma's push monitors have it. */
  readonly status: 'up' | 'down' | undefined;
  readonly message: string;
  readonly body: string | null;
  readonly source: string;
  readonly userAgent: string | null;
  /** Id that the job gave to its run; null if it gave none. */
  readonly runId: string | null;
  /** Duration that the job measured itself, in milliseconds. */
  readonly durationMs: number | null;
  /** Whether the body went on after what was kept. */
  readonly isBodyCut: boolean;
}

/** The meaning of a ping. */
export interface Said {
  readonly signal: JobSignal;
  /** Whether it says that the job failed. */
  readonly isFailure: boolean;
  readonly exitCode: number | null;
}

/**
 * Returns the meaning of a ping: by the end of its URL, else by its status, else by the texts that its body contains. Among these a
 * failure outweighs a success, and a success a start. A body without any of them is a success if no texts of successes
 * are configured, and otherwise only logged.
 */
export function saidBy(
  { ending, status, body }: Pick<Ping, 'ending' | 'status' | 'body'>,
  filters: BodyFilters,
): Said {
  const said = (signal: JobSignal, isFailure = false, exitCode: number | null = null): Said => ({
    signal,
    isFailure,
    exitCode,
  });
  if (ending === 'start' || ending === 'log') return said(ending);
  if (ending === 'fail') return said('fail', true);
  if (ending !== undefined) {
    const exitCode = Number(ending);
    return said('exit', exitCode !== 0, exitCode);
  }
  if (status !== undefined) return status === 'down' ? said('fail', true) : said('success');
  if (body === null) return said('success');
  const contains = (texts: readonly string[]) => texts.some((text) => body.includes(text));
  if (contains(filters.failure)) return said('fail', true);
  if (contains(filters.success)) return said('success');
  if (contains(filters.start)) return said('start');
  return filters.success.length > 0 ? said('log') : said('success');
}
