import type { Acceptance, StepOutcome } from '@picket/probes/steps/steps.ts';
import type { DialogueStep } from '@picket/probes/tcp/dialogue-steps.ts';
import { type Failure, failure, reworded } from '../contract/failure.ts';
import { detailsFor } from '../contract/failure-details.ts';
import { usualStepTimeoutMs } from '../steps/fields.ts';
import { stateOf } from '../steps/step-record.ts';
import { expectedAndReceived, TextSteps } from '../steps/text-steps.ts';
import type { TcpDetail } from './detail.ts';
import type { TcpStep } from './spec.ts';

/** The steps of one run over lines of text. */
export class LineSteps extends TextSteps<TcpStep> {
  constructor(steps: readonly TcpStep[], variables: Readonly<Record<string, string>>) {
    super(steps, variables, 'data');
  }

  /** For the probe. */
  get dialogue(): DialogueStep[] {
    return this.steps.map((step, index): DialogueStep => {
      const timeoutMs = step.timeoutMs ?? usualStepTimeoutMs;
      if (step.type === 'SEND') return { kind: 'send', data: () => Buffer.from(this.filled(step.text)) };
      if (step.type === 'START_TLS') return { kind: 'start-tls', timeoutMs };
      return { kind: 'expect', timeoutMs, take: (line) => this.#acceptLine(step, index, line) };
    });
  }

  #acceptLine(step: TcpStep, index: number, line: string): Acceptance {
    const isTaken = this.fits(step, index, line);
    if (isTaken === undefined) return 'refused';
    if (!isTaken) this.skip(index);
    return isTaken ? 'taken' : 'passed-over';
  }

  /** Details of each step. */
  detail(outcomes: readonly StepOutcome[]): NonNullable<TcpDetail['steps']> {
    return this.all(outcomes).map(({ step: { type }, outcome, seen, skippedCount }) => ({
      type,
      ...stateOf(outcome),
      line: seen?.slice(0, 2000).toWellFormed() ?? null,
      skippedCount,
    }));
  }

  /** Returns the failure of the failed step, with the received line. @param met failure of the connection. */
  failure(outcomes: readonly StepOutcome[], met: Failure | undefined): Failure | undefined {
    const failed = this.failed(outcomes);
    if (!failed) return met;
    const { step, index, seen } = failed;
    const name = `Step ${index + 1} (${step.type})`;
    const tooCostly = this.tooCostly(name);
    if (tooCostly || !met) return tooCostly;
    if (seen === undefined || step.type !== 'EXPECT') return reworded(met, `${name}: ${met.message}`);
    // The target sent an unexpected line, so it was not silent.
    const code = met.code === 'RESPONSE_TIMEOUT' ? 'DIALOGUE_FAILED' : met.code;
    const message = `${name}: ${expectedAndReceived(step, seen)}; ${met.message}`;
    return failure(code, message, detailsFor(code, met.details ?? {}));
  }
}
