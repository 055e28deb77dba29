import type { MessagePort } from 'node:worker_threads';
import type { ModelAccess } from '@picket/checks/model/access.ts';
import type { ModelOutcome } from '@picket/checks/model/client.ts';
import type { EgressSettings } from '@picket/probes/egress/policy.ts';
import type { ScriptHostSettings } from '@picket/sandbox/host/settings.ts';
import type { ServiceAccess } from '../../client/service-connection.ts';
import type { Capabilities, FinishedRun, RunOrder } from '../../run/contracts.ts';

/** What a thread that runs checks gets when it starts. */
export interface WorkerStart {
  /** Secrets that are removed from every report, whatever the check. */
  readonly ownSecrets: readonly string[];
  /** Names of the check types to load, of those that run in this kind of thread. */
  readonly checkTypes: readonly string[];
  /** Where runs may connect to. */
  readonly egress: EgressSettings;
  /** Memory of the GateStats of the thread. */
  readonly gateMemory: SharedArrayBuffer;
  /** What bodies of the thread's runs may hold together; absent where no probes run. */
  readonly bodyMemoryBytes?: number | undefined;
  /** Custom CA certificates that the thread trusts, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** What the thread for scripts makes its sandboxes of; no other thread has it. */
  readonly scripts?: ScriptHostSettings | undefined;
  /** Whether the browser is started for trial before types that need one are offered; a single run finds out by itself. */
  readonly isBrowserTried?: boolean | undefined;
  /** Where the thread for scripts gets code bundles; absent where there is no service. */
  readonly service?: ServiceAccess | undefined;
  /** The model that runs of the thread for scripts may ask. */
  readonly model?: ModelAccess | undefined;
  /** A code bundle on this host's disk, for a run without a service. */
  readonly codeBundle?: { readonly key: string; readonly path: string } | undefined;
}

/** What the main thread knew when it sent orders on; it learns such things after the threads have started. */
export interface RunSituation {
  /** What to add to `monotonicMs` to get the service's time. */
  readonly serviceOffsetMs: number;
  /** The agent's work folder for artifacts; absent where none are kept. */
  readonly artifactFolder?: string | undefined;
}

export type ToWorker =
  | { readonly type: 'run'; readonly situation: RunSituation; readonly orders: readonly RunOrder[] }
  | { readonly type: 'abort'; readonly runIds: readonly string[] }
  /** Everything that waits in the admission gate comes back unstarted. */
  | { readonly type: 'withdraw' }
  /** The line between a probe thread and the thread for scripts: one end for each. */
  | { readonly type: 'lifecycle-scripts'; readonly port: MessagePort }
  /** The thread cleans up and ends. */
  | { readonly type: 'close' };

export type FromWorker =
  | { readonly type: 'ready'; readonly capabilities: Capabilities }
  /** What can be run has changed since. */
  | { readonly type: 'changed'; readonly capabilities: Capabilities }
  /** The model was asked something. */
  | { readonly type: 'model-asked'; readonly outcome: ModelOutcome }
  | { readonly type: 'finished'; readonly runs: readonly FinishedRun[] };
