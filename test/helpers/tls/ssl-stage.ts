import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { expect } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { SslDetail } from '../../../src/checks/ssl/detail.ts';
import { runSsl, warmUp } from '../../../src/checks/ssl/run.ts';
import { SslSpec } from '../../../src/checks/ssl/spec.ts';
import { runContext } from '../run-context.ts';
import { createFlawedAuthority } from '../targets/broken-certificates.ts';
import { createAuthority } from '../targets/certificates.ts';
import type { Target } from '../targets/listening.ts';
import { createStapledIdentity } from './stapled-identity.ts';

/** Authorities that this process trusts, and one that it does not, for tests of SSL monitors in a separate process. */
export async function openSslStage() {
  const folder = mkdtempSync(join(tmpdir(), 'picket-ssl-'));
  const authority = await createAuthority();
  const flawed = await createFlawedAuthority();
  const stapled = createStapledIdentity();
  const roots = [authority.cert, flawed.cert, stapled.authority];
  const authorityFile = join(folder, 'authorities.pem');
  writeFileSync(authorityFile, roots.join('\n'));
  setDefaultCACertificates(roots);
  await warmUp();
  const targets: Target[] = [];
  return {
    authority,
    flawed,
    stapled,
    /** An untrusted authority. */
    stranger: await createAuthority('Somebody else'),
    /** PEM file of the trusted authorities. */
    authorityFile,
    async kept<Kept extends Target>(starting: Promise<Kept>): Promise<Kept> {
      const target = await starting;
      targets.push(target);
      return target;
    },
    async close() {
      await Promise.all(targets.map((target) => target.close()));
      stapled.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs an SSL monitor of a target, for the name localhost by default. */
export async function runSslMonitor(
  { port }: { readonly port: number },
  config: Record<string, unknown> = {},
  {
    assertions = [],
    context = {},
    ...rest
  }: { assertions?: unknown[]; context?: Partial<RunContext>; shouldFail?: boolean } = {},
) {
  const sslConfig = { hostname: '127.0.0.1', port, serverName: 'localhost', ...config };
  const spec = SslSpec.parse({ request: { sslConfig, assertions }, ...rest });
  const outcome = await runSsl(spec, runContext(context));
  expect(SslDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}
