import { randomUUID } from 'node:crypto';
import { beginningOf, endingOf } from '@picket/lib/text.ts';
import { z } from 'zod';
import type { BrowserLinks } from '../browsers/browser-links.ts';
import type { SandboxedEnd } from '../sandbox.ts';
import { readLine, saidWith } from '../scripts/events.ts';
import {
  allowBrowsers,
  browserArgs,
  browserVariables,
  proxyOf,
  type ScriptProcess,
} from '../scripts/script-process.ts';
import type { ScriptTrust } from '../trust/script-trust.ts';

const maxErrorTextLength = 2000;
const text = (maxLength: number) => z.string().transform((value) => beginningOf(value, maxLength));
const Refused = z.array(text(500)).max(50).default([]);

/** Result of a step: the state of the page, and the data that the tool read. All of it is untrusted. */
export const PageFindings = z.object({
  url: text(4096),
  title: text(1000),
  status: z.int().nullable(),
  tabs: z.int(),
  dialog: text(2000).nullable(),
  refused: Refused,
  notices: z.array(text(600)).max(20).default([]),
  note: text(500).optional(),
  text: text(20_100).optional(),
  actual: text(100_000).nullable().optional(),
  response: z
    .object({ status: z.int(), headers: z.record(z.string(), z.string()), body: text(8000) })
    .optional(),
});
export type PageFindings = z.output<typeof PageFindings>;

const PageEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('ready') }),
  z.object({
    event: z.literal('answer'),
    id: z.int(),
    ok: PageFindings.optional(),
    error: z
      .object({ kind: z.enum(['misfit', 'broken', 'refused']), message: text(1000), refused: Refused })
      .optional(),
  }),
  z.object({ event: z.literal('broken'), error: z.looseObject({ message: text(2000) }) }),
]);

/**
 * Outcome of a step. `misfit`: its target is missing on the page, or not unique. `broken`: the page or its server
 * fails. `refused`: the check does not allow it. `ended`: the browser is gone.
 */
export type PageAnswer =
  | { readonly kind: 'done'; readonly findings: PageFindings }
  | {
      readonly kind: 'misfit' | 'broken' | 'refused';
      readonly message: string;
      readonly refused: readonly string[];
    }
  | { readonly kind: 'ended'; readonly message: string; readonly ended: SandboxedEnd | undefined };

/** A browser with one page in a sandbox, for one run: one step at a time. */
export interface PageSession {
  /** Why the page could not be opened; undefined on success. */
  readonly problem: string | undefined;
  /** Never rejects. */
  step(tool: string, input: Readonly<Record<string, unknown>>): Promise<PageAnswer>;
  /** Reads a file that a step created. */
  read(path: string): Promise<Buffer>;
  /** Ends the browser; resolves with its resource usage. */
  end(): Promise<SandboxedEnd>;
}

/** A step that takes longer than this hangs. */
const stepMs = 60_000;

/**
 * Turns a process that waits for a script into a browser with one page, which reaches only the given origins. Resolves
 * when the page is open; if it never opens, steps are `ended`.
 */
export async function openPageSession(
  script: ScriptProcess,
  job: {
    readonly browser: BrowserLinks;
    readonly trust: ScriptTrust | undefined;
    readonly origins: readonly string[];
    readonly proxyUrl: string | null;
    readonly signal: AbortSignal;
  },
): Promise<PageSession> {
  const { sandbox, process: running } = script;
  await allowBrowsers(script, job.browser, job.trust);
  const token = randomUUID();
  let ended: SandboxedEnd | undefined;
  let errorText = '';
  let stepCount = 0;
  const ready = Promise.withResolvers<void>();
  const waiting = new Map<number, (answer: PageAnswer) => void>();
  const why = () => errorText.trim() || ended?.problem || ended?.reason || 'it did not respond';
  const gone = (): PageAnswer => ({ kind: 'ended', message: `the browser ended: ${why()}`, ended });
  script.listen({
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') errorText = endingOf(errorText + chunk.toString('utf8'), maxErrorTextLength);
    },
    onEvent: (line) => {
      const event = readLine(PageEvent, saidWith(token, line));
      if (event?.event === 'ready') ready.resolve();
      else if (event?.event === 'broken') errorText = event.error.message;
      else if (event) {
        const { id, ok, error } = event;
        if (ok) waiting.get(id)?.({ kind: 'done', findings: ok });
        else if (error) waiting.get(id)?.(error);
      }
    },
  });
  const stop = () => running.kill();
  job.signal.addEventListener('abort', stop, { once: true });
  if (job.signal.aborted) stop();
  void running.ended.then((end) => {
    ended = end;
    ready.resolve();
    for (const settle of waiting.values()) settle(gone());
  });
  const order = {
    token,
    isPage: true,
    directory: sandbox.directory,
    browserArgs,
    ownVariables: browserVariables(sandbox.directory),
    origins: job.origins,
    proxy: proxyOf(job.proxyUrl),
  };
  running.input.write(`${JSON.stringify(order)}\n`);
  await ready.promise;
  return {
    problem: ended ? why() : undefined,
    step: async (tool, input) => {
      if (ended) return gone();
      const id = ++stepCount;
      const { promise, resolve } = Promise.withResolvers<PageAnswer>();
      waiting.set(id, resolve);
      const limit = setTimeout(stop, stepMs);
      running.input.write(`${JSON.stringify({ id, tool, input })}\n`);
      const answer = await promise;
      clearTimeout(limit);
      waiting.delete(id);
      return answer;
    },
    read: async (path) => {
      const file = await sandbox.open(path);
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    },
    end: async () => {
      job.signal.removeEventListener('abort', stop);
      stop();
      return await running.ended;
    },
  };
}
