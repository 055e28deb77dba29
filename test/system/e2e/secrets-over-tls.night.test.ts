import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startPicket } from '../../helpers/picket-process.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';

it('picket run trusts CA_CERTS_DIR when it fetches a secret over TLS', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secrets-tls-'));
  const authority = await createAuthority('Private root');
  await mkdir(join(folder, 'authorities'));
  await writeFile(join(folder, 'authorities', 'private.pem'), authority.cert);
  const vault = createServer(await authority.issue({ hosts: ['127.0.0.1'] }), (request, response) => {
    const isSecret = request.url === '/v1/kv/data/app';
    const secret = '{"data":{"data":{"token":"correct-horse-battery"},"metadata":{"version":1}}}';
    response.writeHead(isSecret ? 200 : 403).end(isSecret ? secret : '{"errors":[]}');
  });
  await new Promise<void>((resolve) => vault.listen(0, '127.0.0.1', resolve));
  const target = await startHttpTarget();
  const file = join(folder, 'check.yaml');
  await writeFile(
    file,
    `checkType: URL\nname: Home\nrequest: { url: "${target.url}/?t={{SERVICE_SECRET_TOKEN}}" }\n`,
  );
  const run = async (environment: Readonly<Record<string, string>>) => {
    const picket = startPicket(['run', file], {
      VAULT_ADDR: `https://127.0.0.1:${(vault.address() as AddressInfo).port}`,
      VAULT_TOKEN: 'hvs.given-token',
      SECRET_FROM_TOKEN: 'vault:kv/data/app#token',
      ...environment,
    });
    const { code } = await picket.ended;
    return { code, output: picket.output() };
  };
  const distrusted = await run({});
  expect(distrusted.output).toMatch(/SECRET_UNAVAILABLE .*cannot be reached: .*certificate/);
  const trusted = await run({ CA_CERTS_DIR: join(folder, 'authorities') });
  expect(trusted.code, trusted.output).toBe(0);
  await target.close();
  await new Promise((resolve) => vault.close(resolve));
  await rm(folder, { recursive: true });
});
