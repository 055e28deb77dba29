import { expect, it } from 'vitest';
import { readModelAccess } from './settings.ts';

const least = { MODEL_URL: 'http://ollama.lan:11434', MODEL_NAME: 'small' };

it('names no model without settings', () => {
  expect(readModelAccess({})).toBeUndefined();
});

it('reads the model, its URL and its limits', () => {
  expect(readModelAccess(least)).toEqual({
    ...{
      protocol: 'ollama',
      url: 'http://ollama.lan:11434',
      name: 'small',
      apiKey: undefined,
      proxyUrl: undefined,
      use: 'run',
    },
    perRun: { tokens: 200_000, seconds: 180, cost: undefined },
    perDay: { tokens: 2_000_000, seconds: 7200, cost: undefined },
    price: { input: 0, output: 0 },
  });
  const more = readModelAccess({
    ...least,
    ...{ MODEL_PROVIDER: 'OpenAI', MODEL_API_KEY: 'sk-1', MODEL_RUN_COST: '0.5', MODEL_INPUT_PRICE: '3' },
    ...{ http_proxy: 'http://proxy.lan:3128', MODEL_DAY_TOKENS: '1000' },
  });
  expect(more).toMatchObject({
    ...{ protocol: 'openai', apiKey: 'sk-1', proxyUrl: 'http://proxy.lan:3128/' },
    ...{ perRun: { cost: 0.5 }, perDay: { tokens: 1000 }, price: { input: 3, output: 0 } },
  });
  expect(
    readModelAccess({ ...least, HTTP_PROXY: 'http://proxy.lan:3128', NO_PROXY: '.lan' })?.proxyUrl,
  ).toBeUndefined();
});

it.each([
  [{ MODEL_URL: 'http://ollama.lan' }, /MODEL_NAME: is required/],
  [{ MODEL_NAME: 'small' }, /MODEL_NAME: has no effect without MODEL_URL/],
  [{ MODEL_API_KEY: 'sk-1' }, /MODEL_API_KEY: has no effect/],
  [{ ...least, MODEL_URL: 'ollama.lan:11434' }, /must be an http/],
  [{ ...least, MODEL_URL: 'http://a:b@ollama.lan' }, /MODEL_API_KEY/],
  [{ ...least, MODEL_PROVIDER: 'other' }, /must be one of openai, anthropic, ollama/],
  [{ ...least, MODEL_DAY_COST: '5' }, /needs MODEL_INPUT_PRICE/],
  [{ ...least, MODEL_RUN_TOKENS: '0' }, /at least 1/],
  [{ ...least, HTTP_PROXY: 'proxy.lan:3128' }, /HTTP_PROXY: must be the http/],
])('reports the error in %j', (environment, message) => {
  expect(() => readModelAccess(environment)).toThrow(message);
});
