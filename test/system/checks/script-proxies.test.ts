import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptStage, startScriptStage } from '../../helpers/scripts/script-stage.ts';
import { type HttpTarget, startHttpTarget } from '../../helpers/targets/http-target.ts';
import { startSocksTarget } from '../../helpers/targets/socks-target.ts';

describe('scripts behind a SOCKS5 proxy of the location', () => {
  let stage: ScriptStage;
  let web: HttpTarget;
  beforeAll(async () => {
    stage = await startScriptStage();
    web = await startHttpTarget();
  });
  afterAll(async () => {
    await stage.close();
    await web.close();
  });

  const script = () => `
    import { test, expect } from '@playwright/test';
    test('visits', async ({ page, request }) => {
      expect((await request.get('http://shop.example:${web.port}/echo')).status()).toBe(200);
      await page.goto('http://shop.example:${web.port}/echo');
    });`;

  it('send the requests of the page and of the request through it', async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') return context.skip(stage.missingBrowser);
    await using proxy = await startSocksTarget({ names: { 'shop.example': '127.0.0.1' } });
    const { outcome } = await stage.runBrowser(script(), { context: { proxyUrl: proxy.url } });
    expect(outcome.failure).toBeUndefined();
    expect(proxy.requests).toContain(`name shop.example:${web.port}`);
    expect(proxy.requests.length).toBeGreaterThan(1);
  });

  it('report that a browser cannot log in there', async (context) => {
    if (stage.missingBrowser && process.env.CI !== 'true') return context.skip(stage.missingBrowser);
    await using proxy = await startSocksTarget({ login: { user: 'anna', password: 'right' } });
    const { outcome } = await stage.runBrowser(script(), { context: { proxyUrl: proxy.url } });
    expect(outcome.failure).toMatchObject({ code: 'PROXY_FAILED', owner: 'location' });
    expect(outcome.failure?.message).toContain('browsers cannot authenticate');
  });
});
