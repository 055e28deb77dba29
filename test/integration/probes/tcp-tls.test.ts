import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CertificateOptions,
  createAuthority,
  type TestAuthority,
} from '../../helpers/targets/certificates.ts';
import { converse } from '../../helpers/targets/tcp-request.ts';
import { startTcpTarget, type TcpTarget } from '../../helpers/targets/tcp-target.ts';

let authority: TestAuthority;
const targets: TcpTarget[] = [];

beforeAll(async () => {
  authority = await createAuthority();
  setDefaultCACertificates([...getCACertificates(), authority.cert]);
});
afterAll(() => Promise.all(targets.map((target) => target.close())));

async function secureTarget(certificate?: CertificateOptions): Promise<TcpTarget> {
  const target = await startTcpTarget('echo-and-close', { identity: await authority.issue(certificate) });
  targets.push(target);
  return target;
}

const tls = { isCertificateChecked: true };

describe('TLS over TCP', () => {
  it('talks to a server with a valid certificate, and times the handshake separately', async () => {
    const target = await secureTarget();
    const { error, answer, phases } = await converse(target, { tls, data: 'secret' });
    expect(error).toBeUndefined();
    expect(answer.toString()).toBe('secret');
    if (!phases) throw new Error('no phases');
    expect(phases.tls).toBeGreaterThan(0);
    expect(phases.dns + phases.connection + phases.tls + phases.data).toBeCloseTo(phases.total, 6);
  });

  it('checks the certificate for the requested name, not for the address', async () => {
    const target = await secureTarget({ hosts: ['localhost'] });
    const named = await converse({ ...target, host: 'localhost' }, { tls, data: 'x' });
    const byAddress = await converse(target, { tls, data: 'x' });
    expect(named.error).toBeUndefined();
    expect(byAddress.error).toMatchObject({ kind: 'certificate-invalid', phase: 'tls' });
  });

  it('requests the name of the server, and checks the certificate for it, if it is not the host', async () => {
    const target = await secureTarget({ hosts: ['shop.example'] });
    const serverName = 'shop.example';
    const named = await converse(target, { tls: { ...tls, serverName }, data: 'x' });
    expect(named.error).toBeUndefined();
    expect(named.certificate?.subject).toBe(serverName);
    const other = await converse(target, { tls: { ...tls, serverName: 'pay.example' }, data: 'x' });
    expect(other.error).toMatchObject({ kind: 'certificate-invalid', phase: 'tls' });
  });

  it.each([
    ['expired', { fromDays: -9, toDays: -1 }, /certificate has expired/],
    ['for another host', { hosts: ['other.example'] }, /does not match/],
  ])('refuses a certificate that is %s, unless it is not checked', async (_name, certificate, message) => {
    const target = await secureTarget(certificate);
    const { error, isConnected } = await converse(target, { tls, data: 'x' });
    expect(error).toMatchObject({ kind: 'certificate-invalid', phase: 'tls' });
    expect(error?.message).toMatch(message);
    expect(isConnected).toBe(true);
    const unchecked = await converse(target, { tls: { isCertificateChecked: false }, data: 'x' });
    expect(unchecked.answer.toString()).toBe('x');
  });

  it('fails on a server that does not speak TLS', async () => {
    const target = await startTcpTarget('echo-and-close');
    targets.push(target);
    const { error } = await converse(target, { tls });
    expect(error).toMatchObject({ kind: 'handshake-failed', phase: 'tls' });
  });

  it('blames the handshake of a silent server', async () => {
    const target = await startTcpTarget('silent');
    targets.push(target);
    const { error } = await converse(target, { tls, timeoutMs: 200 });
    expect(error).toMatchObject({ kind: 'connection-timeout', phase: 'tls' });
  });
});
