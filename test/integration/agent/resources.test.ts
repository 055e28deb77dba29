import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';

it('an agent without file descriptors blames itself, reports, and recovers when it has some again', async () => {
  await using stage = await Stage.open();
  const { service, target } = stage;
  const agent = await stage.connectedAgent({ PROBE_CONCURRENCY: '60' });
  const first = leasedRun(target.url('/first'));
  service.enqueue(first);
  await service.waitFor('a result before', () => service.resultOf(first.runId));
  const { pid } = agent.child;
  const limit = (soft: number) => execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
  limit(readdirSync(`/proc/${pid}/fd`).length + 10);
  const runs = Array.from({ length: 40 }, (_, index) => leasedRun(target.url(`/hold/${index}`)));
  service.enqueue(...runs);
  await service.waitFor('a run without a descriptor', () =>
    service.results.some(({ failure }) => failure?.code === 'AGENT_OUT_OF_RESOURCES'),
  );
  limit(1024);
  const release = setInterval(() => target.releaseAll(), 20);
  await service.waitFor('all results', () => service.results.length === 41);
  clearInterval(release);
  const failures = service.results.flatMap(({ failure }) => (failure ? [failure] : []));
  expect(new Set(failures.map(({ owner, code }) => `${owner} ${code}`))).toEqual(
    new Set(['agent AGENT_OUT_OF_RESOURCES']),
  );
  const last = leasedRun(target.url('/last'));
  service.enqueue(last);
  const result = await service.waitFor('a result after', () => service.resultOf(last.runId));
  expect(result.failure).toBeNull();
  expect(await agent.get('/-/readiness')).toMatchObject({ status: 200 });
});
