import { afterAll, beforeAll, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import { runUrl } from '../../../src/checks/url/run.ts';
import { UrlSpec } from '../../../src/checks/url/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';

let target: HttpTarget;
let other: HttpTarget;
beforeAll(async () => {
  [target, other] = [await startHttpTarget(), await startHttpTarget()];
});
afterAll(async () => {
  await target.close();
  await other.close();
});

const sentTo = ({ requests }: HttpTarget) => requests.at(-1)?.headers['traceparent'];
const traceparent = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;

it('propagates a trace to the named hosts, a new one in each run, and records it in the result', async () => {
  const run = (traceparentHosts: readonly string[]) =>
    runUrl(UrlSpec.parse({ request: { url: target.url, traceparentHosts } }), runContext());
  const seen = new Set<unknown>();
  for (const hosts of [['127.0.0.1'], ['shop.example', '127.*']]) {
    const { detail } = await run(hosts);
    expect(sentTo(target)).toMatch(traceparent);
    expect(detail.request.traceparent).toBe(sentTo(target));
    seen.add(sentTo(target));
  }
  expect(seen.size).toBe(2);
  for (const hosts of [[], ['shop.example'], ['127.0.0.10', '27.0.0.1']]) {
    const { detail } = await run(hosts);
    expect(sentTo(target)).toBeUndefined();
    expect(detail.request).not.toHaveProperty('traceparent');
  }
});

it('continues after redirects to named hosts, and to no others', async () => {
  const elsewhere = other.url.replace('127.0.0.1', 'localhost');
  const url = `${target.url}/redirect-to?url=${encodeURIComponent(elsewhere)}`;
  const run = (...traceparentHosts: string[]) =>
    runUrl(UrlSpec.parse({ request: { url, traceparentHosts } }), runContext());
  const first = await run('127.0.0.1');
  expect([sentTo(target), sentTo(other)]).toEqual([first.detail.request.traceparent, undefined]);
  const second = await run('localhost');
  expect([sentTo(target), sentTo(other)]).toEqual([undefined, second.detail.request.traceparent]);
  const both = await run('LOCALHOST', '127.0.0.1');
  expect([sentTo(target), sentTo(other)]).toEqual(Array(2).fill(both.detail.request.traceparent));
  expect(both.detail.request.traceparent).toMatch(traceparent);
});

it('leaves a header unchanged that the check sets itself', async () => {
  const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;
  const { detail } = await runApi(
    ApiSpec.parse({
      request: {
        ...{ url: target.url, traceparentHosts: ['*'] },
        headers: [{ key: 'Traceparent', value: own }],
      },
    }),
    runContext(),
  );
  expect(sentTo(target)).toBe(own);
  expect(detail.request.traceparent).toBeUndefined();
});
