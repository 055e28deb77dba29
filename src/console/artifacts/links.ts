import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { path } from '../html.ts';

/** How long a file stays open: a day of work, and nothing that is kept for longer opens anything. */
const lastsMs = 12 * 3_600_000;

export interface RunOfFiles {
  readonly checkId: string;
  readonly resultId: string;
}

/** What stands in the address of an opened file. */
export interface OpenedFile extends RunOfFiles {
  readonly sessionId: string;
  /** `until.signature` */
  readonly pass: string;
}

/**
 * Addresses under which the files of one run open without a cookie: what a script or a target wrote is shown
 * where it has none (ADR 29). An address holds the session that it was made for, its end, and a signature of
 * both and the run; it opens the files of that run only, while the session lasts, and for twelve hours at
 * most. The signature is made with the hash that the database keeps of the session's token, which no browser
 * knows.
 */
export class FileLinks {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #base: string;
  readonly #hasTraceViewer: boolean;

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    /** The origin of its own that files open at; that of the pages when absent. */
    readonly artifactsUrl: string | undefined;
    readonly hasTraceViewer: boolean;
  }) {
    const { store, clock, artifactsUrl, hasTraceViewer } = options;
    this.#store = store;
    this.#clock = clock;
    this.#base = artifactsUrl?.replace(/\/+$/, '') ?? '';
    this.#hasTraceViewer = hasTraceViewer;
  }

  /** Makes the addresses of a run's files by their names. */
  async of(
    { sessionId }: { readonly sessionId: string },
    run: RunOfFiles,
  ): Promise<(name: string) => string> {
    const now = this.#clock.wallMs();
    const session = await this.#store.logins.findById(sessionId, now);
    const until = String(now + lastsMs);
    const pass = `${until}.${signature(session?.token_hash ?? '', run, until)}`;
    const folder = `${this.#base}${folderOf({ ...run, sessionId, pass })}`;
    return (name) => folder + name.split('/').map(encodeURIComponent).join('/');
  }

  /** The address of the trace viewer with a trace, by the address of that; null where it cannot run. */
  traceViewer(traceHref: string): string | null {
    if (!this.#hasTraceViewer || this.#base === '') return null;
    return `${this.#base}/trace-viewer/index.html?${new URLSearchParams({ trace: traceHref })}`;
  }

  /** Whose files an address opens; null where it is made up, or its time or its session is over. */
  async accountOf({ sessionId, pass, ...run }: OpenedFile): Promise<string | null> {
    const now = this.#clock.wallMs();
    const [until = '', given = ''] = pass.split('.');
    if (!/^\d{1,15}$/.test(until) || Number(until) < now) return null;
    const session = await this.#store.logins.findById(sessionId, now);
    if (!session) return null;
    const [wanted, offered] = [Buffer.from(signature(session.token_hash, run, until)), Buffer.from(given)];
    return wanted.length === offered.length && timingSafeEqual(wanted, offered) ? session.account_id : null;
  }
}

/** The path that all files of a run lie under, so that those of a report find each other. */
export function folderOf({ sessionId, pass, checkId, resultId }: OpenedFile): string {
  return path`/artifacts/${sessionId}/${pass}/${checkId}/${resultId}/`;
}

function signature(tokenHash: string, { checkId, resultId }: RunOfFiles, until: string): string {
  return createHmac('sha256', tokenHash)
    .update(`files of a run\n${checkId}\n${resultId}\n${until}`)
    .digest('base64url');
}
