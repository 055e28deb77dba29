import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { maxArtifactBytes } from '../../../src/protocol/results/artifact.ts';
import { AgentProcess } from '../../helpers/agent/agent-process.ts';
import { createLocation, startServiceProcess, until } from '../../helpers/picket-process.ts';
import { leaveArtifacts } from '../../helpers/program.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

interface Result {
  readonly id: string;
  readonly hasErrors: boolean;
  readonly artifacts: readonly { readonly name: string; readonly state: string }[];
}

const target = createServer((_request, response) => response.end('fine'));
beforeAll(() => new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve)));
afterAll(() => target.close());

it('transfers the artifacts of a run from a real agent to a client of a real service, up to 150 MB', {
  timeout: 120_000,
}, async () => {
  const spool = temporaryFolder();
  await using service = await startServiceProcess();
  const location = await createLocation(service, 'evidence');
  const wanted = [
    { name: 'large.bin', contentType: 'application/octet-stream', sizeBytes: maxArtifactBytes, fill: 3 },
    { name: 'shots/one.png', contentType: 'image/png', sizeBytes: 200_000, fill: 9 },
    {
      name: 'too-large.bin',
      contentType: 'application/octet-stream',
      sizeBytes: maxArtifactBytes + 1,
      fill: 3,
    },
  ];
  const { port } = target.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/?artifacts=${encodeURIComponent(JSON.stringify(wanted))}`;
  const agent = new AgentProcess({ SERVICE_URL: service.url, API_KEY: location.key, SPOOL_DIR: spool.path }, [
    '--import',
    leaveArtifacts,
  ]);
  try {
    await agent.logged('connected to the service');
    const check = await service.api<{ id: string }>('POST', '/v1/checks/url', {
      name: 'evidence',
      frequency: 0,
      frequencyOffset: 10,
      privateLocations: [location.slugName],
      request: { url },
    });
    const path = `/v1/check-results/${check.id}`;
    let result: Result | undefined;
    await until(
      'both artifacts are stored',
      async () => {
        const results = await service.api<Result[]>('GET', path);
        // The next run may have begun its uploads already.
        result = results.find(
          ({ artifacts }) => artifacts.filter(({ state }) => state === 'stored').length === 2,
        );
        return result !== undefined;
      },
      { timeoutMs: 90_000 },
    );
    expect(result).toMatchObject({
      hasErrors: false,
      artifacts: [
        { name: 'large.bin', state: 'stored' },
        { name: 'shots/one.png', state: 'stored' },
        { name: 'too-large.bin', state: 'refused', sizeBytes: maxArtifactBytes + 1 },
      ],
    });
    const { assets } = await service.api<{ assets: { name: string; url: string; sha256: string }[] }>(
      'GET',
      `${path}/${result?.id}/assets`,
    );
    expect(assets).toHaveLength(2);
    for (const [index, asset] of assets.entries()) {
      const answer = await fetch(service.url + asset.url, {
        headers: { authorization: 'Bearer test-key-of-the-first-account' },
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(bytes.length).toBe(wanted[index]?.sizeBytes);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(asset.sha256);
    }
  } finally {
    await agent.kill();
    spool.remove();
  }
});
