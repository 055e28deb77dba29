import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { networkCheck } from '../../../src/agent/location/network-checks.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { a, answerTo, startDnsServer } from '../../helpers/dns/dns-server.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const noNamespaces = whyNoNamespaces();

describe.skipIf(noNamespaces)('an agent whose resolver is cut off', () => {
  it('blames its location, reports it once, and recovers by itself', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    let isCut = false;
    await using server = await startDnsServer((query) => {
      if (isCut) return [];
      const { name, type } = query.question;
      if (name !== 'target.test') return [answerTo(query, [], { rcode: 3 })];
      return [answerTo(query, type === 'A' ? [a(name, '127.0.0.1')] : [])];
    });
    const folder = temporaryFolder();
    const resolvConf = join(folder.path, 'resolv.conf');
    writeFileSync(resolvConf, `nameserver ${server.nameserver}\noptions timeout:1 attempts:1\n`);
    // A separate mount namespace with that file as resolv.conf.
    const mounted = [
      'unshare',
      '-m',
      'sh',
      '-c',
      'mount --bind "$0" /etc/resolv.conf && exec "$@"',
      resolvConf,
    ];
    const agent = stage.startAgent({}, [], mounted);
    await agent.logged('connected to the service', 60_000);
    const runs = (count: number) =>
      Array.from({ length: count }, () => leasedRun(`http://target.test:${target.port}/`));
    const resultsOf = async (what: string, wanted: readonly { runId: string }[]) => {
      await service.waitFor(what, () => wanted.every(({ runId }) => service.resultOf(runId)), 60_000);
      return wanted.map(({ runId }) => service.resultOf(runId));
    };

    const before = runs(3);
    service.enqueue(...before);
    expect((await resultsOf('runs before', before)).map((result) => result?.failure)).toEqual([
      null,
      null,
      null,
    ]);
    isCut = true;
    const during: ReturnType<typeof runs> = [];
    // On a busy machine the agent itself may be late, and such runs are not conclusive: more runs follow then.
    while (!service.results.some(({ failure }) => failure?.code === 'LOCATION_SICK') && during.length < 200) {
      const more = runs(2);
      during.push(...more);
      service.enqueue(...more);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    const failures = (await resultsOf('runs meanwhile', during)).map((result) => result?.failure);
    expect(failures.filter((found) => !['location', 'agent'].includes(found?.owner ?? ''))).toEqual([]);
    const sick = failures.filter((found) => found?.code === 'LOCATION_SICK');
    expect(sick.length, JSON.stringify(failures.slice(0, 5))).toBeGreaterThan(0);
    for (const found of sick) expect(found?.message).toContain('do not respond');
    const events = () => [...service.locationEvents.values()].filter(({ kind }) => kind === 'resolver');
    await service.waitFor('the event', () => events().length === 1);
    expect(events()[0]).toMatchObject({ endedAt: null, evidence: expect.stringContaining('127.0.0.1') });
    const health = JSON.parse((await agent.get('/health')).body) as {
      location: { sick: { kind: string }[] };
    };
    expect(health.location.sick.map(({ kind }) => kind)).toContain('resolver');
    expect((await agent.get('/metrics')).body).toContain('picket_agent_location_sick{kind="resolver"} 1');
    isCut = false;
    await service.waitFor('its end', () => typeof events()[0]?.endedAt === 'number', 60_000);
    expect(events()).toHaveLength(1);
    expect(events()[0]?.affectedRuns).toBe(sick.length);
    const after = runs(3);
    service.enqueue(...after);
    expect((await resultsOf('runs after', after)).map((result) => result?.failure)).toEqual([
      null,
      null,
      null,
    ]);
    folder.remove();
  }, 120_000);
});

describe('canaries', () => {
  /** A listener in a separate process that can be stopped: new connections then hang. */
  async function startCanary() {
    const script = `const server = require('node:net').createServer(() => undefined);
      server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const port = Number(line.toString());
    const fillers: ReturnType<typeof connect>[] = [];
    return {
      target: { host: '127.0.0.1', port },
      cutOff() {
        child.kill('SIGSTOP');
        for (let index = 0; index < 4; index++) {
          const filler = connect({ host: '127.0.0.1', port });
          filler.on('error', () => filler.destroy());
          fillers.push(filler);
        }
      },
      async [Symbol.asyncDispose]() {
        for (const filler of fillers) filler.destroy();
        child.kill('SIGKILL');
        await once(child, 'close');
      },
    };
  }

  it('report an unhealthy network when all of them become unreachable', async () => {
    await using canary = await startCanary();
    const check = networkCheck([canary.target], () => 1);
    expect(await check.look()).toEqual({ state: 'healthy' });
    canary.cutOff();
    const found = await check.look();
    expect(found).toMatchObject({ state: 'unhealthy', evidence: expect.stringContaining('ETIMEDOUT') });
  });

  it('that never responded report nothing, and neither do those that refuse', async () => {
    await using canary = await startCanary();
    canary.cutOff();
    expect(await networkCheck([canary.target], () => 1).look()).toEqual({ state: 'unknown' });
    expect(await networkCheck([{ host: '127.0.0.1', port: 1 }], () => 1).look()).toEqual({
      state: 'healthy',
    });
    expect(await networkCheck([{ host: 'no.such.name.invalid', port: 1 }], () => 1).look()).toEqual({
      state: 'unknown',
    });
  });

  it('are not needed to detect that the last interface went down', async () => {
    let up = 1;
    const check = networkCheck([], () => up);
    expect(await check.look()).toEqual({ state: 'unknown' });
    up = 0;
    expect(await check.look()).toMatchObject({ state: 'unhealthy' });
    expect(await networkCheck([], () => 0).look()).toEqual({ state: 'unknown' });
  });
});
