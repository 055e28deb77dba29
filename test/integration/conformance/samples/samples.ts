import type { Failure } from '../../../../src/checks/contract/failure.ts';
import type { RunContext } from '../../../../src/checks/contract/run-context.ts';
import type { Target } from '../../../helpers/targets/listening.ts';

/** A body that creates a check, without its name. */
export type SampleBody = Readonly<Record<string, unknown>>;

/**
 * Test data of one check type for the conformance suite. Each type has a file here named after its route that exports
 * `samples`; the suite finds it through the registry.
 */
export interface Samples {
  /** The minimal body. */
  readonly minimal: SampleBody;
  /** Bodies that are refused, by the wrong field. Wrong JSON types need no entry: the suite derives those. */
  readonly refused: Readonly<Record<string, SampleBody>>;
  /** Starts the targets of the runs; absent for types that agents do not run. */
  start?(): Promise<RunSamples>;
}

export interface RunSamples {
  /** Absent for types that cannot pass yet. */
  readonly passing?: SampleBody;
  readonly failing: readonly FailingSample[];
  /** A target that keeps the run busy until it is stopped; absent for types whose runs never wait. */
  readonly hanging?: SampleBody;
  /** Additions to the default context of runs. */
  readonly context?: Partial<RunContext>;
  /** Reason why this machine cannot run them; they are skipped then, but never on a build machine. */
  readonly missing?: string | undefined;
  close(): Promise<void>;
}

export interface FailingSample {
  readonly name: string;
  readonly body: SampleBody;
  readonly code: Failure['code'];
  /** Limit of the run in milliseconds, for failures that only occur after some time. */
  readonly timeoutMs?: number;
}

/** Closes all targets of a type's samples. */
export function closeAll(targets: readonly Target[]): () => Promise<void> {
  return async () => {
    await Promise.all(targets.map((target) => target.close()));
  };
}
