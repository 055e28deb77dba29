import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { ManualClock } from '../../helpers/manual-clock.ts';
import { artifactOf, upload } from '../../helpers/service/artifact-upload.ts';
import {
  createCheck,
  createLocation,
  openHarness,
  reportOf,
  TestAgent,
} from '../../helpers/service/service.ts';

const clock = new ManualClock();

it("shows the artifacts of a test session's result in the session, to its account only", async () => {
  const harness = await openHarness({ clock });
  const url = await harness.app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const location = await createLocation(harness, 'lab');
    const agent = new TestAgent(harness, location);
    await agent.claim();
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(url + path, { headers: { authorization: `Bearer ${harness.key}`, ...headers } });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
    const json = async (path: string): Promise<any> => (await get(path)).json();
    const check = await createCheck(harness, { privateLocations: ['lab'], activated: false });
    const triggered = await harness.call('POST', '/v1/test-sessions/trigger', {
      name: 'try',
      runLocation: 'lab',
      target: { checkId: check.id, allowDeactivated: true },
    });
    const sessionId: string = triggered.body.testSessionId;
    const [run] = await agent.claim();
    if (!run) throw new Error('nothing was leased');
    const one = artifactOf(randomBytes(5_000), { name: 'traces/log-in.zip' });
    const log = artifactOf(Buffer.from('lines'), { name: 'out.log', contentType: 'text/plain' });
    const artifacts = [one.reported, log.reported];
    expect(await agent.report([reportOf(run, { artifacts })])).toEqual(['accepted']);
    const path = `/v1/test-sessions/${sessionId}/results/${run.resultId}/assets`;
    expect((await json(path)).assets).toEqual([]);
    for (const sent of [one, log])
      expect(
        await upload({ url, key: location.key, run, bytes: sent.bytes, name: sent.reported.name }),
      ).toMatchObject({ status: 200 });
    // The trace is named after its test, and recognized by its folder.
    const { assets } = await json(`${path}?type=trace`);
    expect(assets).toEqual([
      {
        type: 'trace',
        name: 'traces/log-in.zip',
        url: `${path}/traces/log-in.zip`,
        contentType: one.reported.contentType,
        sizeBytes: 5_000,
        sha256: one.reported.sha256,
        source: {
          type: 'test-session-result',
          checkId: check.id,
          resultId: run.resultId,
          testSessionId: sessionId,
        },
      },
    ]);
    expect((await json(`${path}?type=log`)).assets.map(({ name }: { name: string }) => name)).toEqual([
      'out.log',
    ]);
    const answer = await get(assets[0].url, { range: 'bytes=0-9' });
    expect([answer.status, answer.headers.get('content-security-policy')]).toEqual([
      206,
      "default-src 'none'; sandbox",
    ]);
    expect(Buffer.from(await answer.arrayBuffer()).equals(one.bytes.subarray(0, 10))).toBe(true);
    const links = await json(`/next/test-sessions/${sessionId}/results/${run.resultId}/links`);
    const [link] = links.testTraceLinks;
    const opened = await fetch(link);
    expect([opened.status, opened.headers.get('content-security-policy')]).toEqual([
      200,
      "default-src 'none'; sandbox",
    ]);
    expect(Buffer.from(await opened.arrayBuffer()).equals(one.bytes)).toBe(true);
    // It is valid only for its file, for an hour.
    const until = Number(new URL(link).searchParams.get('until'));
    for (const forged of [
      link.replace('traces/log-in.zip', 'out.log'),
      link.replace(run.resultId, randomUUID()),
      link.replace(harness.accountId, randomUUID()),
      link.replace(`until=${until}`, `until=${until + 1}`),
    ]) {
      expect([forged, (await fetch(forged)).status]).toEqual([forged, 403]);
    }
    clock.advance(3_600_001);
    expect((await fetch(link)).status).toBe(403);
    const stranger = await harness.addAccount();
    const asStranger = { authorization: `Bearer ${stranger.key}` };
    for (const [from, headers] of [
      [path, asStranger],
      [assets[0].url, asStranger],
      [`${path}/other.png`, {}],
      [path.replace(run.resultId, randomUUID()), {}],
      [path.replace(sessionId, randomUUID()), {}],
    ] as const) {
      expect([from, (await get(from, headers)).status]).toEqual([from, 404]);
    }
  } finally {
    await harness.close();
  }
});
