import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import {
  type HttpProbeControls,
  type HttpProbeRequest,
  type HttpProbeResult,
  probeHttp,
} from '../../../src/probes/http/probe.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';

/** Probes a URL with a plain GET, as modified by the overrides. */
export function probe(
  url: string,
  overrides: Partial<Omit<HttpProbeRequest, 'url'>> & Partial<HttpProbeControls> = {},
): Promise<HttpProbeResult> {
  const {
    resolver = systemResolver,
    egress = createEgressPolicy(),
    signal = new AbortController().signal,
    timeoutMs = 5000,
    timekeeper,
    ...request
  } = overrides;
  return probeHttp(
    {
      url: new URL(url),
      method: 'GET',
      headers: [],
      body: undefined,
      followRedirects: true,
      isCertificateChecked: true,
      family: 4,
      proxy: undefined,
      maxBodyBytes: 25 * 1024 * 1024,
      ...request,
    },
    { resolver, egress, signal, timeoutMs, timekeeper },
  );
}
