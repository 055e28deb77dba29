import type { Failure } from '../../../../src/checks/contract/failure.ts';
import type { RunContext } from '../../../../src/checks/contract/run-context.ts';
import type { Target } from '../../../helpers/targets/listening.ts';

/** A body that creates a check, without its name. */
export type SampleBody = Readonly<Record<string, unknown>>;

/**
 * What the conformance suite needs to know about one check type. Each type has a file here named after its
 * route that exports `samples`; the suite finds it through the registry.
 */
export interface Samples {
  /** The least a body has to hold. */
  readonly minimal: SampleBody;
  /**
   * Bodies that are refused, by the field that is wrong. Wrong JSON types need no entry: the suite derives
   * those.
   */
  readonly refused: Readonly<Record<string, SampleBody>>;
  /** Starts what the runs need; absent for types that nobody runs. */
  start?(): Promise<RunSamples>;
}

export interface RunSamples {
  /** Absent for types that cannot pass yet. */
  readonly passing?: SampleBody;
  readonly failing: readonly FailingSample[];
  /** A target that keeps the run busy until it is stopped; absent for types whose runs wait for nothing. */
  readonly hanging?: SampleBody;
  /** What the runs need of their context in addition to what every run gets. */
  readonly context?: Partial<RunContext>;
  /** Why this machine lacks what the runs need; they are left out then, but never on a build machine. */
  readonly missing?: string | undefined;
  close(): Promise<void>;
}

export interface FailingSample {
  readonly name: string;
  readonly body: SampleBody;
  readonly code: Failure['code'];
  /** Limit of the run in milliseconds, for failures that only time brings about. */
  readonly timeoutMs?: number;
}

/** Closes all targets of a type's samples. */
export function closeAll(targets: readonly Target[]): () => Promise<void> {
  return async () => {
    await Promise.all(targets.map((target) => target.close()));
  };
}
