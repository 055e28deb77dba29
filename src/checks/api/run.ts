import { hasScripts, lifecycleAllowanceMs } from '../contract/lifecycle.ts';
import type { Runner } from '../contract/outcome.ts';
import { clientCertificateFor } from '../http/client-certificate.ts';
import type { HttpDetail } from '../http/detail.ts';
import { type HttpRunOptions, runHttp, unsentRequest } from '../http/run.ts';
import { RequestScripts } from './request-scripts.ts';
import type { ApiSpec } from './spec.ts';

export { warmUp } from '../http/run.ts';

/**
 * Runs an API check: its setup scripts, its request, with the client certificate for the host, its teardown scripts,
 * and then its assertions. The request may take the full time limit of a run without scripts.
 */
export const runApi: Runner<ApiSpec, HttpDetail> = async (spec, context) => {
  const means: HttpRunOptions = {
    clientCertificateFor: (hostname) => clientCertificateFor(hostname, context.clientCertificates),
  };
  if (!hasScripts(context.lifecycle)) return await runHttp(spec, context, means);
  const scripts = new RequestScripts(context);
  try {
    const setUp = await scripts.setUp(spec.request);
    if ('failure' in setUp) {
      return { ...unsentRequest(spec.request, setUp.failure, context, null), secrets: [...scripts.secrets] };
    }
    const timeoutMs = context.timeoutMs - lifecycleAllowanceMs(context.lifecycle);
    const outcome = await runHttp(
      { ...spec, request: setUp.request },
      { ...context, variables: scripts.variables, timeoutMs },
      { ...means, afterwards: (exchange) => scripts.tearDown(setUp.request, exchange) },
    );
    return { ...outcome, secrets: [...scripts.secrets] };
  } finally {
    scripts.close();
  }
};
