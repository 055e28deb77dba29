import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { FakeService } from '../../helpers/agent/fake-service/fake-service.ts';
import {
  type CertificateOptions,
  createAuthority,
  type TestAuthority,
} from '../../helpers/targets/certificates.ts';

describe("the service's certificate", () => {
  const folder = mkdtempSync(join(tmpdir(), 'picket-ca-'));
  const caFile = join(folder, 'ca.pem');
  let authority: TestAuthority;

  beforeAll(async () => {
    authority = await createAuthority();
    writeFileSync(caFile, authority.cert);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function meet(
    options: CertificateOptions,
    environment: Readonly<Record<string, string>>,
    line: string,
  ) {
    const service = new FakeService(await authority.issue(options));
    await service.listen();
    const agent = new AgentProcess({ SERVICE_URL: service.url, ...environment });
    try {
      await agent.logged(line);
      return { claims: service.callsOf('claim').length, log: agent.stdout };
    } finally {
      await agent.kill();
      await service.close();
    }
  }

  it('of a private authority is trusted if NODE_EXTRA_CA_CERTS names it', async () => {
    const environment = { NODE_EXTRA_CA_CERTS: caFile };
    await meet({ hosts: ['127.0.0.1'] }, environment, 'connected to the service');
  });

  it.each([
    ['of an unknown authority', { hosts: ['127.0.0.1'] }, {}, 'NODE_EXTRA_CA_CERTS'],
    ['for another host', { hosts: ['example.com'] }, { trusted: true }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [
      'that is expired',
      { hosts: ['127.0.0.1'], fromDays: -9, toDays: -2 },
      { trusted: true },
      'the clock of this machine is wrong',
    ],
  ])(
    '%s is refused, with the reason and without a request',
    async (_name, options, { trusted = false }: { trusted?: boolean }, reason) => {
      const environment: Record<string, string> = trusted ? { NODE_EXTRA_CA_CERTS: caFile } : {};
      const { claims, log } = await meet(options, environment, 'failed to claim work');
      expect(claims).toBe(0);
      expect(log).toContain(reason);
    },
  );
});
