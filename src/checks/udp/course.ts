import { firstMatch } from '../../lib/bounds/bounded-regex.ts';
import { WorkExceeded } from '../../lib/bounds/work-budget.ts';
import { ProbeError } from '../../probes/connection/errors.ts';
import type { UdpExchange, UdpExchangeOutcome } from '../../probes/udp/probe.ts';
import { type Failure, failure, reworded } from '../contract/failure.ts';
import { toMicroseconds } from '../contract/outcome.ts';
import { cutText } from '../http/body.ts';
import { assertionBudget } from '../judging/evaluate.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { shownValue } from '../judging/verdict.ts';
import type { UdpDetail } from './detail.ts';
import { answerText, datagramOf } from './request.ts';
import type { UdpSpec, UdpStep } from './spec.ts';

/** The steps of one run: what is sent, which answers fit, and what is captured of them for later ones. */
export class UdpCourse {
  readonly #steps: readonly UdpStep[];
  /** A single datagram is no step to those who read of it. */
  readonly #isNamed: boolean;
  readonly #format: UdpSpec['request']['dataFormat'];
  readonly #variables: Record<string, string>;
  /** What came last to each step. */
  readonly #answers = new Map<number, string>();
  readonly #budget = assertionBudget();
  /** Why an answer could not be judged. */
  #tooCostly: string | undefined;

  /** @param variables for templates; what steps capture comes to them. */
  constructor({ data, steps, dataFormat }: UdpSpec['request'], variables: Readonly<Record<string, string>>) {
    this.#isNamed = steps.length > 0;
    this.#steps = this.#isNamed ? steps : [{ data, text: '', regex: '' }];
    this.#format = dataFormat;
    this.#variables = { ...variables };
  }

  /** For the probe. */
  get exchanges(): UdpExchange[] {
    return this.#steps.map((step, index) => ({
      data: () => {
        const { data, problem } = datagramOf(this.#filled(step.data), this.#format);
        if (data) return data;
        throw new ProbeError('request-invalid', 'firstByte', problem);
      },
      take: (answer) => this.#take(step, index, answer),
    }));
  }

  #filled(text: string): string {
    try {
      return render(text, this.#variables, 'raw');
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      throw new ProbeError('request-invalid', 'firstByte', thrown.message);
    }
  }

  #take(step: UdpStep, index: number, answer: Buffer): boolean {
    const text = answerText(answer, this.#format);
    this.#answers.set(index, text);
    try {
      return text.includes(this.#filled(step.text)) && this.#matches(step.regex, text);
    } catch (thrown) {
      if (!(thrown instanceof WorkExceeded)) throw thrown;
      this.#tooCostly = thrown.message;
      return false;
    }
  }

  #matches(regex: string, text: string): boolean {
    if (regex === '') return true;
    const match = firstMatch(regex, text, this.#budget) as RegExpExecArray | null;
    for (const [name, value] of Object.entries(match?.groups ?? {})) this.#variables[name] = value ?? '';
    return match !== null;
  }

  /** What became of each step. */
  detail(outcomes: readonly UdpExchangeOutcome[]): NonNullable<UdpDetail['steps']> {
    return this.#steps.map((_step, index) => {
      const outcome = outcomes[index];
      const answer = this.#answers.get(index);
      return {
        state: outcome ? (outcome.isDone ? 'DONE' : 'FAILED') : 'NOT_REACHED',
        sentCount: outcome?.sentCount ?? 0,
        waitMs: toMicroseconds(outcome?.waitMs ?? 0),
        answer: answer === undefined ? null : cutText(answer.slice(0, 2000)).body,
      };
    });
  }

  /** The failure of the step that failed, with what came instead. */
  failure(outcomes: readonly UdpExchangeOutcome[], met: Failure | undefined): Failure | undefined {
    const index = outcomes.findIndex(({ isDone }) => !isDone);
    const step = this.#steps[index];
    if (!step || !met || !this.#isNamed) return met;
    const name = `Step ${index + 1}`;
    if (this.#tooCostly !== undefined) return failure('ASSERTION_TOO_COSTLY', `${name}: ${this.#tooCostly}`);
    const answer = this.#answers.get(index);
    if (answer === undefined) return reworded(met, `${name}: ${met.message}`);
    const wanted = [
      step.text === '' ? '' : shownValue(step.text),
      step.regex === '' ? '' : `/${step.regex}/`,
    ];
    const words = wanted.filter((word) => word !== '').join(' and ');
    if (met.code !== 'RESPONSE_TIMEOUT') return reworded(met, `${name}: ${met.message}`);
    // Something was answered, and not what is expected: that is no silence.
    const sentCount = outcomes[index]?.sentCount ?? 1;
    const count = sentCount === 1 ? '' : `; the datagram was sent ${sentCount} times`;
    return failure('DIALOGUE_FAILED', `${name}: expected ${words}, received ${shownValue(answer)}${count}`);
  }
}
