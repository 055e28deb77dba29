import { type FactFile, logFacts, noFacts, type RunFacts } from '../contract/facts.ts';
import type { BrowserDetail, MultiStepDetail } from './detail.ts';

export function multiStepFacts(detail: MultiStepDetail): RunFacts {
  return {
    ...noFacts,
    log: logFacts(detail.jobLog),
    files: fileFacts(detail),
    script: { errors: detail.errors, pageErrors: [] },
  };
}

export function browserFacts(detail: BrowserDetail): RunFacts {
  return {
    ...multiStepFacts(detail),
    files: fileFacts(detail),
    script: { errors: detail.errors, pageErrors: detail.pageErrors },
  };
}

/** Returns the files of a script or a suite, the most informative first. */
export function fileFacts(names: {
  readonly jobAssets: readonly string[];
  readonly playwrightTestTraces: readonly string[];
  readonly playwrightTestVideos?: readonly string[];
}): readonly FactFile[] {
  const typed = (type: FactFile['type'], of: readonly string[]) => of.map((name) => ({ name, type }));
  return [
    ...typed('SCREENSHOT', names.jobAssets),
    ...typed('TRACE', names.playwrightTestTraces),
    ...typed('VIDEO', names.playwrightTestVideos ?? []),
  ];
}
