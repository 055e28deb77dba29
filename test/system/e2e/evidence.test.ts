import { expect, it } from 'vitest';
import type { HttpDetail } from '../../../src/checks/http/detail.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { createLocation, startServiceProcess, until } from '../../helpers/picket-process.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';
import { readPcap } from '../../helpers/wire/captured-packets.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

// Captures need NET_RAW, like the namespaces of other tests.
const reason = whyNoNamespaces();

interface Result {
  readonly apiCheckResult: HttpDetail;
  readonly artifacts: readonly { readonly state: string }[];
}

it.skipIf(reason)(
  `transfers the packets of a refused request to a client${reason ? ` (${reason})` : ''}`,
  {
    timeout: 240_000,
  },
  async () => {
    const spool = temporaryFolder();
    await using service = await startServiceProcess();
    const location = await createLocation(service, 'evidence');
    const agent = new AgentProcess({
      SERVICE_URL: service.url,
      API_KEY: location.key,
      SPOOL_DIR: spool.path,
    });
    try {
      await agent.logged('connected to the service');
      const check = await service.api<{ id: string }>('POST', '/v1/checks/url', {
        name: 'evidence',
        frequency: 0,
        frequencyOffset: 10,
        privateLocations: [location.slugName],
        request: { url: `http://127.0.0.1:${await closedPort()}/` },
      });
      let result: Result | undefined;
      await until(
        'both artifacts are stored',
        async () => {
          const results = await service.api<Result[]>('GET', `/v1/check-results/${check.id}`);
          result = results.at(-1);
          return result?.artifacts.filter(({ state }) => state === 'stored').length === 2;
        },
        { timeoutMs: 40_000 },
      );
      const { pcapDataUrl, jobAssets } = result?.apiCheckResult ?? {};
      const download = (path: string | undefined | null) =>
        fetch(new URL(path ?? '', service.url), {
          headers: { authorization: 'Bearer test-key-of-the-first-account' },
        });
      const capture = readPcap(Buffer.from(await (await download(pcapDataUrl)).arrayBuffer()));
      expect(capture.segments.map(({ flags }) => flags)).toEqual(['S', 'R.']);
      expect(await (await download(jobAssets?.[0])).text()).toContain('the target responded in hop 1');
    } finally {
      await agent.kill();
      spool.remove();
    }
  },
);
