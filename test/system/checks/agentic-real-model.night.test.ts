import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelAccess, protocolOf } from '../../../src/checks/model/access.ts';
import { type AgenticStage, startAgenticStage } from '../../helpers/agentic/agentic-stage.ts';
import { startHttpTarget } from '../../helpers/targets/http-target.ts';

const { TEST_MODEL_URL, TEST_MODEL_NAME, TEST_MODEL_API_KEY } = process.env;
const reason =
  TEST_MODEL_URL && TEST_MODEL_NAME
    ? undefined
    : 'no npm package brings a model that follows tools: name one by TEST_MODEL_URL and TEST_MODEL_NAME';

const plenty = { tokens: 1_000_000, seconds: 600 };

/** A real model whose output is not predictable: the test checks only the final result for the user. */
describe.skipIf(reason)(`a real model${reason ? ` (${reason})` : ''}`, () => {
  let stage: AgenticStage;
  beforeAll(async () => {
    stage = await startAgenticStage();
  });
  afterAll(() => stage.close());

  it('finds a journey that is repeated without it, and detects that it fails on a broken site', async (context) => {
    if (stage.missingBrowser) return context.skip(stage.missingBrowser);
    let price = '4.20';
    await using site = await startHttpTarget({
      routes: {
        shop: (_request, reply) => {
          reply.writeHead(200, { 'content-type': 'text/html' });
          reply.end(
            `<!doctype html><title>Shop</title><h1>Shop</h1><button onclick="out.textContent='Tea costs ${price} euros'">Show the price of tea</button><p id="out"></p>`,
          );
        },
      },
    });
    const prompt = `Open ${site.url}/shop, press the button that shows the price of tea, and check that it is 4.20 euros.`;
    const found = await stage.run({ spec: { prompt }, model: realModel() });
    expect(found.outcome.failure).toBeUndefined();
    const { plan } = found.outcome.detail;
    expect(plan?.origin).toBe('found');
    const content = plan?.fresh;

    const repeated = await stage.run({
      spec: { prompt },
      model: realModel(),
      plan: { version: 1, content },
    });
    expect(repeated.outcome.failure).toBeUndefined();
    expect(repeated.outcome.detail).toMatchObject({ plan: { origin: 'replayed' }, usage: null });

    price = '9.90';
    const broken = await stage.run({ spec: { prompt }, model: realModel(), plan: { version: 1, content } });
    expect(broken.outcome.failure).toMatchObject({ owner: 'target' });
  });
});

function realModel(): ModelAccess {
  const url = new URL(TEST_MODEL_URL ?? '');
  return {
    protocol: protocolOf(url),
    url: url.href.replace(/\/$/, ''),
    name: TEST_MODEL_NAME ?? '',
    apiKey: TEST_MODEL_API_KEY,
    use: 'run',
    perRun: plenty,
    perDay: plenty,
    price: { input: 0, output: 0 },
  };
}
