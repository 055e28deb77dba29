/** The program of diagnosed-runs.ts: runs checks that write artifacts to a folder, and prints their outcomes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { LoadedRunner } from '../../../src/checks/contract/outcome.ts';
import type { ArtifactSink } from '../../../src/checks/contract/run-context.ts';
import { findCheckType } from '../../../src/checks/index.ts';
import { runContext } from '../run-context.ts';
import type { DiagnosedOrder, DiagnosedRun } from './diagnosed-runs.ts';

const order = JSON.parse(process.argv[2] ?? '') as DiagnosedOrder & { readonly folder: string };
const runs = order.requests.map((request, index) => () => run(request, join(order.folder, String(index))));
const results: DiagnosedRun[] = [];
if (order.isConcurrent) results.push(...(await Promise.all(runs.map((start) => start()))));
else for (const start of runs) results.push(await start());
// Nothing is closed at the end: resources that diagnoses share must not keep a process alive.
process.stdout.write(JSON.stringify(results));

async function run(request: unknown, folder: string): Promise<DiagnosedRun> {
  const { timeoutMs = 5000, hasSink = true, proxyUrl = null } = order;
  const sink: ArtifactSink = {
    add: async ({ name, content }) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      if (content instanceof Uint8Array) writeFileSync(path, content);
      return true;
    },
  };
  const context = runContext({ timeoutMs, proxyUrl, ...(hasSink && { artifacts: sink }) });
  const startMs = performance.now();
  const type = findCheckType(order.checkType ?? 'API');
  if (!type?.load) throw new Error('no runner');
  const runner = (await type.load()) as LoadedRunner<Record<string, unknown>, DiagnosedRun['detail']>;
  const spec = type.spec.parse({ ...order.rest, request });
  const { failure, responseTimeMs, detail, measurement } = await runner.run(spec, context);
  const elapsedMs = performance.now() - startMs;
  return { failure, responseTimeMs, detail, measurement, elapsedMs, folder };
}
