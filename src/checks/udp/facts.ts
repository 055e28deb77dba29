import type { RunFacts } from '../contract/facts.ts';
import { exchangeFacts } from '../judging/diagnosis-facts.ts';
import type { UdpDetail } from './detail.ts';

export function udpFacts(detail: UdpDetail): RunFacts {
  const { response } = detail;
  return {
    ...exchangeFacts(detail),
    body: response?.data ?? '',
    isBodyCut: response?.truncated ?? false,
  };
}
