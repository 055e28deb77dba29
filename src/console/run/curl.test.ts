import { spawnSync } from 'node:child_process';
import type { DetailSummary } from '@picket/checks/summary/detail-summary.ts';
import { expect, it } from 'vitest';
import { parseCurl } from '../editor/curl/curl-command.ts';
import { curlOf } from './curl.ts';

const summaryOf = (request: {
  readonly method?: string;
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}): DetailSummary => ({
  sections: [
    {
      ...{ title: 'Request', id: 'request', line: { text: request.method ?? 'GET', url: request.url } },
      headers: request.headers ?? {},
      texts: request.body === undefined ? [] : [{ label: 'Request body', text: request.body }],
    },
  ],
});

it('writes the request of a run as a command, which the form of a check reads', () => {
  const command = curlOf(
    summaryOf({
      ...{ method: 'PUT', url: "https://shop.test/a'b?q=1&r=[2]", body: '{"a":\n"it\'s"}' },
      headers: { 'x-empty': '', authorization: '*********', 'x-shop': 'a "b" $c `d`' },
    }),
  );
  expect(command).toContain('--globoff');
  const { request } = parseCurl(command ?? '');
  expect(request).toMatchObject({ method: 'PUT', url: "https://shop.test/a'b?q=1&r=[2]" });
  expect(request?.body).toBe('{"a":\n"it\'s"}');
  expect(request?.headers.map(({ key, value }) => [key, value])).toEqual([
    ['x-empty', ''],
    ['authorization', '*********'],
    ['x-shop', 'a "b" $c `d`'],
  ]);
});

it('names methods only where curl needs it', () => {
  const url = 'https://shop.test/';
  expect(curlOf(summaryOf({ url }))).toBe(`curl '${url}'`);
  expect(curlOf(summaryOf({ url, method: 'HEAD' }))).toBe(`curl --head '${url}'`);
  expect(curlOf(summaryOf({ url, method: 'POST', body: 'a=1' }))).toBe(`curl '${url}' --data-raw 'a=1'`);
});

it('means the same to a shell, and has no control characters that a terminal would obey', () => {
  const body = "a\u0003b\u001b[2J\n'; echo hacked; '\\x41 $HOME é\u009b!";
  const command = curlOf(summaryOf({ url: 'https://shop.test/', method: 'POST', body })) ?? '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
  expect(command).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const { stdout } = spawnSync('bash', ['-c', script]);
  expect(stdout.toString('utf8').split('\0')).toEqual(['https://shop.test/', '--data-raw', body, '']);
});

it('is absent without an HTTP request, and leaves out what is not a header', () => {
  expect(curlOf(undefined)).toBeUndefined();
  expect(curlOf({ sections: [] })).toBeUndefined();
  expect(curlOf(summaryOf({ url: 'grpc://shop.test/' }))).toBeUndefined();
  expect(curlOf(summaryOf({ url: 'http://a.test/', headers: { '@/etc/passwd': 'x' } }))).toBe(
    "curl 'http://a.test/'",
  );
});
