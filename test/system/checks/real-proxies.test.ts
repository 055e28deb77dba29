import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import { resultFlags } from '../../../src/checks/contract/failure.ts';
import { runContext } from '../../helpers/run-context.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { startFilteredTarget } from '../../helpers/targets/filtered-target.ts';
import { startHttpsTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { listen } from '../../helpers/targets/listening.ts';
import { realProxies, startRealProxy, whyNoRealProxies } from '../../helpers/targets/real-proxies.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

const why = whyNoRealProxies();

async function run(url: string, proxyUrl: string) {
  const spec = ApiSpec.parse({ request: { url, skipSSL: true } });
  const { failure } = await runApi(spec, runContext({ proxyUrl, timeoutMs: 2500 }));
  return failure;
}

/** Starts targets that are dead in different ways. Returns their addresses. */
async function deadTargets(cleanup: AsyncDisposableStack): Promise<readonly (readonly [string, string])[]> {
  const filtered = cleanup.use(await startFilteredTarget());
  const hangingUp = cleanup.use(
    await listen(
      createServer((socket) => socket.destroy()),
      { scheme: 'tcp' },
    ),
  );
  const silent = cleanup.use(await listen(createServer(), { scheme: 'tcp' }));
  return [
    ['refuses connections', `127.0.0.1:${await closedPort()}`],
    ['has a name that does not exist', 'nope.invalid'],
    ['drops every packet', `127.0.0.1:${filtered.port}`],
    ['hangs up at once', `127.0.0.1:${hangingUp.port}`],
    ['accepts and says nothing', `127.0.0.1:${silent.port}`],
  ];
}

describe.skipIf(why !== null)(`behind real proxies${why ? ` (${why})` : ''}`, () => {
  it.concurrent.each(realProxies)(
    '%s: a dead target is blamed, a healthy one passes, and a hanging proxy is no target’s fault',
    async (name) => {
      await using cleanup = new AsyncDisposableStack();
      const proxy = cleanup.use(await startRealProxy(name));
      const authority = await createAuthority();
      const secure = cleanup.use(await startHttpsTarget({ identity: await authority.issue() }));
      const plain = cleanup.use(await startHttpTarget());
      expect(await run(`${secure.url}/echo`, proxy.url)).toBeUndefined();
      expect(await run(`${plain.url}/echo`, proxy.url)).toBeUndefined();

      // Most of them are silent: their runs wait in parallel.
      const targets = await deadTargets(cleanup);
      const dead = ['https', 'http'].flatMap((scheme) =>
        targets.map(async ([what, host]) => {
          const failure = await run(`${scheme}://${host}/`, proxy.url);
          const found = `${scheme} target that ${what}: ${failure?.code} ${failure?.message}`;
          expect(resultFlags(failure), found).toEqual({ hasFailures: true, hasErrors: false });
        }),
      );
      await Promise.all(dead);

      // Apache has many processes: one that is just being replaced could still respond.
      if (name === 'apache2') return;
      proxy.freeze();
      const frozen = await Promise.all([secure.url, plain.url].map((url) => run(url, proxy.url)));
      for (const failure of frozen)
        expect(failure).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
    },
  );
});
