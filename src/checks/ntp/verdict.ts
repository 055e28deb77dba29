import { durationText } from '@picket/lib/figures/duration.ts';
import { type Failure, failure } from '../contract/failure.ts';
import type { NtpTime } from './detail.ts';
import type { NtpSpec } from './spec.ts';

/** Problems of an answer: the server gives no time, or its clock differs too much from that of the agent. */
export interface TimeVerdict {
  readonly refusal: Failure | undefined;
  readonly offsetFailure?: Failure | undefined;
  readonly degradedReasons?: readonly string[];
}

/** Meanings of kiss codes (RFC 5905 figure 13, RFC 4330 section 8). */
const kissWords: Readonly<Record<string, string>> = {
  DENY: 'it denies access',
  RSTR: 'its access rules deny this client',
  RATE: 'the client asks too often',
  INIT: 'it has not set its clock yet',
  STEP: 'its clock was set in a jump, and is not synchronized again yet',
};

export function judgeTime(
  time: NtpTime,
  { degradedOffsetMs, maxOffsetMs }: Pick<NtpSpec, 'degradedOffsetMs' | 'maxOffsetMs'>,
): TimeVerdict {
  const { kissCode, offsetMs } = time;
  if (kissCode !== null) {
    const words = kissWords[kissCode] ?? 'it gives no reason that RFC 5905 lists';
    return { refusal: failure('REQUEST_REFUSED', `The server gives no time: ${words} (${kissCode})`) };
  }
  if (offsetMs === null || time.stratum > 15) {
    const message = `The clock of the server is not synchronized: leap indicator ${time.leap}, stratum ${time.stratum}`;
    return { refusal: failure('REQUEST_REFUSED', message) };
  }
  const isOver = (limitMs: number | null) => limitMs !== null && Math.abs(offsetMs) > limitMs;
  const side = offsetMs < 0 ? 'behind' : 'ahead of';
  const sentence = (limitMs: number | null) =>
    `The clock of the server is ${durationText(Math.abs(offsetMs))} ${side} the clock of the agent, more than ${limitMs} ms`;
  if (isOver(maxOffsetMs)) {
    return { refusal: undefined, offsetFailure: failure('ASSERTION_FAILED', sentence(maxOffsetMs)) };
  }
  return {
    refusal: undefined,
    degradedReasons: isOver(degradedOffsetMs) ? [sentence(degradedOffsetMs)] : [],
  };
}
