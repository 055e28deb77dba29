import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maxExaminationBytes } from '../../../src/protocol/agent/agent-examination.ts';
import { diagnose } from '../../helpers/agent/doctor-run.ts';
import { createLocation, type RunningService, startServiceProcess } from '../../helpers/picket-process.ts';

describe('picket doctor and a real service', { timeout: 120_000 }, () => {
  let service: RunningService;
  let location: { id: string; key: string };

  beforeAll(async () => {
    service = await startServiceProcess();
    location = await createLocation(service, 'data-centre');
  }, 180_000);
  afterAll(() => service[Symbol.asyncDispose]());

  const examine = (key: string, body: Buffer) =>
    new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const call = request(
        `${service.url}/v1/agent/examinations?agentVersion=1.0.0`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' },
        },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }));
        },
      );
      call.on('error', reject);
      call.end(body);
    });

  it('agree, and no agent is registered afterwards', async () => {
    const { problems, finding } = await diagnose({ SERVICE_URL: service.url, API_KEY: location.key });
    expect(problems).toEqual([]);
    expect(finding('key')?.detail).toContain('data-centre');
    expect(finding('clock')).toMatchObject({ status: 'ok' });
    expect(finding('upload')).toMatchObject({ status: 'ok' });
    const shown = await service.api<{ agentCount: number; lastSeen: string | null }>(
      'GET',
      `/v1/private-locations/${location.id}`,
    );
    expect(shown).toMatchObject({ agentCount: 0, lastSeen: null });
  });

  it('name the checks of the location that this agent cannot run', async () => {
    const { finding: before } = await diagnose({ SERVICE_URL: service.url, API_KEY: location.key });
    expect(before('location-checks')).toMatchObject({
      status: 'ok',
      detail: 'no check runs at this location yet',
    });
    const create = (route: string, name: string, fields: object) =>
      service.api<{ id: string }>('POST', `/v1/checks/${route}`, { name, frequency: 10, ...fields });
    const here = { privateLocations: ['data-centre'] };
    await create('url', 'Shop', { ...here, request: { url: 'http://127.0.0.1:9/' } });
    const script = "const { test } = require('@playwright/test'); test('x', () => {});";
    await create('multistep', 'Basket', { ...here, script, runtimeId: '2025.04' });
    await create('multistep', 'Switched off', { ...here, script, runtimeId: '2025.04', activated: false });
    // Its group defines the locations.
    const { id: groupId } = await service.api<{ id: number }>('POST', '/v1/check-groups', {
      name: 'G',
      ...here,
    });
    await create('multistep', 'Login', { groupId, script, runtimeId: '2025.04' });
    const { finding, problems } = await diagnose({ SERVICE_URL: service.url, API_KEY: location.key });
    expect(problems).toEqual([]);
    expect(finding('location-checks', 'MULTI_STEP')).toMatchObject({
      status: 'warning',
      detail: '2 checks (Basket, Login) cannot run at this agent: the type is not offered',
    });
    expect(finding('location-checks', 'URL')).toBeUndefined();
  });

  it('agree on an unknown key', async () => {
    const { problems } = await diagnose({ SERVICE_URL: service.url, API_KEY: 'pl_unknown' });
    expect(problems).toEqual(['key']);
  });

  it('the call reports what arrived, and outdated agents', async () => {
    expect(await examine(location.key, randomBytes(300_000))).toMatchObject({
      status: 200,
      body: { receivedBytes: 300_000, isOutdated: true, location: { slugName: 'data-centre' } },
    });
  });

  it('the call accepts bodies up to its limit, and none without a key', async () => {
    expect((await examine(location.key, Buffer.alloc(maxExaminationBytes))).status).toBe(200);
    expect((await examine(location.key, Buffer.alloc(maxExaminationBytes + 1))).status).toBe(413);
    expect((await examine('pl_unknown', Buffer.alloc(10))).status).toBe(401);
  });
});
