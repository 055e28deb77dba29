import type { RunFacts } from '@picket/checks/contract/facts.ts';
import type { FailureDetails } from '@picket/checks/contract/failure-details.ts';
import { isNamedByMessage } from '@picket/checks/judging/location-part.ts';
import { factsOf } from '@picket/platform/store/details/run-facts.ts';
import type { StoredRun } from '../evidence.ts';
import type { Peer } from './peer.ts';
import { type ScriptFault, scriptFaultOf } from './script-fault.ts';

/** An assertion and its actual value. */
export interface SeenAssertion {
  readonly source: string;
  readonly property: string;
  readonly comparison: string;
  readonly target: string;
  readonly actual: unknown;
  readonly failed: boolean;
}

/** A run as rules see it, whatever its type: values absent from its detail are null or empty. */
export interface RunView extends Omit<RunFacts, 'assertions' | 'script'> {
  readonly result: StoredRun;
  /** Failure code; that of the network if it made a script fail and the run has no more precise one. */
  readonly code: string;
  readonly message: string;
  /** Details of the failure. */
  readonly details: FailureDetails;
  readonly script: ScriptFault | null;
  /** Failed endpoint, if a connection or its traffic failed: a host or an address. */
  readonly peer: Peer | null;
  readonly assertions: readonly SeenAssertion[];
}

const maxFiles = 10;

/** Never throws, whatever the detail contains. */
export function viewOf(result: StoredRun): RunView {
  const facts = factsOf(result.type, result.detail);
  const message = result.message ?? result.errorMessages[0] ?? '';
  const isNamed = result.code === null || isNamedByMessage(result.code);
  const script = scriptFaultOf(result, facts);
  return {
    ...facts,
    result,
    code: (isNamed ? script?.code : null) ?? result.code ?? '',
    message: (isNamed ? script?.message : null) ?? message,
    details: result.details,
    script,
    host: script?.host ?? facts.host,
    address: script?.address ?? facts.address,
    url: script?.url ?? facts.url,
    peer: script ? script.peer : peerOf(result.details),
    assertions: facts.assertions.map(({ source, property, comparison, target, actual, error }) => ({
      ...{ source, property, comparison, target: String(target) },
      ...{ actual: actual ?? null, failed: error !== null },
    })),
    files: facts.files.slice(0, maxFiles),
  };
}

function peerOf({ host, address, port }: FailureDetails): Peer | null {
  const name = address ?? host;
  return name === undefined || port === undefined ? null : { name, port };
}
