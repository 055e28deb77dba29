import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCheckType } from '../../../src/checks/index.ts';
import { sampleOf } from '../../helpers/night.ts';
import { scriptTests } from '../../helpers/scripts/script-stage.ts';
import { linkRuntime, type SuiteStage, startSuiteStage } from '../../helpers/scripts/suite-stage.ts';

const variables = { LOGIN_EMAIL: 'ada@shop.test', LOGIN_PASSWORD: 'secret', API_TOKEN: 'token-1' };
let shop: Server;
let url: string;
let stage: SuiteStage;
beforeAll(async () => {
  shop = createServer(
    (request, response) =>
      void answer(request).then((said) => {
        response.writeHead(said.status, { 'content-type': said.type });
        response.end(said.body);
      }),
  );
  await new Promise<void>((listening) => shop.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  stage = await startSuiteStage();
});
afterAll(async () => {
  shop.close();
  shop.closeAllConnections();
  await stage.close();
});

const page = (body: string) => ({
  status: 200,
  type: 'text/html; charset=utf-8',
  body: `<!doctype html><title>Example shop</title>${body}`,
});
const json = (status: number, value: unknown) => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

/** A shop that does what the templates expect of their own. */
async function answer(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const { pathname } = new URL(request.url ?? '/', 'http://shop.test');
  const { method, headers } = request;
  if (pathname === '/login' && method === 'GET') {
    return page(
      '<form method="post"><label>E-mail <input name="email"></label><label>Password <input name="password" type="password"></label><button>Log in</button></form>',
    );
  }
  if (pathname === '/login') {
    const form = new URLSearchParams(text);
    const isRight =
      form.get('email') === variables.LOGIN_EMAIL && form.get('password') === variables.LOGIN_PASSWORD;
    return page(isRight ? '<h1>Welcome, Ada</h1>' : '<h1>Wrong password</h1>');
  }
  if (pathname === '/search')
    return page('<a href="/products/lamp">lamp</a><a href="/products/lamps">lamp, large</a>');
  if (pathname === '/products/lamp') return page('<form action="/cart"><button>Add to cart</button></form>');
  if (pathname === '/cart') return page('<p>1 item</p>');
  if (pathname === '/api/products') return json(200, [{ name: 'lamp' }]);
  if (pathname === '/api/login') return json(200, { token: 'token-1' });
  if (headers.authorization !== `Bearer ${variables.API_TOKEN}`) {
    return pathname.startsWith('/api/')
      ? json(401, {})
      : page('<form action="/search"><input type="search" name="q"></form>');
  }
  if (pathname === '/api/profile') return json(200, { email: variables.LOGIN_EMAIL });
  if (method === 'POST') return json(201, { id: 7 });
  return json(200, { id: 7, product: 'lamp', count: 1 });
}

const templatesOf = (name: string) => findCheckType(name)?.templates ?? [];
/** By day one of each type. */
const someOf = (name: string) => sampleOf(templatesOf(name), 1);
const pointed = (text: string | undefined) => (text ?? '').replaceAll('https://example.com', url);
const context = { variables };
const itRuns = scriptTests(() => stage.scripts);

describe('templates of browser checks', () => {
  for (const { title, fields } of someOf('BROWSER')) {
    itRuns(title, async () => {
      const { outcome } = await stage.scripts.runBrowser(pointed(fields['script']), { context });
      expect(outcome.failure).toBeUndefined();
    });
  }
});

describe('templates of multi-step checks', () => {
  for (const { title, fields } of someOf('MULTI_STEP')) {
    itRuns(title, async () => {
      const { outcome } = await stage.scripts.runMultiStep(pointed(fields['script']), { context });
      expect(outcome.failure).toBeUndefined();
    });
  }
});

describe('templates of suites', () => {
  for (const { title, fields } of someOf('PLAYWRIGHT')) {
    itRuns(title, async () => {
      const files = {
        'playwright.config.ts': `import { defineConfig } from '@playwright/test';
          export default defineConfig({ projects: [{ name: 'chromium' }, { name: 'phone' }] });`,
        'shop.spec.ts': `import { expect, test } from '@playwright/test';
          test('opens', { tag: '@smoke' }, () => {});
          test('sells', () => {});`,
      };
      const { outcome } = await stage.run(files, { spec: { ...linkRuntime(stage), ...fields } });
      expect(outcome.failure).toBeUndefined();
      const isPart = fields['testCommand']?.includes('--') === true;
      expect(outcome.detail).toMatchObject({ stats: { expected: isPart ? 2 : 4 } });
    });
  }
});

it('every template fills fields of the form of its type', () => {
  for (const type of ['BROWSER', 'MULTI_STEP', 'PLAYWRIGHT', 'AGENTIC']) {
    expect(templatesOf(type).length).toBeGreaterThan(1);
    for (const { fields } of templatesOf(type)) {
      const shape = findCheckType(type)?.spec.shape ?? {};
      for (const [name, value] of Object.entries(fields)) {
        expect(shape[name]?._zod, name).toBeDefined();
        expect(value).not.toBe('');
      }
    }
  }
});
