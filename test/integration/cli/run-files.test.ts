import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPicket } from '../../helpers/picket-process.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';

describe('picket run of files in short forms', () => {
  const folder = temporaryFolder();
  let server: Server;
  let port = 0;
  const received: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        received.push(`${request.method} ${request.url} ${request.headers['x-team']} ${body}`);
        const answer = JSON.stringify({ state: 'up', at: new Date() });
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => {
    server.close();
    folder.remove();
  });

  async function run(content: string, ...options: string[]) {
    const file = join(folder.path, 'checks.yaml');
    await writeFile(file, content);
    const picket = startPicket(['run', file, ...options], {});
    const { code } = await picket.ended;
    return { code, output: picket.output() };
  }

  it('runs a list to its end, and fails if one check fails', async () => {
    const content = `
checks:
  - name: shop
    type: http
    url: http://127.0.0.1:${port}/cart
    method: post
    headers: { X-Team: shop }
    body: { a: 1 }
    assertions:
      - status == 200
      - $.state == up
      - header content-type contains json
      - $.at younger than 10m
      - { source: JSON_BODY, comparison: MATCHES_SCHEMA, target: { required: [state] } }
  - { name: wrong status, url: "http://127.0.0.1:${port}/", expect: { status: 500 } }
  - { name: port, type: tcp, host: "127.0.0.1:${port}" }
`;
    const { code, output } = await run(content, '--json');
    const reports = JSON.parse(output) as readonly { name: string; checkType: string; verdict: string }[];
    expect(reports.map(({ name, checkType, verdict }) => [name, checkType, verdict])).toEqual([
      ['shop', 'API', 'PASSED'],
      ['wrong status', 'URL', 'FAILED'],
      ['port', 'TCP', 'PASSED'],
    ]);
    expect(code).toBe(1);
    expect(received).toContain('POST /cart shop {"a":1}');
    const { output: text } = await run(content);
    expect(text).toMatch(/PASSED {2}shop .*FAILED {2}wrong status .*PASSED {2}port /s);
  });

  it('names what to write, and exits with 2', async () => {
    const { code, output } = await run('type: tcp\nhost: 127.0.0.1\n');
    expect({ code, output }).toEqual({
      code: 2,
      output: expect.stringContaining('request.port: is required, such as "port: 443"') as string,
    });
  });
});
