import type { MessagePort } from 'node:worker_threads';
import type { KerberosSettings } from '@picket/checks/kerberos/settings.ts';
import type { ModelAccess } from '@picket/checks/model/access.ts';
import type { ModelOutcome } from '@picket/checks/model/client.ts';
import type { EgressSettings } from '@picket/probes/egress/policy.ts';
import type { ScriptHostSettings } from '@picket/sandbox/host/settings.ts';
import type { DependencyUsage } from '@picket/sandbox/suites/dependency-cache.ts';
import type { ServiceAccess } from '../../client/service-connection.ts';
import type { Capabilities, FinishedRun, LinesOfRun, RunOrder, TailPlace } from '../../run/contracts.ts';

/** Start parameters of a thread that runs checks. */
export interface WorkerStart {
  /** Secrets that are removed from every report, whatever the check. */
  readonly ownSecrets: readonly string[];
  /** Names of the check types to load, of those that run in this kind of thread. */
  readonly checkTypes: readonly string[];
  /** Addresses that runs may connect to. */
  readonly egress: EgressSettings;
  /** Memory of the GateStats of the thread. */
  readonly gateMemory: SharedArrayBuffer;
  /** Memory limit for all bodies of the thread's runs together; absent if no probes run. */
  readonly bodyMemoryBytes?: number | undefined;
  /** Custom CA certificates that the thread trusts, as PEM texts. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Settings of the sandboxes; only the script thread has them. */
  readonly scripts?: ScriptHostSettings | undefined;
  /** Whether to try the browser before types that need one are offered; a single run finds out by itself. */
  readonly isBrowserTried?: boolean | undefined;
  /** Where the script thread fetches code bundles; absent without a service. */
  readonly service?: ServiceAccess | undefined;
  /** The model that runs of the script thread may use. */
  readonly model?: ModelAccess | undefined;
  /** The Kerberos identity of the agent, with which requests log in. */
  readonly kerberos?: KerberosSettings | undefined;
  /** A code bundle on this host's disk, for a run without a service. */
  readonly codeBundle?: { readonly key: string; readonly path: string } | undefined;
}

/** State of the main thread when it sent orders; it is only known after the threads have started. */
export interface RunSituation {
  /** Offset from `monotonicMs` to the service's time. */
  readonly serviceOffsetMs: number;
  /** The agent's work folder for artifacts; absent if none are kept. */
  readonly artifactFolder?: string | undefined;
  /** How many finished runs of the thread may keep their places in the lane for a moment, so that others join them. */
  readonly spareRuns: number;
}

export type ToWorker =
  | { readonly type: 'run'; readonly situation: RunSituation; readonly orders: readonly RunOrder[] }
  | { readonly type: 'abort'; readonly runIds: readonly string[] }
  /** Makes the thread send the next lines of these runs as `live-log`, if there are any. */
  | { readonly type: 'read-logs'; readonly places: readonly TailPlace[] }
  /** Makes all runs that wait for their slots, or in the admission gate, return unstarted; reports wait no longer. */
  | { readonly type: 'withdraw' }
  /** The answer to `late`: lost leases were named, and the other runs may start. */
  | { readonly type: 'start-late' }
  /** The channel between a probe thread and the script thread: one end for each. */
  | { readonly type: 'lifecycle-scripts'; readonly port: MessagePort }
  /** Makes the thread clean up and end. */
  | { readonly type: 'close' };

export type FromWorker =
  | { readonly type: 'ready'; readonly capabilities: Capabilities }
  /** The capabilities have changed since `ready`. */
  | { readonly type: 'changed'; readonly capabilities: Capabilities }
  /** A request was sent to the model. */
  | { readonly type: 'model-asked'; readonly outcome: ModelOutcome }
  | { readonly type: 'live-log'; readonly runs: readonly LinesOfRun[] }
  /** Runs were to start long ago: the process was stopped, and may have lost their leases. */
  | { readonly type: 'late' }
  /** A suite has run. */
  | { readonly type: 'suite-packages'; readonly usage: DependencyUsage }
  | { readonly type: 'finished'; readonly runs: readonly FinishedRun[] };
