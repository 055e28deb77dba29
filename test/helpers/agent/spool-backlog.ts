import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { spoolTag } from '../../../src/agent/delivery/spool/spool-folder.ts';
import { SpoolStore } from '../../../src/agent/delivery/spool/spool-store.ts';
import { spooledText } from '../../../src/agent/delivery/spool/spooled-report.ts';
import { Scrubber } from '../../../src/agent/scrub/scrubber.ts';
import { agentKey } from './agent-process.ts';

/** Content of a backlog. */
export interface Backlog {
  /** The agent's SPOOL_DIR. */
  readonly directory: string;
  readonly serviceUrl: string;
  readonly apiKey?: string;
  readonly count: number;
  /** Size of the detail of each result, in characters. */
  readonly detailSize: number;
}

/** Leaves results in a spool, as a killed agent would. Returns their ids. */
export function fillSpool({
  directory,
  serviceUrl,
  apiKey = agentKey,
  count,
  detailSize,
}: Backlog): string[] {
  const folder = join(directory, `picket-spool.${spoolTag(serviceUrl, apiKey)}.0`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const store = new SpoolStore({ folder, maxBytes: 2 ** 40 });
  const scrubber = new Scrubber([]);
  const detailJson = scrubber.json({ padding: 'x'.repeat(detailSize) });
  const atMs = Date.now();
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1000) {
    const entries = Array.from({ length: Math.min(1000, count - at) }, () => {
      const run = { runId: crypto.randomUUID(), leaseNumber: 1, resultId: crypto.randomUUID() };
      ids.push(run.resultId);
      const envelopeJson = scrubber.envelope({
        ...run,
        startedAt: atMs,
        stoppedAt: atMs,
        responseTimeMs: 1,
        startDelayMs: 0,
        agentLagMs: 0,
        hostStartedAt: null,
        agentOverheadMs: 0,
        isTimingDoubtful: false,
        certificateExpiresAt: null,
        isDegraded: false,
        overMaxResponseTime: false,
        failure: null,
        errorMessages: [],
      });
      return {
        kind: 'final' as const,
        atMs,
        body: Buffer.from(spooledText({ ...run, envelopeJson, detailJson })),
      };
    });
    store.append(entries);
  }
  store.close();
  return ids;
}
