import { refusedHttp, startHttpSamples } from './http-samples.ts';
import type { Samples } from './samples.ts';

const url = 'http://127.0.0.1/';

export const samples: Samples = {
  minimal: { request: { url } },
  refused: {
    ...refusedHttp,
    'request.method': { request: { url, method: 'POST' } },
    'request.assertions.0.source': {
      request: { url, assertions: [{ source: 'TEXT_BODY', comparison: 'EQUALS', target: '1' }] },
    },
  },
  start: startHttpSamples,
};
