import { ProbeError } from '@picket/probes/connection/errors.ts';
import type { UdpExchange, UdpExchangeOutcome } from '@picket/probes/udp/probe.ts';
import { type Failure, failure, reworded } from '../contract/failure.ts';
import { cutText } from '../http/body.ts';
import { stateOf } from '../steps/step-record.ts';
import { expectedAndReceived, TextSteps } from '../steps/text-steps.ts';
import type { UdpDetail } from './detail.ts';
import { answerText, datagramOf } from './request.ts';
import type { UdpSpec, UdpStep } from './spec.ts';

/** The steps of one run over datagrams. */
export class DatagramSteps extends TextSteps<UdpStep> {
  /** Details and messages do not call a single datagram a step. */
  readonly #isNamed: boolean;
  readonly #format: UdpSpec['request']['dataFormat'];

  constructor({ data, steps, dataFormat }: UdpSpec['request'], variables: Readonly<Record<string, string>>) {
    super(steps.length > 0 ? steps : [{ data, text: '', regex: '' }], variables, 'firstByte');
    this.#isNamed = steps.length > 0;
    this.#format = dataFormat;
  }

  /** For the probe. */
  get exchanges(): UdpExchange[] {
    return this.steps.map((step, index) => ({
      data: () => {
        const { data, problem } = datagramOf(this.filled(step.data), this.#format);
        if (data) return data;
        throw new ProbeError('request-invalid', 'firstByte', problem);
      },
      accept: (answer) => this.fits(step, index, answerText(answer, this.#format)) === true,
    }));
  }

  /** Details of each step; undefined without steps. */
  detail(outcomes: readonly UdpExchangeOutcome[]): UdpDetail['steps'] {
    if (!this.#isNamed) return undefined;
    return this.all(outcomes).map(({ outcome, seen }) => ({
      ...stateOf(outcome),
      sentCount: outcome?.sentCount ?? 0,
      answer: seen === undefined ? null : cutText(seen.slice(0, 2000)).body,
    }));
  }

  /** Returns the failure of the failed step, with the received reply. @param met why there was no reply. */
  failure(outcomes: readonly UdpExchangeOutcome[], met: Failure | undefined): Failure | undefined {
    const failed = this.#isNamed ? this.failed(outcomes) : undefined;
    if (!failed || !met) return met;
    const { step, index, seen, outcome } = failed;
    const name = `Step ${index + 1}`;
    const tooCostly = this.tooCostly(name);
    if (tooCostly) return tooCostly;
    if (seen === undefined || met.code !== 'RESPONSE_TIMEOUT')
      return reworded(met, `${name}: ${met.message}`);
    // The target sent an unexpected reply, so it was not silent.
    const sentCount = outcome?.sentCount ?? 1;
    const count = sentCount === 1 ? '' : `; the datagram was sent ${sentCount} times`;
    return failure('DIALOGUE_FAILED', `${name}: ${expectedAndReceived(step, seen)}${count}`);
  }
}
