import { createPrivateKey } from 'node:crypto';
import { expect, it } from 'vitest';
import type { LeasedRun } from '../../../../src/protocol/agent/agent.ts';
import { createAuthority } from '../../../helpers/targets/certificates.ts';
import type { StoreStage } from './stage.ts';

const request = { url: 'http://{{HOST}}/' };

/** Resources of an account for its checks: variables, snippets, client certificates. */
export function resourceSuite(stage: StoreStage): void {
  const call = (method: string, path: string, body?: unknown) => stage.harness.call(method, path, body);
  const post = async (path: string, body: unknown) => {
    const answer = await call('POST', path, body);
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body;
  };

  /** Creates a check of a type, lets its next slot become due, and returns the lease. */
  async function leaseOf(route: string, fields: object = {}): Promise<LeasedRun> {
    const check = await post(`/v1/checks/${route}`, {
      name: 'a check',
      frequency: 1,
      privateLocations: ['lab'],
      request,
      ...fields,
    });
    await stage.queueNextSlot(check.id);
    const run = (await stage.agent.claim({ runtimes: ['2026.04'] })).find(
      (each) => each.check.id === check.id,
    );
    if (!run) throw new Error('nothing was leased');
    return run;
  }

  it('keeps variables by key, and shows no hidden value', async () => {
    await stage.start();
    const made = await post('/v1/variables', { key: 'HOST', value: 'a.test' });
    expect(made).toMatchObject({
      key: 'HOST',
      value: 'a.test',
      locked: false,
      secret: false,
      updated_at: null,
    });
    await post('/v1/variables', { key: 'A_LOCKED', value: 'locked-1', locked: true });
    await post('/v1/variables', { key: 'TOKEN', value: 'secret-1', secret: true });
    const twice = await call('POST', '/v1/variables', { key: 'HOST', value: 'b.test' });
    expect([twice.status, twice.body.message]).toEqual([409, 'There is a variable "HOST" already.']);
    const list = await call('GET', '/v1/variables?limit=2');
    expect(list.body.map(({ key, value }: { key: string; value: string }) => [key, value])).toEqual([
      ['A_LOCKED', ''],
      ['HOST', 'a.test'],
    ]);
    expect(list.headers['content-range']).toBe('0-1/3');
    expect((await call('GET', '/v1/variables/TOKEN')).body.value).toBe('');
    expect((await call('DELETE', '/v1/variables/HOST')).status).toBe(204);
    expect((await call('DELETE', '/v1/variables/HOST')).status).toBe(404);
    expect((await call('GET', '/v1/variables/HOST')).status).toBe(404);
    expect((await call('PUT', '/v1/variables/HOST', { value: 'x' })).status).toBe(404);
  });

  it('changes a variable without ever showing hidden values', async () => {
    await stage.start();
    const stored = async (key: string) =>
      (await stage.harness.store.variables.find(stage.harness.accountId, key))?.value;
    const secret = await post('/v1/variables', { key: 'TOKEN', value: 'secret-1', secret: true });
    const back = await call('PUT', '/v1/variables/TOKEN', secret);
    expect([back.status, back.body.value, await stored('TOKEN')]).toEqual([200, '', 'secret-1']);
    expect((await call('PUT', '/v1/variables/TOKEN', { value: 'secret-2' })).body.value).toBe('');
    expect(await stored('TOKEN')).toBe('secret-2');
    const wrong = await call('PUT', '/v1/variables/TOKEN', { key: 'OTHER', secret: false, value: 'x' });
    expect([wrong.status, wrong.body.validation.keys]).toEqual([400, ['key', 'secret']]);
    await post('/v1/variables', { key: 'LOCKED', value: 'locked-1', locked: true });
    for (const value of [undefined, '']) {
      const unlocked = await call('PUT', '/v1/variables/LOCKED', { locked: false, value });
      expect([unlocked.status, unlocked.body.validation?.keys]).toEqual([400, ['value']]);
    }
    const renewed = await call('PUT', '/v1/variables/LOCKED', { locked: false, value: 'open' });
    expect(renewed.body).toMatchObject({ locked: false, value: 'open' });
    expect((await call('PUT', '/v1/variables/LOCKED', { value: '' })).body.value).toBe('');
    expect(await stored('LOCKED')).toBe('');
    expect((await call('PUT', '/v1/variables/LOCKED', { secret: true, value: 'now' })).body.value).toBe('');
  });

  it('leases variables of the account, the group and the check, with the nearest first', async () => {
    await stage.start();
    const variables = { ACCOUNT: 'account', GROUP: 'account', CHECK: 'account' };
    for (const [key, value] of Object.entries(variables)) {
      await post('/v1/variables', { key, value, secret: true });
    }
    await post('/v1/variables', { key: 'LOCKED', value: 'account', locked: true });
    const group = await post('/v1/check-groups', {
      name: 'a group',
      environmentVariables: [
        { key: 'GROUP', value: 'group' },
        { key: 'CHECK', value: 'group', secret: true },
      ],
    });
    const run = await leaseOf('url', {
      groupId: group.id,
      environmentVariables: [{ key: 'CHECK', value: 'check' }],
    });
    expect(run.variables).toEqual({ ACCOUNT: 'account', GROUP: 'group', CHECK: 'check', LOCKED: 'account' });
    expect([...run.secretNames].sort()).toEqual(['ACCOUNT', 'LOCKED']);
  });

  it('leases nothing of another account', async () => {
    await stage.start();
    const stranger = await stage.harness.addAccount();
    const body = { key: 'HOST', value: 'stranger' };
    expect((await stage.harness.call('POST', '/v1/variables', body, stranger)).status).toBe(201);
    expect((await leaseOf('url')).variables).toEqual({});
    expect((await post('/v1/variables', { ...body, value: 'own' })).value).toBe('own');
  });

  it('keeps snippets, and leases them to the phases that refer to them', async () => {
    await stage.start();
    const snippet = await post('/v1/snippets', { name: 'sign in', script: 'first();' });
    const other = await post('/v1/snippets', { name: 'other', script: 'other();' });
    expect((await call('GET', '/v1/snippets')).body).toEqual([other, snippet]);
    const changed = await call('PUT', `/v1/snippets/${snippet.id}`, { script: 'second();' });
    expect(changed.body).toMatchObject({ id: snippet.id, name: 'sign in', script: 'second();' });
    expect((await call('GET', `/v1/snippets/${snippet.id}`)).body).toEqual(changed.body);
    const fields = { setupSnippetId: snippet.id, tearDownSnippetId: other.id };
    const run = await leaseOf('api', fields);
    expect(run.lifecycle.setup).toEqual([{ name: 'snippet "sign in" of the check', script: 'second();' }]);
    expect(run.snippets.map(({ name }) => name)).toEqual(['sign in', 'other']);
    expect((await call('DELETE', `/v1/snippets/${snippet.id}`)).status).toBe(204);
    expect((await call('DELETE', `/v1/snippets/${snippet.id}`)).status).toBe(404);
    const [deleted] = (await leaseOf('api', fields)).lifecycle.setup;
    expect(deleted?.script).toContain(`names snippet ${snippet.id}, which was deleted`);
  });

  it('leases client certificates to the types that use them, and shows no key', async () => {
    await stage.start();
    const authority = await createAuthority();
    const { key, cert } = await authority.issue();
    const encrypted = createPrivateKey(key).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'open sesame',
    });
    const first = await post('/v1/client-certificates', { host: '*.test', cert, key });
    expect(Object.keys(first).sort()).toEqual([
      'ca',
      'cert',
      'created_at',
      'expiresAt',
      'hasPassphrase',
      'host',
      'id',
      'subject',
    ]);
    expect(first.cert).toBe(cert);
    stage.clock.advance(1);
    const second = await post('/v1/client-certificates', {
      host: 'a.test',
      cert: `${cert}\n${authority.cert}`,
      key: encrypted,
      passphrase: 'open sesame',
      ca: authority.cert,
    });
    for (const shown of [
      await call('GET', '/v1/client-certificates'),
      await call('GET', `/v1/client-certificates/${second.id}`),
    ]) {
      expect(shown.status).toBe(200);
      expect(JSON.stringify(shown.body)).not.toMatch(/sesame|PRIVATE KEY|passphrase/);
    }
    expect((await call('GET', '/v1/client-certificates')).body).toEqual([second, first]);
    const run = await leaseOf('api');
    expect(run.clientCertificates).toEqual([
      { host: 'a.test', cert: second.cert, key: encrypted, ca: authority.cert, passphrase: 'open sesame' },
      { host: '*.test', cert, key, ca: null, passphrase: null },
    ]);
    expect((await leaseOf('url')).clientCertificates).toEqual([]);
    expect((await call('DELETE', `/v1/client-certificates/${first.id}`)).status).toBe(204);
    expect((await call('GET', `/v1/client-certificates/${first.id}`)).status).toBe(404);
    expect((await leaseOf('api')).clientCertificates).toHaveLength(1);
  });
}
