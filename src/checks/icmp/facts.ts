import { hostOf, noFacts, type RunFacts } from '../contract/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { IcmpDetail } from './detail.ts';

export function icmpFacts(detail: IcmpDetail): RunFacts {
  const { request, response } = detail;
  const diagnosis = diagnosisFacts(detail);
  const answered = response.pingResults.find(({ error, from }) => error !== null && from !== null);
  return {
    ...noFacts,
    ...diagnosis,
    router: answered?.from ?? diagnosis.router,
    host: hostOf(request.hostname),
    address: response.resolvedIp,
    pings: response.pingResults,
    packetLoss: response.packetLoss,
    assertions: detail.assertions,
  };
}
