import { logFacts, noFacts, type RunFacts } from '../contract/facts.ts';
import { fileFacts } from '../script/facts.ts';
import type { PlaywrightDetail } from './detail.ts';

export function playwrightFacts(detail: PlaywrightDetail): RunFacts {
  const errors = detail.errors.map(({ error: { message }, testTitle }) => ({
    name: null,
    message,
    test: testTitle,
  }));
  return {
    ...noFacts,
    log: logFacts(detail.jobLog),
    files: fileFacts(detail),
    script: { errors, pageErrors: [] },
  };
}
