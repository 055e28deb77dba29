import { refusedHttp, startHttpSamples } from './http-samples.ts';
import type { Samples } from './samples.ts';

const url = 'http://127.0.0.1/';

export const samples: Samples = {
  minimal: { request: { url } },
  refused: {
    ...refusedHttp,
    'request.bodyType': { request: { url, bodyType: 'XML' } },
    'request.headers.0.key': { request: { url, headers: [{ key: '', value: 'x' }] } },
    'request.queryParameters.0.key': { request: { url, queryParameters: [{ value: 'x' }] } },
    'request.basicAuth.password': { request: { url, basicAuth: { username: 'x' } } },
    'request.auth': {
      request: {
        url,
        basicAuth: { username: 'x', password: 'y' },
        auth: { type: 'BASIC', username: 'x' },
      },
    },
  },
  async start() {
    const runs = await startHttpSamples();
    const passing = runs.passing?.request as { readonly url: string };
    const assertions = [{ source: 'JSON_BODY', property: '$.nothing', comparison: 'NOT_NULL' }];
    return {
      ...runs,
      failing: [
        ...runs.failing,
        {
          name: 'an assertion on the body',
          body: { request: { url: passing.url, assertions } },
          code: 'ASSERTION_FAILED',
        },
        {
          name: 'a header that cannot be sent',
          body: { request: { url: passing.url, headers: [{ key: 'a b', value: 'x' }] } },
          code: 'REQUEST_INVALID',
        },
      ],
    };
  },
};
