import type { Outcome } from '../contract/outcome.ts';
import type { ArtifactFile, ArtifactSink } from '../contract/run-context.ts';
import type { RunLog } from '../contract/run-log.ts';

/** Verdicts of one part of a run that does the same at several places: addresses, name servers. */
export const partVerdicts = ['passed', 'degraded', 'failed'] as const;

export function verdictName({
  failure: failed,
  isDegraded,
}: Pick<Outcome<unknown>, 'failure' | 'isDegraded'>): (typeof partVerdicts)[number] {
  if (failed) return 'failed';
  return isDegraded ? 'degraded' : 'passed';
}

/** Ranks an outcome: a failure of the target is worse than a failure that leaves the target's state unknown. */
export function badness({ failure: failed, isDegraded }: Outcome<unknown>): number {
  if (failed) return failed.owner === 'target' ? 3 : 2;
  return isDegraded ? 1 : 0;
}

/** A log whose lines begin with the place. */
export function labelled(log: RunLog, label: () => string | undefined): RunLog {
  return {
    write: (level, msg, ageMs) => {
      const name = label();
      log.write(level, name === undefined ? msg : `${name}: ${msg}`, ageMs);
    },
    entries: log.entries,
    get isEmpty() {
      return log.isEmpty;
    },
    withdraw: () => log.withdraw(),
    part: (stage) => log.part(stage),
  };
}

/** Holds files back until the run knows which place's to keep: files of several places have the same names. */
export function heldBack(sink: ArtifactSink) {
  const files: ArtifactFile[] = [];
  return {
    sink: {
      add: async (file: ArtifactFile) => {
        files.push(file);
        return true;
      },
    },
    handOver: async () => {
      for (const file of files) await sink.add(file);
    },
  };
}
