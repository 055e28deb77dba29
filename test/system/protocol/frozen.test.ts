import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { until } from '../../helpers/picket-process.ts';

const maxResponseTime = 2_000;

/** The kernel's state of each thread of a process; T: stopped. */
function threadStates(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((id) => {
    const stat = readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  });
}

it('an agent that stalled while a target responded does not call the target slow', {
  timeout: 120_000,
}, async () => {
  await using stage = await Stage.open();
  const { service, target } = stage;
  const agent = stage.startAgent();
  await agent.logged('connected to the service', 60_000);
  const run = leasedRun(target.url('/hold'));
  run.check.spec = { ...run.check.spec, maxResponseTime };
  service.enqueue(run);
  await until('the run is under way', () => target.heldCount === 1);
  agent.signal('SIGSTOP');
  await until('all of it stands still', () =>
    threadStates(agent.child.pid ?? 0).every((state) => state === 'T'),
  );
  target.releaseAll();
  // Longer than the target may take, as far as the agent can see.
  await delay(maxResponseTime + 500);
  agent.signal('SIGCONT');
  await until('the result', () => {
    // The target receives a second request.
    target.releaseAll();
    return service.resultOf(run.runId) !== undefined;
  });
  expect(service.resultOf(run.runId)).toMatchObject({ failure: null, overMaxResponseTime: false });
  expect(target.requests).toEqual(['/hold', '/hold']);
});
