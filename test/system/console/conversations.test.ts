import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { ConsoleStage, type Window } from '../../helpers/console/console-stage.ts';
import { runContext } from '../../helpers/run-context.ts';
import { reportOf, until } from '../../helpers/service/service.ts';
import { startLineServer } from '../../helpers/targets/line-server.ts';
import { startSocketServer } from '../../helpers/websocket/socket-server.ts';
import { runSocketMonitor } from '../../helpers/websocket/socket-stage.ts';

it('shows the conversation of a WebSocket monitor on every screen, and its steps in the form', async () => {
  await using server = await startSocketServer();
  const contains = (target: string) => ({ source: 'TEXT_BODY', comparison: 'CONTAINS', target });
  const request = {
    url: `${server.url}/orders`,
    steps: [
      { type: 'SEND', message: '{"op": "subscribe", "id": 7}' },
      { type: 'EXPECT', assertions: [contains('result')], skipOthers: true },
      {
        type: 'SEND',
        message: `{"op": "<b>no markup</b> ${'and a word that is long '.repeat(20)}", "id": 8}`,
      },
      { type: 'EXPECT', assertions: [contains('shipped')] },
    ],
  };
  const stage = await ConsoleStage.open();
  try {
    const { body } = await stage.harness.call('POST', '/v1/checks/websocket', {
      ...{ name: 'Feed', privateLocations: ['lab'], frequency: 1, request },
      ...{ retryStrategy: null, doubleCheck: false },
    });
    const result = await reported(stage, body.id, 'WEBSOCKET', await runSocketMonitor(request));
    for (const width of [1280, 360]) {
      await using window = await stage.visit({ viewport: { width, height: 800 } });
      await window.go(`/checks/${body.id}/runs/${result}`);
      const said = window.page.locator('.conversation > .said');
      expect(await said.count()).toBeGreaterThanOrEqual(5);
      expect(await said.nth(0).textContent()).toContain('Sent after');
      expect(await said.nth(1).textContent()).toContain('matched no step');
      expect(await window.page.locator('.said-wrong').textContent()).toContain('not what the step expects');
      expect(await window.page.locator('h2').allTextContents()).toContain('Steps');
      await fits(window);
      await window.go(`/checks/${body.id}/edit`);
      expect(await window.page.locator('[name="request.steps.3.type"]').inputValue()).toBe('EXPECT');
      expect(window.complaints).toEqual([]);
    }
  } finally {
    await stage.close();
  }
});

it('shows the dialogue of a TCP monitor, and its steps', async () => {
  await using server = await startLineServer({
    greeting: '220-mail.example\r\n220 ESMTP ready\r\n',
    answers: [[/^EHLO/, () => `250-${'a-word-that-is-very-long-'.repeat(20)}\r\n554 <b>no</b>\r\n`]],
  });
  const steps = [
    { type: 'EXPECT', regex: '^220 ' },
    { type: 'SEND', text: 'EHLO picket.invalid\r\n' },
    { type: 'EXPECT', regex: '^250 ', timeoutMs: 500 },
    { type: 'START_TLS' },
  ];
  const request = { hostname: '127.0.0.1', port: server.port, steps };
  const outcome = await runTcp(TcpSpec.parse({ request }), runContext());
  const stage = await ConsoleStage.open();
  try {
    const { body } = await stage.harness.call('POST', '/v1/checks/tcp', {
      ...{ name: 'Mail', privateLocations: ['lab'], frequency: 1, request },
      ...{ retryStrategy: null, doubleCheck: false },
    });
    const result = await reported(stage, body.id, 'TCP', outcome);
    for (const width of [1280, 360]) {
      await using window = await stage.visit({ viewport: { width, height: 800 } });
      await window.go(`/checks/${body.id}/runs/${result}`);
      const said = window.page.locator('.conversation > .said');
      expect(await said.count()).toBe(5);
      expect(await said.nth(2).textContent()).toContain('EHLO picket.invalid');
      expect(await said.nth(4).textContent()).toContain('554 <b>no</b>');
      expect(await window.page.locator('h1').textContent()).toContain('Step 3 (EXPECT)');
      await fits(window);
      await window.go(`/checks/${body.id}/edit`);
      expect(await window.page.locator('[name="request.steps.3.type"]').inputValue()).toBe('START_TLS');
      expect(window.complaints).toEqual([]);
    }
  } finally {
    await stage.close();
  }
});

/** Makes an agent run the check once with that outcome. @returns the id of its result. */
async function reported(
  stage: ConsoleStage,
  checkId: string,
  checkType: string,
  { failure, errorMessages, responseTimeMs, detail }: Outcome<unknown>,
): Promise<string> {
  stage.harness.startScheduler();
  stage.clock.advance(60_000);
  const run = await until('the check is leased', async () => {
    stage.clock.advance(20);
    return (await stage.agent.claim({ checkTypes: [checkType] }))[0];
  });
  const report = { failure: failure ?? null, errorMessages: [...errorMessages], responseTimeMs, detail };
  await stage.agent.report([reportOf(run, report)]);
  const { body: results } = await stage.harness.call('GET', `/v1/check-results/${checkId}?limit=1`);
  return (results as { id: string }[])[0]?.id ?? '';
}

async function fits({ page }: Window): Promise<void> {
  const [screen, content] = await page.evaluate<[number, number]>(
    '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
  );
  expect(content).toBeLessThanOrEqual(screen);
}
