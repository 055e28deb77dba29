import { noFacts, type RunFacts } from '../contract/facts.ts';
import { diagnosisFacts } from '../judging/diagnosis-facts.ts';
import type { DnsDetail } from './detail.ts';

export function dnsFacts(detail: DnsDetail): RunFacts {
  const { query, recordType } = detail.request;
  const { returnCode, answer, nameServerInfo, truncated } = detail.response;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    isBodyCut: truncated,
    dns: { query, recordType, returnCode, answer, server: nameServerInfo?.host ?? null },
    assertions: detail.assertions,
  };
}
