import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedModel, startScriptedModel } from '../../helpers/agentic/scripted-model.ts';
import {
  createLocation,
  type RunningService,
  startAgentProcess,
  startServiceProcess,
} from '../../helpers/picket-process.ts';
import { program, programEnvironment } from '../../helpers/program.ts';
import { runtimesDirectory, type ScriptStage, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { temporaryFolder, until } from '../../helpers/service/service.ts';
import type { Route } from '../../helpers/targets/http-routes.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

interface Ended {
  readonly status: string;
  readonly results: readonly { readonly checkResultId?: string }[];
}

const password = 'correct horse battery';

describe('agentic checks: a real service, a real agent, a real page, a scripted model', () => {
  let service: RunningService;
  let model: ScriptedModel;
  let target: HttpTarget;
  let stage: ScriptStage;
  let label = 'Word';
  const folder = temporaryFolder();

  beforeAll(async () => {
    stage = await startScriptStage();
    service = await startServiceProcess();
    model = await startScriptedModel();
    const routes: Readonly<Record<string, Route>> = {
      page: (_request, reply) => {
        reply.writeHead(200, { 'content-type': 'text/html' });
        reply.end(
          `<!doctype html><title>Tea</title><label>${label} <input oninput="out.textContent='Hello '+value"></label><p id="out"></p>`,
        );
      },
    };
    target = await startHttpTarget({ routes });
  });
  afterAll(async () => {
    await target?.close();
    await model?.close();
    await service?.[Symbol.asyncDispose]();
    await stage?.close();
    folder.remove();
  });

  it("keep and repeat the model's steps, and keep healed steps as a version", {
    timeout: 240_000,
  }, async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') context.skip(stage.missingBrowser);
    const { key } = await createLocation(service, 'lab');
    const access = model.access();
    await using agent = await startAgentProcess(
      { serviceUrl: service.url, key },
      {
        ...{ MODEL_URL: access.url, MODEL_NAME: 'scripted', MODEL_API_KEY: access.apiKey ?? '' },
        RUNTIMES_DIR: runtimesDirectory,
      },
    );
    expect(agent).toBeDefined();
    await service.api('POST', '/v1/variables', { key: 'WORD', value: password, secret: true });
    const { id } = await service.api<{ id: string }>('POST', '/v1/checks/agentic', {
      ...{ name: 'tea', frequency: 1440, locations: [], privateLocations: ['lab'] },
      prompt: `Open ${target.url}/page, say {{WORD}} and see "Hello".`,
    });
    const trigger = () =>
      service.api<{ sessions: { checkSessionId: string }[] }>('POST', '/v1/check-sessions/trigger', {
        target: { checkId: id },
      });
    const run = async () => {
      // The agent offers no such checks until it has tested its browser.
      const { sessions } = await until('the agent can run it', () =>
        trigger().catch((thrown: unknown) => {
          if (!String(thrown).includes('CANNOT_RUN_NOW')) throw thrown;
          return undefined;
        }),
      );
      const ended = await service.api<Ended>(
        'GET',
        `/v1/check-sessions/${sessions[0]?.checkSessionId}/completion`,
      );
      const result = await service.api('GET', `/v1/check-results/${id}/${ended.results[0]?.checkResultId}`);
      expect(JSON.stringify(result)).not.toContain(password);
      expect(ended.status, JSON.stringify(result)).toBe('PASSED');
      return result;
    };
    const fill = (name: string) => ({ name: 'fill', input: { target: { label: name }, value: '{{WORD}}' } });
    model.answerWith(
      [
        { name: 'open', input: { url: `${target.url}/page` } },
        fill('Word'),
        {
          name: 'assert',
          input: {
            ...{ condition: 'It greets', subject: 'text', target: { css: '#out' } },
            ...{ comparison: 'EQUALS', expected: 'Hello {{WORD}}' },
          },
        },
        { name: 'finish', input: { isDone: true, summary: 'It greets.' } },
      ].map((call) => [call]),
    );
    expect(await run()).toMatchObject({
      agenticCheckResult: { summary: 'It greets.', plan: { origin: 'found' } },
    });
    const asked = model.questions.length;
    expect(await run()).toMatchObject({
      agenticCheckResult: { plan: { origin: 'replayed', version: 1 }, usage: null },
    });
    expect(model.questions).toHaveLength(asked);

    label = 'Name';
    model.answerWith([
      [fill('Name')],
      [{ name: 'resume', input: { step: 3, summary: 'The field has another label.' } }],
    ]);
    expect(await run()).toMatchObject({ agenticCheckResult: { plan: { origin: 'healed', version: 1 } } });
    expect(await service.api('GET', `/v1/checks/${id}/plans`)).toMatchObject([
      { version: 2, reason: 'healed' },
      { version: 1, reason: 'found' },
    ]);
    for (const { body } of model.questions) expect(body).not.toContain(password);
    const steps = (...args: string[]) =>
      execFileSync(process.execPath, [program, 'steps', ...args], {
        env: {
          ...programEnvironment,
          PICKET_URL: service.url,
          PICKET_API_KEY: 'test-key-of-the-first-account',
        },
        encoding: 'utf8',
      });
    const shown = steps('show', 'tea');
    expect(shown).toMatch(/^Version 2 of 2, healed/);
    expect(shown).toContain('- fill: label "Word"');
    expect(shown).toContain('+ fill: label "Name"');

    label = 'Word';
    expect(steps('restore', 'tea', '1')).toMatch(/^Version 1 was restored as version 3:/);
    expect(await run()).toMatchObject({
      agenticCheckResult: { plan: { origin: 'replayed', version: 3 }, usage: null },
    });
  });

  const reason = whyNoNamespaces();
  it.skipIf(reason)('make no connection without a named model', { timeout: 240_000 }, async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') context.skip(stage.missingBrowser);
    const name = `pk${randomBytes(3).toString('hex')}`;
    const inNetwork = (...command: string[]) => ['netns', 'exec', name, ...command];
    const file = join(folder.path, 'check.json');
    const prompt = 'Open http://10.9.9.9/ and see "Tea".';
    writeFileSync(file, JSON.stringify({ checkType: 'AGENTIC', name: 'tea', prompt }));
    /** Packets that left the host while the check ran, including those of address lookups. */
    const counted = (environment: Record<string, string>) => {
      const count = 'cat /sys/class/net/d0/statistics/tx_packets';
      const script = `${count}; ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} run ${JSON.stringify(file)} >&2; ${count}`;
      const output = execFileSync('ip', inNetwork('sh', '-c', script), {
        env: { PATH: process.env.PATH ?? '', ...programEnvironment, ...environment },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [before, after] = output.trim().split('\n').map(Number);
      return (after ?? Number.NaN) - (before ?? Number.NaN);
    };
    execFileSync('ip', ['netns', 'add', name]);
    try {
      // Without IPv6 an interface sends no packets by itself.
      execFileSync('ip', inNetwork('sysctl', '-qw', 'net.ipv6.conf.all.disable_ipv6=1'));
      for (const command of [
        'link set lo up',
        'link add d0 type veth peer name d1',
        'addr add 10.9.9.1/24 dev d0',
        'link set d0 up',
        'link set d1 up',
        'route add default via 10.9.9.2',
      ]) {
        execFileSync('ip', inNetwork('ip', ...command.split(' ')));
      }
      expect(counted({})).toBe(0);
      // The same with a model shows that traffic would be counted.
      expect(counted({ MODEL_URL: 'http://10.9.9.2:9/v1', MODEL_NAME: 'nobody' })).toBeGreaterThan(0);
    } finally {
      execFileSync('ip', ['netns', 'delete', name]);
    }
  });
});
