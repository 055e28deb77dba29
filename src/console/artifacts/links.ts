import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@picket/lib/clock.ts';
import type { Store } from '@picket/platform/store/store.ts';
import { path } from '../html.ts';

/** How long a link opens a file: a day of work; an older link opens nothing. */
const lastsMs = 12 * 3_600_000;

export interface RunOfFiles {
  readonly checkId: string;
  readonly resultId: string;
}

/** Parameters in the address of an opened file. */
export interface OpenedFile extends RunOfFiles {
  readonly sessionId: string;
  /** `until.signature` */
  readonly pass: string;
}

/**
 * Addresses that open the files of one run without a cookie: files written by a script or a target are shown where
 * cookies are absent (ADR 29). An address contains its session, its expiry, and a signature of both and the run; it
 * opens the files of that run only, while the session lasts, and for twelve hours at most. The signature uses the
 * stored hash of the session's token, which no browser knows.
 */
export class FileLinks {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #base: string;
  readonly #hasTraceViewer: boolean;

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    /** The separate origin of files; the origin of the pages if absent. */
    readonly artifactsUrl: string | undefined;
    readonly hasTraceViewer: boolean;
  }) {
    const { store, clock, artifactsUrl, hasTraceViewer } = options;
    this.#store = store;
    this.#clock = clock;
    this.#base = artifactsUrl?.replace(/\/+$/, '') ?? '';
    this.#hasTraceViewer = hasTraceViewer;
  }

  /** Returns a function that creates the addresses of a run's files from their names. */
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

  /** Returns the address of the trace viewer for a trace; null if the viewer is unavailable. */
  traceViewer(traceHref: string): string | null {
    if (!this.#hasTraceViewer || this.#base === '') return null;
    return `${this.#base}/trace-viewer/index.html?${new URLSearchParams({ trace: traceHref })}`;
  }

  /** Returns the account of an address; null if it is forged, or its time or session has ended. */
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

/** Returns the common path of a run's files, so that the files of a report find each other. */
export function folderOf({ sessionId, pass, checkId, resultId }: OpenedFile): string {
  return path`/artifacts/${sessionId}/${pass}/${checkId}/${resultId}/`;
}

function signature(tokenHash: string, { checkId, resultId }: RunOfFiles, until: string): string {
  return createHmac('sha256', tokenHash)
    .update(`files of a run\n${checkId}\n${resultId}\n${until}`)
    .digest('base64url');
}
