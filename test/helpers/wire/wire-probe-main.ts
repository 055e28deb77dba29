/**
 * Probes URLs and TCP ports in a network namespace; see wire-probe.ts. Reads one order per line and prints one result
 * per line.
 */
import { createInterface } from 'node:readline';
import { openTimekeeper } from '../../../src/probes/kernel-thread/timekeeper.ts';
import { probe } from '../targets/http-request.ts';

await openTimekeeper();
for await (const url of createInterface({ input: process.stdin })) {
  const { phases, error, elapsedMs, measurement } = await probe(url, { timeoutMs: 10_000 });
  process.stdout.write(`${JSON.stringify({ phases, error: error?.kind, elapsedMs, measurement })}\n`);
}
