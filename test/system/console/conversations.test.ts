import { expect, it } from 'vitest';
import { ConsoleStage } from '../../helpers/console/console-stage.ts';
import { reportOf, until } from '../../helpers/service/service.ts';
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
    const outcome = await runSocketMonitor(request);
    stage.harness.startScheduler();
    stage.clock.advance(60_000);
    const run = await until('the check is leased', async () => {
      stage.clock.advance(20);
      return (await stage.agent.claim({ checkTypes: ['WEBSOCKET'] }))[0];
    });
    const { failure = null, errorMessages, responseTimeMs, detail } = outcome;
    const report = { failure, errorMessages: [...errorMessages], responseTimeMs, detail };
    await stage.agent.report([reportOf(run, report)]);
    const { body: results } = await stage.harness.call('GET', `/v1/check-results/${body.id}?limit=1`);
    const [result] = results as { id: string }[];
    for (const width of [1280, 360]) {
      await using window = await stage.visit({ viewport: { width, height: 800 } });
      await window.go(`/checks/${body.id}/runs/${result?.id}`);
      const said = window.page.locator('.conversation > .said');
      expect(await said.count()).toBeGreaterThanOrEqual(5);
      expect(await said.nth(0).textContent()).toContain('Sent after');
      expect(await said.nth(1).textContent()).toContain('no step took it');
      expect(await window.page.locator('.said-wrong').textContent()).toContain('not what the step expects');
      expect(await window.page.locator('h2').allTextContents()).toContain('Steps');
      const [screen, content] = await window.page.evaluate<[number, number]>(
        '[document.documentElement.clientWidth, document.documentElement.scrollWidth]',
      );
      expect(content).toBeLessThanOrEqual(screen);
      await window.go(`/checks/${body.id}/edit`);
      expect(await window.page.locator('[name="request.steps.3.type"]').inputValue()).toBe('EXPECT');
      expect(window.complaints).toEqual([]);
    }
  } finally {
    await stage.close();
  }
});
