import { afterAll, beforeAll, expect, it } from 'vitest';
import { jobCommand } from '../../../src/cli/job/job-command.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { openHarness, type ServiceHarness, until } from '../../helpers/service/service.ts';

let harness: ServiceHarness;
let host: string;
beforeAll(async () => {
  harness = await openHarness();
  host = await harness.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(async () => harness.close());

async function monitor() {
  const heartbeat = { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' };
  const { body } = await harness.call('POST', '/v1/checks/heartbeat', { name: 'job', heartbeat });
  const path = `/v1/checks/heartbeats/${body.id}`;
  return {
    url: `${host}/v1/ping/${body.heartbeat.pingToken}`,
    results: async () => (await harness.call('GET', `/v1/check-results/${body.id}`)).body,
    open: async () => (await harness.call('GET', `${path}/runs`)).body,
  };
}

it('reports the start, the exit code and the end of the output of a command, and keeps its exit code', async () => {
  const { url, results } = await monitor();
  const script = `process.stdout.write('x'.repeat(20000)); console.error('disk full'); process.exitCode = 3;`;
  const picket = startPicket(['job', '--', process.execPath, '-e', script], { PING_URL: url });
  expect(await picket.ended).toEqual({ code: 3, signal: null });
  expect(picket.output()).toContain('disk full');
  expect(picket.output().length).toBeGreaterThan(20_000);
  const [result] = await results();
  expect(result.failure).toMatchObject({ code: 'JOB_FAILED', message: 'The job ended with exit code 3.' });
  const { exitCode, runId, durationMs, body } = result.heartbeatCheckResult;
  expect([exitCode, typeof runId, durationMs > 0]).toEqual([3, 'string', true]);
  expect(body.endsWith('disk full\n')).toBe(true);
  expect(body.length).toBe(10_000);
});

it('passes signals on, and reports a command that a signal ended', async () => {
  const { url, results, open } = await monitor();
  const script = 'console.log("up"); setInterval(() => {}, 1000);';
  const picket = startPicket(
    ['job', '--url', `${url}/`, '--no-output', '--', process.execPath, '-e', script],
    {},
  );
  await until(
    'the run is in progress',
    async () => picket.output().includes('up') && (await open()).length === 1,
  );
  expect(await picket.kill('SIGTERM')).toEqual({ code: 143, signal: null });
  expect((await results())[0].heartbeatCheckResult).toMatchObject({ exitCode: 143, body: null });
});

it('runs the command even if its pings are refused, and refuses to run without an address', async () => {
  const url = `${host}/v1/ping/11111111-2222-4333-8444-555555555555`;
  expect(await jobCommand(['sh', '-c', 'exit 4'], { url, output: true, env: {} })).toBe(4);
  for (const wrong of [undefined, host, 'ftp://host/v1/ping/x']) {
    const job = jobCommand(['true'], { url: wrong, output: true, env: {} });
    await expect(job).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  }
});

it('reports a command that cannot be started', async () => {
  const { url, results } = await monitor();
  expect(await jobCommand(['/nonexistent/job'], { output: true, env: { PING_URL: url } })).toBe(127);
  const [{ heartbeatCheckResult: detail }] = await results();
  expect(detail).toMatchObject({ exitCode: 127, body: expect.stringContaining('ENOENT') });
});
