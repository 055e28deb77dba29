import type { Runner } from '../contract/outcome.ts';
import type { HttpDetail } from '../http/detail.ts';
import { runHttp } from '../http/run.ts';
import type { UrlSpec } from './spec.ts';

export { warmUp } from '../http/run.ts';

/** Runs a URL monitor: one GET without body, headers or client certificates of its own. */
export const runUrl: Runner<UrlSpec, HttpDetail> = (spec, context) =>
  runHttp(
    {
      ...spec,
      request: {
        ...spec.request,
        body: '',
        bodyType: 'NONE',
        headers: [],
        queryParameters: [],
        basicAuth: null,
      },
    },
    context,
  );
