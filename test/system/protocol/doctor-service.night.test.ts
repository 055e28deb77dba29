import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { diagnose } from '../../helpers/agent/doctor-run.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import { startScriptedModel } from '../../helpers/agentic/scripted-model.ts';
import { startPicket } from '../../helpers/picket-process.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { createAuthority, type TestAuthority } from '../../helpers/targets/certificates.ts';

/** Real faults of settings and of the service; the doctor must report exactly the one that was injected. */
describe('picket doctor', { timeout: 120_000 }, () => {
  let authority: TestAuthority;
  const opened: { close(): Promise<unknown> }[] = [];
  const folder = temporaryFolder();
  const authorities = join(folder.path, 'authorities');
  let service: FakeService;

  async function serve(tls?: { readonly key: string; readonly cert: string }): Promise<FakeService> {
    const other = new FakeService(tls);
    await other.listen();
    opened.push(other);
    return other;
  }

  beforeAll(async () => {
    authority = await createAuthority('Corporate TLS Inspection');
    mkdirSync(authorities);
    writeFileSync(join(authorities, 'corporate.pem'), authority.cert);
  });
  beforeEach(async () => {
    service = await serve();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });
  afterAll(() => folder.remove());

  it('finds no problems if there are none, and reports its findings', async () => {
    const secure = await serve(await authority.issue());
    const { problems, exitCode, finding, findings } = await diagnose({
      SERVICE_URL: secure.url,
      CA_CERTS_DIR: authorities,
    });
    expect(problems).toEqual([]);
    expect(exitCode).toBe(0);
    expect(finding('key')?.detail).toContain('Test location (test-location)');
    expect(finding('tls')?.detail).toContain('issued by "Corporate TLS Inspection"');
    expect(finding('upload')).toMatchObject({ status: 'ok', detail: expect.stringContaining('1 MB in') });
    expect(finding('authorities', 'CN=Corporate TLS Inspection')).toMatchObject({ status: 'ok' });
    for (const type of ['URL', 'API', 'TCP']) expect(finding('checks', type)).toMatchObject({ status: 'ok' });
    expect(JSON.stringify(findings)).not.toContain('0123456789abcdef');
    // The doctor claims nothing, and does not register an agent.
    expect(new Set(secure.calls.map(({ name }) => name))).toEqual(new Set(['examine']));
  });

  it.each([
    [
      'answers',
      [[{ name: 'answer', input: { text: 'ok' } }]],
      undefined,
      'ok',
      /scripted responds and calls tools/,
    ],
    ['calls no tool', [{ text: 'ok' }], undefined, 'warning', /calls no tool on request/],
    ['does not know the key', [{ status: 401 }], 'MODEL_API_KEY', 'problem', /status 401/],
    ['has no such name', [{ status: 404 }], 'MODEL_NAME', 'problem', /status 404/],
    ['is busy', [{ status: 429, retryAfter: '3600' }], 'MODEL_URL', 'warning', /status 429/],
    ['sends garbage', [{ raw: '<html>' }], 'MODEL_URL', 'problem', /response does not match this protocol/],
    ['is not there', undefined, 'MODEL_URL', 'problem', /ECONNREFUSED/],
  ])('queries the model once, and reports that it %s', async (_what, turns, about, status, detail) => {
    const asked = await startScriptedModel();
    if (turns) {
      asked.answerWith(turns as never);
      opened.push(asked);
    } else await asked.close();
    const { url, name, apiKey = '' } = asked.access();
    const { finding, findings } = await diagnose({
      ...{ SERVICE_URL: service.url, CHECK_TYPES: 'URL,AGENTIC', RUNTIMES_DIR: join(folder.path, 'none') },
      ...{ MODEL_URL: url, MODEL_NAME: name, MODEL_API_KEY: apiKey },
    });
    expect(finding('model', about)).toMatchObject({ status, detail: expect.stringMatching(detail) });
    expect(JSON.stringify(findings)).not.toContain(apiKey);
  });

  it('reports every problem of the configuration at once', async () => {
    const { problems, problem, exitCode } = await diagnose({
      API_KEY: 'ak_0123456789abcdef',
      SERVICE_URL: service.url,
      JOB_CONCURRENCY: 'many',
      HTTPS_PROXY: 'proxy:3128',
    });
    expect(problems).toEqual([
      'environment API_KEY',
      'environment JOB_CONCURRENCY',
      'environment HTTPS_PROXY',
    ]);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('an API key of an account'),
      fix: expect.stringContaining('/v1/private-locations/{id}/keys'),
    });
    expect(exitCode).toBe(1);
  });

  it('reports a wrong or revoked key', async () => {
    service.script = () => ({ statusCode: 401 });
    const { problems, problem } = await diagnose({ SERVICE_URL: service.url });
    expect(problems).toEqual(['key']);
    expect(problem?.fix).toContain('API_KEY');
  });

  it('reports a service with an older protocol, and still tests the key', async () => {
    service.script = ({ name }) => (name === 'examine' ? { statusCode: 404 } : undefined);
    const { problems, problem, finding } = await diagnose({ SERVICE_URL: service.url });
    expect(problems).toEqual(['protocol']);
    expect(problem?.fix).toContain('Upgrade the service');
    expect(finding('key')).toMatchObject({ status: 'ok' });
  });

  it('reports an agent that is too old for the service', async () => {
    service.script = () => ({ change: (answer) => ({ ...answer, isOutdated: true, version: '99.0.0' }) });
    const { problems, problem } = await diagnose({ SERVICE_URL: service.url });
    expect(problems).toEqual(['protocol']);
    expect(problem?.fix).toBe('Upgrade the agent to version 99.0.0.');
  });

  it('reports another program that responds in its place', async () => {
    const { problems, problem } = await diagnose({ SERVICE_URL: `${service.url}/elsewhere` });
    expect(problems).toEqual(['protocol']);
    expect(problem).toMatchObject({
      detail: expect.stringContaining('not a Picket service'),
      fix: expect.stringContaining('SERVICE_URL'),
    });
  });

  it('reports a clock that is an hour off', async () => {
    service.clockAheadMs = 3_600_000;
    const { problems, problem } = await diagnose({ SERVICE_URL: service.url });
    expect(problems).toEqual(['clock']);
    expect(problem).toMatchObject({
      detail: expect.stringMatching(/(60 min|1\.0 h) behind/),
      fix: expect.stringContaining('chrony'),
    });
  });

  it('reports a proxy in front of the service that refuses large bodies', async () => {
    service.script = ({ bodyBytes }) => (bodyBytes > 100_000 ? { statusCode: 413 } : undefined);
    const { problems, problem } = await diagnose({ SERVICE_URL: service.url });
    expect(problems).toEqual(['upload']);
    expect(problem?.fix).toContain('client_max_body_size');
  });

  it('reports unusable files of CA_CERTS_DIR', async () => {
    const broken = join(folder.path, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'good.pem'), authority.cert);
    writeFileSync(join(broken, 'bad.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    const { problems, problem, finding } = await diagnose({ SERVICE_URL: service.url, CA_CERTS_DIR: broken });
    expect(problems).toEqual(['authorities bad.pem']);
    expect(problem?.fix).toContain('in PEM');
    expect(finding('checks', 'URL')).toMatchObject({ status: 'ok' });
  });

  it('ends cleanly when interrupted', async () => {
    service.script = () => ({ isSilent: true });
    const process = startPicket(['doctor'], {
      API_KEY: 'pl_x',
      SERVICE_URL: service.url,
      CHECK_TYPES: 'URL',
      AGENT_HEALTH_PORT: '0',
    });
    await service.waitFor('the call', () => service.callsOf('examine').length > 0);
    expect(await process.kill('SIGINT')).toEqual({ code: 130, signal: null });
    expect(process.output()).toContain('Interrupted.');
    expect(process.output()).not.toContain('problem');
  });

  it('refuses unknown options', async () => {
    const process = startPicket(['doctor', '--colour'], {});
    expect(await process.ended).toEqual({ code: 2, signal: null });
  });
});
