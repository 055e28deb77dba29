import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFlawedAuthority } from '../../helpers/targets/broken-certificates.ts';
import {
  createAuthority,
  type KeyAndCertificate,
  type TestAuthority,
} from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { type HttpTarget, startHttpsTarget } from '../../helpers/targets/http-target.ts';

const dayMs = 86_400_000;

describe('the certificate of a target', () => {
  let authority: TestAuthority;
  const targets: HttpTarget[] = [];

  async function started(days: number, hosts?: readonly string[]): Promise<HttpTarget> {
    return await startedWith(
      await authority.issue({ fromDays: -100, toDays: days, ...(hosts && { hosts }) }),
    );
  }

  async function startedWith(identity: KeyAndCertificate): Promise<HttpTarget> {
    const target = await startHttpsTarget({ identity, protocols: ['http/1.1'] });
    targets.push(target);
    return target;
  }

  beforeAll(async () => {
    authority = await createAuthority();
  });
  afterAll(async () => {
    await Promise.all(targets.map((target) => target.close()));
  });

  const identityOf = async () => {
    const { cert, key } = await authority.issue({ hosts: ['client'] });
    return { cert, key, ca: authority.cert };
  };

  it('is reported if it is valid', async () => {
    const target = await started(30);
    const clientIdentity = await identityOf();
    const { error, certificate } = await probe(target.url.replace('127.0.0.1', 'localhost'), {
      clientIdentityFor: () => clientIdentity,
    });
    expect(error).toBeUndefined();
    expect(certificate).toMatchObject({
      subject: 'localhost',
      issuer: 'Picket test authority',
      protocol: 'TLSv1.3',
      cipher: expect.stringMatching(/^TLS_/),
    });
    // The root, which is valid for a year, does not count.
    expect(certificate?.chainValidToMs).toBe(certificate?.validToMs);
    expect(((certificate?.validToMs ?? 0) - Date.now()) / dayMs).toBeCloseTo(30, 2);
  });

  it('is reported if it is untrusted', async () => {
    const { error, certificate } = await probe((await started(30)).url);
    expect(error?.kind).toBe('certificate-invalid');
    expect(certificate).toMatchObject({ subject: 'localhost', issuer: 'Picket test authority' });
  });

  it('is reported if it has expired', async () => {
    const target = await started(-3);
    const clientIdentity = await identityOf();
    const { error, certificate } = await probe(target.url, { clientIdentityFor: () => clientIdentity });
    expect(error?.code).toBe('CERT_HAS_EXPIRED');
    expect(((certificate?.validToMs ?? 0) - Date.now()) / dayMs).toBeCloseTo(-3, 2);
  });

  it('is reported if it is for another host, which still fails', async () => {
    const target = await started(30, ['elsewhere.example']);
    const clientIdentity = await identityOf();
    const { error, certificate } = await probe(target.url, { clientIdentityFor: () => clientIdentity });
    expect(error?.code).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(certificate?.subject).toBe('elsewhere.example');
  });

  it('is read with the chain that came with it: issuers can change while the leaf stays', async () => {
    const { issue } = await createFlawedAuthority();
    const { key, cert } = await issue({ intermediate: { toDays: 5 } });
    const [leaf = '', issuer = ''] = cert.split(/(?<=-----END CERTIFICATE-----)/);
    const whole = await startedWith({ key, cert });
    const alone = await startedWith({ key, cert: leaf });
    const disordered = await startedWith({ key, cert: `${leaf}\n${authority.cert}\n${issuer}` });
    for (const [target, days] of [
      [whole, 5],
      [alone, 30],
      [disordered, 5],
      [whole, 5],
    ] as const) {
      const { certificate } = await probe(target.url, { isCertificateChecked: false });
      expect(((certificate?.chainValidToMs ?? 0) - Date.now()) / dayMs).toBeCloseTo(days, 2);
      expect(((certificate?.validToMs ?? 0) - Date.now()) / dayMs).toBeCloseTo(30, 2);
    }
  });

  it('is reported if it is not checked', async () => {
    const { error, certificate } = await probe((await started(-3)).url, { isCertificateChecked: false });
    expect(error).toBeUndefined();
    expect(certificate?.validToMs).toBeLessThan(Date.now());
  });
});
