import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { runDns } from '../../../src/checks/dns/run.ts';
import { DnsSpec } from '../../../src/checks/dns/spec.ts';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { runUrl } from '../../../src/checks/url/run.ts';
import { UrlSpec } from '../../../src/checks/url/spec.ts';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { ResolveError, type Resolver } from '../../../src/probes/resolver.ts';
import { runContext } from '../../helpers/run-context.ts';
import { startSilentTarget } from '../../helpers/targets/hostile-target.ts';
import type { Target } from '../../helpers/targets/listening.ts';

let silent: Target;
beforeAll(async () => {
  silent = await startSilentTarget();
});
afterAll(() => silent.close());

const brokenResolver: Resolver = {
  resolve: (hostname) =>
    Promise.reject(new ResolveError('unavailable', 'ESERVFAIL', `no name server answers for ${hostname}`)),
};
const closed = createEgressPolicy({ allow: '', deny: '0.0.0.0/0', ownPorts: [] });
const aborted = () => AbortSignal.abort(new Error('lease lost'));

/** A run of each type that expects its target to be down. */
const runs: Readonly<
  Record<string, (hostname: string, context: Partial<RunContext>) => Promise<Outcome<unknown>>>
> = {
  API: (hostname, context) =>
    runApi(
      ApiSpec.parse({ shouldFail: true, request: { url: `http://${hostname}:${silent.port}/` } }),
      runContext(context),
    ),
  URL: (hostname, context) =>
    runUrl(
      UrlSpec.parse({ shouldFail: true, request: { url: `http://${hostname}:${silent.port}/` } }),
      runContext(context),
    ),
  TCP: (hostname, context) =>
    runTcp(
      TcpSpec.parse({ shouldFail: true, request: { hostname, port: silent.port } }),
      runContext(context),
    ),
  DNS: (hostname, context) =>
    runDns(
      DnsSpec.parse({
        shouldFail: true,
        request: {
          query: 'a.example',
          recordType: 'A',
          nameServer: hostname,
          port: silent.port,
          protocol: 'TCP',
        },
      }),
      runContext(context),
    ),
};

describe.each(Object.entries(runs))('a check of type %s that expects its target to be down', (_type, run) => {
  it.each<[string, string, () => Partial<RunContext>, { code: string; owner: string }]>([
    [
      'the policy of the location',
      '127.0.0.1',
      () => ({ egress: closed }),
      { code: 'EGRESS_DENIED', owner: 'config' },
    ],
    [
      'a resolver that is down',
      'name.example',
      () => ({ resolver: brokenResolver }),
      { code: 'RESOLVER_FAILED', owner: 'location' },
    ],
    [
      'a run that was stopped',
      '127.0.0.1',
      () => ({ signal: aborted() }),
      { code: 'RUN_ABORTED', owner: 'agent' },
    ],
  ])('does not pass because of %s', async (_what, hostname, context, expected) => {
    const { failure } = await run(hostname, context());
    expect(failure).toMatchObject(expected);
  });
});
