import { hostOf, logFacts, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import type { TracerouteDetail } from './detail.ts';
import { forwardingHop } from './forwarding.ts';

export function tracerouteFacts(detail: TracerouteDetail): RunFacts {
  const { request, response } = detail;
  const isShort = response?.destinationReached === false;
  return {
    ...noFacts,
    host: hostOf(request.url),
    port: request.port,
    address: response?.resolvedIp ?? null,
    packetLoss: response?.packetLoss ?? null,
    phases: phaseFacts(response?.timingPhases ?? null),
    path: response && {
      isComplete: response.destinationReached,
      hops: response.hops.map(({ ips }) => ips),
      forwardingHop: forwardingHop(response),
    },
    router: isShort ? (response.lastHop?.ip ?? null) : null,
    log: logFacts(detail.jobLog),
    assertions: detail.assertions,
  };
}
