import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiScriptStage,
  itRuns as itRunsOn,
  messages,
  type ScriptedRun,
} from '../../helpers/scripts/api-script-stage.ts';

let stage: ApiScriptStage;
beforeAll(async () => {
  stage = await ApiScriptStage.open();
});
afterAll(() => stage.close());

const run = (what: ScriptedRun) => stage.run(what);
const itRuns = (name: string, test: () => Promise<void>) => itRunsOn(name, () => stage, test);

describe('a setup script', () => {
  itRuns('changes every part of the request', async () => {
    const { requests, outcome } = await run({
      setup: `
        request.method = 'put';
        request.url = request.url.replace('/echo', '/echo/there');
        request.headers['X-Two'] = 2;
        delete request.headers.gone;
        request.queryParameters.page = '1 & 2';
        request.body = { from: 'setup' };`,
      request: { headers: [{ key: 'gone', value: 'x' }], queryParameters: [{ key: 'q', value: 'old' }] },
    });
    expect(outcome.failure).toBeUndefined();
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({
      method: 'PUT',
      path: '/echo/there',
      body: '{"from":"setup"}',
    });
    expect([...(requests[0]?.query ?? [])]).toEqual([
      ['q', 'old'],
      ['page', '1 & 2'],
    ]);
    expect(requests[0]?.headers).toMatchObject({ 'x-two': '2' });
    expect(requests[0]?.headers).not.toHaveProperty('gone');
  });

  itRuns('adds a one-time code, whose secret is a secret of the run', async () => {
    const { requests, outcome } = await run({
      setup: `
        const { totp } = require('@service/playwright-helpers');
        request.headers['X-Code'] = await totp('otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ&digits=8', { at: 59000 });`,
    });
    expect(outcome.failure).toBeUndefined();
    expect(requests[0]?.headers['x-code']).toMatch(/^\d{8}$/);
    expect(outcome.secrets).toContain('GEZDGNBVGY3TQOJQ');
  });

  itRuns('leaves a request unchanged that it does not modify', async () => {
    const request = {
      body: 'ignored',
      headers: [
        { key: 'X-Many', value: '1' },
        { key: 'X-Many', value: '2' },
      ],
    };
    const { requests } = await run({ setup: '', request });
    expect(requests[0]).toMatchObject({ method: 'GET', body: '' });
    expect(requests[0]?.headers).toMatchObject({ 'x-many': '1, 2' });
  });

  itRuns('provides variables to the templates, and may use top-level await', async () => {
    const { requests } = await run({
      setup: `
        const answer = await fetch(process.env.REQUEST_URL, { method: 'POST', body: 'token-4711' });
        process.env.TOKEN = (await answer.json()).body;
        delete process.env.OLD;`,
      request: { headers: [{ key: 'Authorization', value: 'Bearer {{TOKEN}}{{OLD}}' }] },
      context: { variables: { OLD: 'old' } },
    });
    expect(requests).toHaveLength(2);
    expect(requests[1]?.headers.authorization).toBe('Bearer token-4711');
  });

  itRuns('uses packages of the runtime and snippets of the account', async () => {
    const { requests, outcome } = await run({
      setup: `
        const { createHmac } = require('crypto');
        const { upper } = require('./snippets/texts.js');
        const uuid = require('uuid');
        request.headers.sign = createHmac('sha256', 'k').update(upper('x')).digest('hex').slice(0, 8);
        request.headers.id = uuid.validate(uuid.v4()) ? 'valid' : 'not';`,
      context: {
        snippets: [
          { name: 'texts', script: "exports.upper = (text) => require('./deep').deep(text);" },
          { name: 'deep', script: 'exports.deep = (text) => text.toUpperCase();' },
        ],
      },
    });
    expect(outcome.failure).toBeUndefined();
    expect(requests[0]?.headers).toMatchObject({ sign: expect.stringMatching(/^[0-9a-f]{8}$/), id: 'valid' });
  });

  itRuns('has the same modules in its snippets, and packages have their dependencies', async () => {
    const snippets = [{ name: 'files', script: "require('fs')" }];
    const refused = await run({ setup: "require('./snippets/files.js')", context: { snippets } });
    expect(refused.outcome.failure?.message).toContain('cannot use "fs": they have no files of their own');
    const packages = await run({ setup: "require('axios'); require('dotenv'); require('protobufjs')" });
    expect(packages.outcome.failure).toBeUndefined();
  });

  itRuns('may be TypeScript with imports', async () => {
    const { requests } = await run({
      setup: `import { createHash } from 'node:crypto';
        const digest: string = createHash('sha256').update('x' as string).digest('hex');
        request.headers.digest = digest.slice(0, 4);`,
    });
    expect(requests[0]?.headers.digest).toBe('2d71');
  });

  itRuns('passes data on to the next, in one process', async () => {
    const { requests } = await run({
      setup: [
        'globalThis.left = 1; process.env.A = "a"; request.headers.first = "1";',
        'request.headers.second = `${globalThis.left}${process.env.A}${request.headers.first}`;',
      ],
    });
    expect(requests[0]?.headers).toMatchObject({ first: '1', second: '1a1' });
  });

  itRuns('writes to a separate log with levels, without displacing the others', async () => {
    const { log } = await run({
      setup: `console.log('plain %d', 1); console.warn('careful'); console.error(new Error('bad'));
        console.debug('deep'); process.stdout.write('ra'); process.stdout.write('w\\nend'); for (let i = 0; i < 5000; i++) console.log('x'.repeat(2000));`,
      teardown: "console.log('after all')",
    });
    expect(log?.setup.slice(0, 6).map(({ level, msg }) => [level, msg.split('\n')[0]])).toEqual([
      ['INFO', 'Setup starts: script 1'],
      ['INFO', 'plain 1'],
      ['WARN', 'careful'],
      ['ERROR', 'Error: bad'],
      ['DEBUG', 'deep'],
      ['INFO', 'raw'],
    ]);
    expect(log?.setup.length).toBeLessThanOrEqual(500);
    expect(messages(log?.setup.slice(-1))).toContain('more entries were dropped');
    expect(messages(log?.teardown)).toMatch(
      /^Teardown starts: script 1\nafter all\nTeardown ended after \d+ ms: script 1$/,
    );
  });

  itRuns('declares values secret by their names', async () => {
    const { outcome } = await run({
      setup: `process.env.SERVICE_SECRET_NEW = 'made-up-1'; process.env.SERVICE_SECRET_NEW = 'made-up-2';
        process.env.LOCKED = 'rotated'; process.env.OPEN = 'open';`,
      context: { variables: { LOCKED: 'first' }, secretNames: ['LOCKED'] },
    });
    expect(outcome.secrets).toEqual(['made-up-1', 'made-up-2', 'rotated']);
  });
});

describe('a teardown script', () => {
  itRuns('sees the request and the response', async () => {
    const { log } = await run({
      teardown: `console.log(JSON.stringify([request.method, request.url, response.statusCode, response.statusText,
        JSON.parse(response.body).method, response.headers['content-type'], Object.keys(response.timingPhases).slice(0, 3),
        response.timings.end > 0, process.env.REGION]))`,
      request: { url: `{{{BASE}}}/echo`, method: 'POST', bodyType: 'JSON', body: '{}' },
      context: { variables: { BASE: stage.target.url, REGION: 'here' } },
    });
    expect(messages(log?.teardown)).toContain(
      JSON.stringify([
        'POST',
        `${stage.target.url}/echo`,
        200,
        'OK',
        'POST',
        'application/json',
        ['wait', 'dns', 'tcp'],
        true,
        'here',
      ]),
    );
  });

  itRuns('may replace the body, which is then judged and stored', async () => {
    const { outcome } = await run({
      teardown: [
        "response.body = JSON.stringify({ decoded: true }); response.statusCode = 500; request.url = 'x';",
        "response.body = response.body.replace('true', '42')",
      ],
      request: {
        assertions: [
          { source: 'JSON_BODY', property: '$.decoded', comparison: 'EQUALS', target: '42' },
          { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' },
        ],
      },
    });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.detail.response).toMatchObject({ body: '{"decoded":42}', status: 200 });
    expect(outcome.detail.request.url).toBe(`${stage.target.url}/echo`);
  });

  itRuns('fails the run when it fails; assertions are judged anyway', async () => {
    const { outcome } = await run({
      teardown: ["throw new Error('left over')", "response.body = 'cleaned'"],
      request: { assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }] },
    });
    expect(outcome.failure).toMatchObject({
      code: 'SCRIPT_FAILED',
      message: expect.stringContaining('Teardown failed (script 1): Error: left over'),
    });
    expect(outcome.detail.assertions).toMatchObject([{ error: null }]);
    expect(outcome.detail.response.body).toBe('cleaned');
    expect(outcome.timeExcessMs).toBeUndefined();
  });

  itRuns('does not hide an earlier failure', async () => {
    const { outcome } = await run({
      teardown: "throw new Error('left over')",
      request: { assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '201' }] },
    });
    expect(outcome.failure?.code).toBe('ASSERTION_FAILED');
    expect(outcome.errorMessages).toHaveLength(2);
  });

  itRuns('also runs after a failed request, and after one that was never sent', async () => {
    const teardown = "console.log('cleaned', response.statusCode, response.body === '', response.timings)";
    const refused = await run({
      teardown,
      request: { url: 'http://127.0.0.1:9/' },
      context: {
        egress: { refusal: () => ({ message: 'no', rule: 'a rule' }), lookupRefusal: () => undefined },
      },
    });
    expect(refused.outcome.failure?.code).toBe('EGRESS_DENIED');
    expect(messages(refused.log?.teardown)).toContain('cleaned 0 true null');
    const unsent = await run({ teardown, request: { url: 'http://{{#if' } });
    expect(unsent.outcome.failure?.code).toBe('TEMPLATE_INVALID');
    expect(messages(unsent.log?.teardown)).toContain('cleaned 0 true null');
  });

  itRuns('gets a new process if the previous one ended', async () => {
    const { outcome, log } = await run({
      setup: "process.env.LEFT = 'here'",
      teardown: ['process.exit(3)', "console.log('last one', process.env.LEFT)"],
    });
    expect(outcome.failure).toMatchObject({
      code: 'SCRIPT_FAILED',
      message: expect.stringContaining('exited with code 3'),
    });
    expect(messages(log?.teardown)).toContain('last one here');
  });

  itRuns('reads a body of megabytes', async () => {
    const { log, outcome } = await run({
      teardown: "console.log('got', response.body.length)",
      request: { url: `${stage.target.url}/bytes/3000000` },
    });
    expect(outcome.failure).toBeUndefined();
    expect(messages(log?.teardown)).toContain('got 3000000');
  });

  itRuns('fails if its resulting body is too large', async () => {
    const { outcome } = await run({ teardown: "response.body = 'x'.repeat(300 * 1024)" });
    expect(outcome.failure?.message).toContain('response.body has 300 KB; scripts can pass on 256 KB');
    expect(outcome.detail.response.body).toContain('"method":"GET"');
  });
});

describe('scripts on a host that cannot run them', () => {
  it('end in an error of the agent', async () => {
    const { outcome, requests } = await run({ setup: 'x', context: { phases: undefined } });
    expect(outcome.failure).toMatchObject({ owner: 'agent', code: 'SANDBOX_UNAVAILABLE' });
    expect(requests).toEqual([]);
  });

  it('report the missing runtime', async () => {
    const { outcome } = await run({ setup: 'x', context: { runtimeId: '2022.10' } });
    expect(outcome.failure).toMatchObject({
      owner: 'agent',
      code: 'RUNTIME_MISSING',
      message: expect.stringContaining('2022.10'),
    });
  });
});
