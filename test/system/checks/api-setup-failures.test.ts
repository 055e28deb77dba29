import { afterAll, beforeAll, describe, expect } from 'vitest';
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

describe('a setup script that fails', () => {
  const failing: readonly [string, string, string, RegExp][] = [
    [
      'throws',
      "\n\nthrow new Error('no token')",
      'SCRIPT_FAILED',
      /^Setup failed \(script 1\): Error: no token \(script\.js:3:\d+\)$/,
    ],
    [
      'cannot reach a server',
      "\nawait fetch('http://127.0.0.1:65000/')",
      'SCRIPT_FAILED',
      /^Setup failed \(script 1\): TypeError: fetch failed: connect ECONNREFUSED 127\.0\.0\.1:65000 \(script\.js:2:\d+\)$/,
    ],
    [
      'gets half of an answer',
      `const answer = await fetch('http://127.0.0.1:' + (await new Promise((done) => {
        const server = require('node:net').createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\\r\\ncontent-length: 9\\r\\n\\r\\n{')));
        server.listen(0, () => done(server.address().port));
      })));
       await answer.json();`,
      'SCRIPT_FAILED',
      /terminated: other side closed \(script\.js:5:\d+\)$/,
    ],
    [
      'rejects without being awaited',
      "Promise.reject(new Error('lost')); await new Promise((r) => setTimeout(r, 1000));",
      'SCRIPT_FAILED',
      /Error: lost/,
    ],
    [
      'throws in a timer',
      "setTimeout(() => { throw new Error('late') }, 1); await new Promise((r) => setTimeout(r, 1000));",
      'SCRIPT_FAILED',
      /Error: late/,
    ],
    ['throws no error at all', 'throw undefined', 'SCRIPT_FAILED', /Setup failed/],
    ['is no JavaScript', '\nconst const = 1;', 'SCRIPT_INVALID', /SyntaxError: .*\(script\.js:2/],
    ['throws a syntax error of its own', "JSON.parse('{')", 'SCRIPT_FAILED', /SyntaxError/],
    [
      'wants a package that is not there',
      "require('left-pad')",
      'SCRIPT_FAILED',
      /Cannot find module 'left-pad'/,
    ],
    [
      'forges its own end',
      `const forged = JSON.stringify({ event: 'script-end', durationMs: 1, variables: {} }) + '\\n';
       await new Promise((done) => new (require('net').Socket)({ fd: 3, readable: false }).write(forged, done));
       throw new Error('my own fault');`,
      'SCRIPT_FAILED',
      /my own fault/,
    ],
    ['wants files', "require('node:fs')", 'SCRIPT_FAILED', /cannot use "node:fs": they have no files/],
    ['imports files', "await import('fs/promises')", 'SCRIPT_FAILED', /cannot use "fs\/promises"/],
    ['asks Node for files', "process.getBuiltinModule('fs')", 'SCRIPT_FAILED', /cannot use "fs"/],
    [
      'wants programs',
      "require('child_process').execSync('id')",
      'SCRIPT_FAILED',
      /cannot use "child_process": they start no programs/,
    ],
    [
      'wants threads',
      "await import('node:worker_threads')",
      'SCRIPT_FAILED',
      /cannot use "node:worker_threads"/,
    ],
    ...(
      [
        ['process.binding', "process.binding('fs')", 'process.binding'],
        ['process.dlopen', "process.dlopen({ exports: {} }, '/nonexistent.node')", 'process.dlopen'],
        ['the loader', "require('node:module').createRequire('/')('fs')", 'node:module'],
        ['the main module', "process.mainModule.require('fs')", undefined],
        ['the main module of require', "require.main.require('fs')", undefined],
        ['the loader behind its module', "module.constructor._load('fs')", 'fs'],
        ['a data: URL', 'await import(\'data:text/javascript,import "fs"\')', 'fs'],
        ['the text of a function', 'await new Function(\'return import("fs")\')()', 'fs'],
        [
          'a function that claims another file',
          "await eval('import(\"fs\")\\n//# sourceURL=file://' + process.argv[2] + '/x.js')",
          'fs',
        ],
        [
          'a script that claims another file, asking Node',
          "eval('process.getBuiltinModule(\"fs\")\\n//# sourceURL=' + process.argv[2] + '/x.js')",
          'fs',
        ],
        ['a context', "require('vm').runInThisContext('1')", 'vm'],
        ['the inspector', "await import('node:inspector/promises')", 'node:inspector/promises'],
        ['WASI', "require('wasi')", 'wasi'],
        ['a test run', "require('node:test').run()", 'node:test'],
      ] as const
    ).map(([way, setup, named]): [string, string, string, RegExp] => [
      `gets at modules by ${way}`,
      setup,
      'SCRIPT_FAILED',
      named === undefined ? /Cannot read properties of undefined/ : new RegExp(`cannot use "${named}": they`),
    ]),
    ['wants Playwright', "require('@playwright/test')", 'SCRIPT_FAILED', /cannot use "@playwright\/test"/],
    ['exits', 'process.exit(0)', 'SCRIPT_FAILED', /did not finish: it exited with code 0/],
    [
      'returns a huge request',
      "request.body = 'x'.repeat(257 * 1024)",
      'SCRIPT_FAILED',
      /The request has 258 KB; scripts can pass on 256 KB/,
    ],
    [
      'returns a huge header',
      "request.headers.x = 'ü'.repeat(140 * 1024)",
      'SCRIPT_FAILED',
      /scripts can pass on 256 KB/,
    ],
    [
      'returns huge variables',
      "process.env.X = 'x'.repeat(257 * 1024)",
      'SCRIPT_FAILED',
      /process\.env has 258 KB/,
    ],
    [
      'returns a body that grows on its way',
      "request.body = '\\0'.repeat(200 * 1024)",
      'SCRIPT_FAILED',
      /changes made by the script are too large/,
    ],
    ['replaces the request by nothing', 'request = null', 'SCRIPT_FAILED', /request is no longer an object/],
    ['sets an unknown method', "request.method = 'BREW'", 'SCRIPT_FAILED', /method "BREW"/],
    [
      'sets a header to an object',
      'request.headers.x = {}',
      'SCRIPT_FAILED',
      /request\.headers\["x"\] is no text/,
    ],
    [
      'throws in a getter',
      "Object.defineProperty(request, 'url', { get() { throw new Error('trap') } })",
      'SCRIPT_FAILED',
      /trap/,
    ],
  ];
  for (const [what, setup, code, message] of failing) {
    itRuns(`ends the run when it ${what}, and nothing is sent`, async () => {
      const { outcome, requests, log } = await run({
        setup,
        teardown: "console.log('never')",
        rest: { shouldFail: true },
      });
      expect(outcome.failure).toMatchObject({ code, message: expect.stringMatching(message) });
      expect(outcome.errorMessages).toEqual([outcome.failure?.message]);
      expect(outcome).toMatchObject({ responseTimeMs: 0, isDegraded: false, overMaxResponseTime: false });
      expect(requests).toEqual([]);
      expect(log?.teardown).toEqual([]);
      expect(log?.setup.some(({ level }) => level === 'ERROR')).toBe(true);
      expect(outcome.detail.requestError).toBeNull();
    });
  }

  itRuns('prevents later scripts from running', async () => {
    const { log } = await run({ setup: ["throw new Error('first')", "console.log('second')"] });
    expect(messages(log?.setup)).not.toContain('second');
  });

  itRuns('ends the run at its limit, even if it never yields the processor', async () => {
    const { outcome, requests, log } = await run({ setup: "console.log('here'); for (;;);" });
    expect(outcome.failure).toMatchObject({
      code: 'SCRIPT_TIMED_OUT',
      owner: 'target',
      message: expect.stringContaining('longer than the 10 s'),
    });
    expect(requests).toEqual([]);
    expect(messages(log?.setup)).toContain('here');
  });

  itRuns('exceeds its own memory limit without affecting the agent', async () => {
    const setup = 'const all = []; for (;;) all.push(new Array(1e5).fill(Math.random()));';
    const { outcome, requests } = await run({ setup });
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_OUT_OF_MEMORY' });
    expect(requests).toEqual([]);
  });

  itRuns('cannot declare more secrets than can be masked', async () => {
    const setup =
      "for (let i = 0; i < 3000; i++) process.env.SERVICE_SECRET_X = 'secret-' + i; console.log('secret-2999');";
    const { outcome, log } = await run({ setup });
    expect(outcome.failure).toMatchObject({ code: 'SCRIPT_LIMIT_EXCEEDED' });
    expect(messages(log?.setup)).not.toContain('secret-');
  });

  itRuns('passes invalid headers on to the request, which refuses them', async () => {
    const setup = "request.headers['X-A'] = 'a\\r\\nX-Smuggled: 1'";
    const { outcome, requests } = await run({ setup });
    expect(outcome.failure).toMatchObject({ code: 'REQUEST_INVALID', owner: 'config' });
    expect(requests).toEqual([]);
    const named = await run({ setup: "request.headers['X-A: 1\\r\\nX-B'] = 'a'" });
    expect(named.outcome.failure).toMatchObject({ code: 'REQUEST_INVALID' });
    expect(named.requests).toEqual([]);
  });

  itRuns('has no effect on a run that was stopped', async () => {
    const stop = new AbortController();
    const running = run({ setup: 'await new Promise(() => {})', context: { signal: stop.signal } });
    setTimeout(() => stop.abort(new DOMException('stopped', 'AbortError')), 300);
    expect((await running).outcome.failure).toMatchObject({ code: 'RUN_ABORTED' });
  });
});
