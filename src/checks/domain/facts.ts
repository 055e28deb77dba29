import { logFacts, noFacts, type RunFacts } from '../contract/facts.ts';
import type { DomainDetail } from './detail.ts';

export function domainFacts({ request, jobLog, assertions }: DomainDetail): RunFacts {
  return { ...noFacts, host: request.domain, url: request.url, log: logFacts(jobLog), assertions };
}
