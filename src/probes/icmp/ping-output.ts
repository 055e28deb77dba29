import { errnoOfWords } from '../sys/libc-words.ts';
import { canonicalAddress } from '../sys/socket-address.ts';
import type { EchoAnswer, PingTrain } from './backend.ts';
import { echoReplyType } from './echo-packet.ts';
import { findIcmpError } from './error-words.ts';

/** `64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.045 ms`; a duplicate ends with `(DUP!)`. */
const replyLine = /^\d+ bytes from (\S+): icmp_seq=(\d+) (?:ttl|hop limit)=(\d+) time=([\d.]+) ms(.*)$/;
/** `From 10.0.0.1 icmp_seq=1 Destination Host Unreachable`, with a colon in some versions. */
const errorLine = /^From (\S+?):? icmp_seq=(\d+) (.+)$/;
const mtuWords = /mtu ?= ?(\d+)/;

const beginErrorLine = /^ping6?: (?:connect|socket): (.+)$/gm;
const sendErrorLine = /^ping6?: sendmsg: (.+)$/gm;

/**
 * What the iputils `ping` program found out, request by request. Its sequence counts from 1. It names no request when a
 * send fails: as many unanswered requests as it had such errors count as unsent, and all of them when it could not even
 * begin.
 *
 * @param output its standard output and standard error, with messages in English.
 */
export function parsePingOutput(
  train: Pick<PingTrain, 'address' | 'family' | 'count'>,
  output: { readonly stdout: string; readonly stderr: string },
): EchoAnswer[] {
  const answers = new Map<number, EchoAnswer>();
  for (const line of output.stdout.split('\n')) {
    const answer = replyIn(line, train) ?? errorIn(line, train);
    // The first answer counts; duplicates and late errors do not.
    if (answer && answer.sequence < train.count && !answers.has(answer.sequence)) {
      answers.set(answer.sequence, answer);
    }
  }
  const [beginError] = errnosIn(output.stderr, beginErrorLine);
  const sendErrors = errnosIn(output.stderr, sendErrorLine);
  for (let sequence = train.count - 1; sequence >= 0; sequence -= 1) {
    if (answers.has(sequence)) continue;
    const errno = beginError ?? sendErrors.pop();
    answers.set(
      sequence,
      errno === undefined ? { kind: 'silence', sequence } : { kind: 'unsent', sequence, errno },
    );
  }
  return [...answers.values()].sort((left, right) => left.sequence - right.sequence);
}

function replyIn(
  line: string,
  { address, family }: Pick<PingTrain, 'address' | 'family'>,
): EchoAnswer | undefined {
  const match = replyLine.exec(line);
  if (!match || match[5]?.includes('(DUP!)')) return undefined;
  const [, from = '', sequence, ttl, timeMs] = match;
  if (bare(from) !== bare(address)) return undefined;
  return {
    kind: 'reply',
    sequence: Number(sequence) - 1,
    rttMs: Number(timeMs),
    ttl: Number(ttl),
    type: echoReplyType(family),
    code: 0,
  };
}

function errorIn(line: string, { family }: Pick<PingTrain, 'family'>): EchoAnswer | undefined {
  const [, from = '', sequence, words = ''] = errorLine.exec(line) ?? [];
  const found = findIcmpError(family, words);
  if (!found) return undefined;
  const mtu = mtuWords.exec(words)?.[1];
  return {
    kind: 'error',
    sequence: Number(sequence) - 1,
    rttMs: null,
    type: found.type,
    code: found.code,
    from: bare(from),
    mtuBytes: mtu === undefined ? null : Number(mtu),
  };
}

/** The names of the errors in the lines of a kind. */
function errnosIn(stderr: string, line: RegExp): string[] {
  return [...stderr.matchAll(line)].map(([, words = '']) => errnoOfWords(words));
}

/** Whether the program says itself that it could not send. */
export function hasSendError(stderr: string): boolean {
  return [beginErrorLine, sendErrorLine].some((line) => errnosIn(stderr, line).length > 0);
}

function bare(address: string): string {
  return canonicalAddress(address.split('%', 1)[0] ?? '');
}
