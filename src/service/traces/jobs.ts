import { defineJob } from '../jobs/job-loop.ts';
import type { TraceExport } from './trace-export.ts';

export function tracesJob(traces: TraceExport) {
  return defineJob({
    name: 'traces',
    leaderOnly: false,
    wakesOn: [],
    longestMs: 5_000,
    run: () => traces.turn(),
    close: () => traces.close(),
  });
}
