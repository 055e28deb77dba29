import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { Stage } from '../../helpers/agent/stage.ts';
import { program } from '../../helpers/program.ts';

describe('an agent with a problem of its own', () => {
  it('reports the runs of a dead probe thread as its own fault, and continues', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const preload = new URL(
      `../../helpers/agent/fixtures/crash-on-connect.mjs?port=${target.port}`,
      import.meta.url,
    ).href;
    const agent = stage.startAgent({}, ['--import', preload]);
    await agent.logged('connected to the service');
    for (let count = 1; count <= 2; count++) {
      const run = leasedRun(target.url());
      service.enqueue(run);
      const result = await service.waitFor('the result', () => service.resultOf(run.runId));
      expect(result).toMatchObject({
        failure: { owner: 'agent', code: 'CHECK_CRASHES_RUNNER' },
        detail: null,
      });
    }
    expect(await agent.get('/-/readiness')).toMatchObject({ status: 200 });
    agent.signal('SIGTERM');
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });

  it('works on and ends in order when its log has no reader', async () => {
    await using stage = await Stage.open();
    const { service, target } = stage;
    const folder = mkdtempSync(join(tmpdir(), 'picket-agent-'));
    const pipe = join(folder, 'log');
    execFileSync('mkfifo', [pipe]);
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const writer = openSync(pipe, constants.O_WRONLY);
    expect(() => {
      for (;;) writeSync(reader, Buffer.alloc(4096, 'x'));
    }).toThrow('EAGAIN');
    const child = spawn(process.execPath, [program, 'agent'], {
      env: {
        PATH: process.env.PATH,
        API_KEY: 'pl_test',
        SERVICE_URL: service.url,
        AGENT_HEALTH_PORT: '0',
        LOG_LEVEL: 'trace',
      },
      stdio: ['ignore', writer, 'inherit'],
    });
    const code = new Promise((resolve) => child.on('exit', resolve));
    try {
      const run = leasedRun(target.url());
      service.enqueue(run);
      await service.waitFor('the result', () => service.resultOf(run.runId));
      child.kill('SIGTERM');
      expect(await code).toBe(0);
    } finally {
      child.kill('SIGKILL');
      closeSync(reader);
      closeSync(writer);
      rmSync(folder, { recursive: true });
    }
  });
});
