import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { environment, readExaminedSettings } from './environment.ts';
import type { Examination, ExaminedAgent, Verdict } from './examination.ts';
import { healthPort } from './host.ts';

const required = { API_KEY: `pl_${'0'.repeat(32)}`, SERVICE_URL: 'http://service.test' };

async function verdictsOf(
  examination: Examination,
  variables: Record<string, string>,
): Promise<readonly Verdict[]> {
  const patient: Partial<ExaminedAgent> = {
    environment: { ...required, ...variables },
    ...readExaminedSettings({ ...required, ...variables }),
    signal: new AbortController().signal,
  };
  return [await examination.examine(patient as ExaminedAgent)].flat();
}

it('names variables with almost the name of a setting, and no others', async () => {
  const verdicts = await verdictsOf(environment, {
    JOB_CONCURENCY: '3',
    HTTP_PROXY: 'http://proxy.test',
    http_proxy: 'http://proxy.test',
    FTP_PROXY: 'x',
    SERVICE_SECRET_A: 'x',
    API_KEY_FILES: 'x',
    HOME: '/',
    HOSTNAME: 'x',
  });
  expect(verdicts.map(({ status, about }) => [status, about])).toEqual([
    ['ok', undefined],
    ['warning', 'JOB_CONCURENCY'],
    ['warning', 'API_KEY_FILES'],
  ]);
  expect(verdicts[1]?.detail).toContain('did you mean JOB_CONCURRENCY?');
});

it('reports a RUNTIMES_DIR without a runtime', async () => {
  const verdicts = await verdictsOf(environment, { RUNTIMES_DIR: '/nonexistent' });
  expect(verdicts).toContainEqual(expect.objectContaining({ status: 'problem', about: 'RUNTIMES_DIR' }));
});

it('reports a health port that another program uses, and recognizes an agent', async () => {
  let text = 'something else';
  const server = createServer((_request, response) => response.end(text));
  const port = await new Promise<number>((resolve) =>
    server.listen(0, () => resolve((server.address() as { port: number }).port)),
  );
  try {
    const of = async () => (await verdictsOf(healthPort, { AGENT_HEALTH_PORT: String(port) }))[0];
    expect(await of()).toMatchObject({ status: 'problem' });
    text = 'picket_agent_up 1';
    expect(await of()).toMatchObject({ status: 'ok' });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
  expect((await verdictsOf(healthPort, { AGENT_HEALTH_PORT: String(port) }))[0]).toMatchObject({
    status: 'ok',
  });
});
