import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import {
  probeTcp,
  type TcpProbeControls,
  type TcpProbeRequest,
  type TcpProbeResult,
} from '../../../src/probes/tcp/probe.ts';

/** Connects to a target and reads its greeting, as modified by the overrides. */
export function converse(
  target: { readonly host: string; readonly port: number },
  overrides: Partial<TcpProbeRequest> & Partial<TcpProbeControls> = {},
): Promise<TcpProbeResult> {
  const {
    resolver = systemResolver,
    egress = createEgressPolicy(),
    signal = new AbortController().signal,
    timeoutMs = 5000,
    timekeeper,
    ...request
  } = overrides;
  return probeTcp(
    {
      hostname: target.host,
      port: target.port,
      family: 4,
      tls: undefined,
      data: '',
      isAnswerWanted: true,
      maxAnswerBytes: 1024 * 1024,
      idleGapMs: 100,
      ...request,
    },
    { resolver, egress, signal, timeoutMs, timekeeper },
  );
}
