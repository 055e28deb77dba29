import { defineJob } from '../jobs/job-loop.ts';
import { Folding } from './folding.ts';
import type { RemoteWrite } from './remote-write/remote-write.ts';

export function remoteWriteJob(remoteWrite: RemoteWrite) {
  return defineJob({
    name: 'remote write',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => remoteWrite.turn(),
    stopping: () => remoteWrite.stop(),
    close: () => remoteWrite.close(),
  });
}

export function checkTotalsJob(deps: ConstructorParameters<typeof Folding>[0]) {
  const folding = new Folding(deps);
  return defineJob({
    name: 'check totals',
    leaderOnly: true,
    wakesOn: [],
    longestMs: 60_000,
    run: () => folding.turn(),
  });
}
