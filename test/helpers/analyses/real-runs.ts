import { definitionSchema, runnableSpec } from '../../../src/checks/contract/definition/definition.ts';
import type { Outcome, Runner } from '../../../src/checks/contract/outcome.ts';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { findCheckType } from '../../../src/checks/index.ts';
import { analyse } from '../../../src/service/analyses/analyse.ts';
import type { Evidence, StoredRun } from '../../../src/service/analyses/evidence.ts';
import { runContext } from '../run-context.ts';

/** Runs a check as an agent does, and returns its result as the service stores it. */
export async function realRun(
  typeName: string,
  body: Readonly<Record<string, unknown>>,
  context: Partial<RunContext> = {},
): Promise<StoredRun> {
  const type = findCheckType(typeName);
  if (!type?.load) throw new Error(`nobody runs checks of type ${typeName}`);
  const run = (await type.load()).run as Runner<unknown, unknown>;
  const definition = definitionSchema(type).parse({ name: 'Shop', ...body });
  const startedAt = new Date().toISOString();
  return storedRun(typeName, await run(runnableSpec(type, definition), runContext(context)), startedAt);
}

let runs = 0;

/** The outcome of a run as a stored result. */
export function storedRun(type: string, outcome: Outcome<unknown>, startedAt: string): StoredRun {
  runs += 1;
  return {
    ...{ id: `run-${runs}`, type, startedAt, location: 'lab' },
    code: outcome.failure?.code ?? null,
    message: outcome.failure?.message ?? null,
    details: outcome.failure?.details ?? {},
    errorMessages: outcome.errorMessages,
    responseTime: outcome.responseTimeMs,
    detail: JSON.parse(JSON.stringify(outcome.detail)),
  };
}

/** The evidence about a failing run: only the run itself, plus the given facts. */
export function evidenceOf(failing: StoredRun, known: Partial<Evidence> = {}): Evidence {
  return {
    check: { name: 'Shop', type: 'URL', createdAt: null },
    errorMessage: failing.message ?? '',
    failing: [failing],
    ...{ passed: [], failingSince: failing.startedAt, elsewhere: [], company: null },
    ...{ locationEvents: [], changes: [], maintenance: [] },
    ...known,
  };
}

/** An injected fault, and the expected findings of its analysis. */
export interface SeededFault {
  readonly name: string;
  /** The expected failure code; any other means that the wrong fault was injected. */
  readonly code: string;
  /** Injects the fault and runs the check. */
  readonly evidence: () => Promise<Evidence>;
  /** The cause, in the words of the analysis. */
  readonly cause: RegExp;
  readonly classification: string;
  /** The maximum certainty: a fault with other possible causes must not be certain. */
  readonly certainty: 'CERTAIN' | 'LIKELY' | 'OPEN';
}

/** Runs the analysis on a fault. */
export async function judged({ evidence, code, cause, classification, certainty }: SeededFault) {
  const given = await evidence();
  const analysis = analyse(given);
  const isRight =
    cause.test(analysis.rootCause) &&
    analysis.classification === classification &&
    analysis.certainty === certainty &&
    certainty !== 'OPEN';
  return {
    analysis,
    evidence: given,
    isFault: given.failing[0]?.code === code,
    isRight,
    /** Certain about a cause other than the injected fault. */
    isCertainlyWrong: analysis.certainty === 'CERTAIN' && !cause.test(analysis.rootCause),
  };
}
