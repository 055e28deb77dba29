/**
 * The program of the net-ping backend: a process of its own, because raw-socket loads in main threads only. It receives
 * commands over the channel of its fork, and ends when that closes.
 */
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { toError } from '@picket/lib/errors.ts';
import type { IpFamily } from '../../address.ts';
import { errnoOfWords } from '../../sys/errno.ts';
import { IcmpUnavailable, type PingTrain } from '../backend.ts';
import type { EchoAnswer } from '../echo/answers.ts';
import { loadNetPing, type NetPingLibrary } from './library.ts';
import type { FromNetPing, RawSocketReport, ToNetPing } from './messages.ts';
import { NetPingEcho } from './session.ts';

if (!process.send) throw new Error('net-ping-main is forked with a channel only');

const stops = new Map<number, AbortController>();
/** Kept here permanently: a session referenced only by its pending requests is garbage-collected with them. */
const sessions = new Map<IpFamily, NetPingEcho>();

process.on('disconnect', () => process.exit(0));
process.on('uncaughtException', breakWith);

try {
  const library = loadNetPing();
  const families = { 4: opened(library, 4), 6: opened(library, 6) };
  process.on('message', (message: ToNetPing) => {
    if (message.type === 'stop') stops.get(message.id)?.abort();
    else run(message.id, message.train).catch(breakWith);
  });
  send({ type: 'ready', families });
} catch (thrown) {
  if (!(thrown instanceof IcmpUnavailable)) throw thrown;
  send({ type: 'unavailable', reason: thrown.message });
}

function opened(library: NetPingLibrary, family: IpFamily): RawSocketReport {
  try {
    sessions.set(family, new NetPingEcho(library, family, breakWith));
    return { errno: null };
  } catch (thrown) {
    return { errno: errnoOfWords(toError(thrown).message) };
  }
}

async function run(id: number, train: PingTrain): Promise<void> {
  const stop = new AbortController();
  stops.set(id, stop);
  const { timeoutMs } = train;
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop.abort(), timeoutMs);
  const answers = await ping(train, stop.signal);
  clearTimeout(timer);
  stops.delete(id);
  send({ type: 'answers', id, answers });
}

async function ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
  const session = sessions.get(train.family);
  const errno = session ? zoneErrno(train.address) : 'EAFNOSUPPORT';
  if (!session || errno !== undefined) {
    return Array.from({ length: train.count }, (_, sequence) => ({
      kind: 'unsent',
      sequence,
      errno: errno ?? 'EAFNOSUPPORT',
    }));
  }
  const startMs = performance.now();
  const echoes: Promise<EchoAnswer | undefined>[] = [];
  for (let sequence = 0; sequence < train.count && !signal.aborted; sequence += 1) {
    const waitMs = startMs + sequence * train.intervalMs - performance.now();
    // An abort ends the pause; the loop checks the signal.
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) echoes.push(session.echo(train, sequence, signal));
  }
  return (await Promise.all(echoes)).filter((answer) => answer !== undefined);
}

/** Requests to an unknown zone would be sent without a zone. */
function zoneErrno(address: string): string | undefined {
  const zone = address.split('%', 2)[1];
  if (zone === undefined || /^\d+$/.test(zone)) return undefined;
  return networkInterfaces()[zone] === undefined ? 'ENODEV' : undefined;
}

function breakWith(thrown: unknown): void {
  const message: FromNetPing = { type: 'broken', reason: toError(thrown).message };
  process.send?.(message, () => process.exit(1));
}

function send(message: FromNetPing): void {
  process.send?.(message);
}
