import { expect } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { WebSocketDetail } from '../../../src/checks/websocket/detail.ts';
import { webSocketProblems } from '../../../src/checks/websocket/problems.ts';
import { runWebSocket } from '../../../src/checks/websocket/run.ts';
import { WebSocketSpec } from '../../../src/checks/websocket/spec.ts';
import { runContext } from '../run-context.ts';
import type { SocketVerdict } from './socket-peer.ts';

type Request = Record<string, unknown>;

/** Runs a WebSocket monitor. */
export async function runSocketMonitor(
  request: Request,
  { context = {}, ...rest }: { context?: Partial<RunContext>; shouldFail?: boolean } = {},
) {
  const spec = WebSocketSpec.parse({ request, ...rest });
  expect(webSocketProblems(spec)).toEqual([]);
  const outcome = await runWebSocket(spec, runContext(context));
  expect(WebSocketDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}

/** The outcome of a run, in terms common to both clients. */
export function verdictOf({
  failure,
  detail: { response, requestError },
}: Awaited<ReturnType<typeof runSocketMonitor>>): SocketVerdict {
  const messages = (response?.messages ?? [])
    .filter(({ direction, step }) => direction === 'RECEIVED' && step !== null)
    .map(({ text }) => text);
  const { status = 0, closeCode = null } = response ?? {};
  const isOpen =
    failure?.code !== 'STATUS_UNEXPECTED' && /^Step |^the server sent/.test(requestError ?? 'Step ');
  if (status === 0 || (status === 101 && !isOpen)) return { handshake: 'failed', messages, end: null };
  if (status !== 101) return { handshake: status, messages, end: null };
  const isSilent = failure?.code === 'RESPONSE_TIMEOUT';
  return { handshake: 'open', messages, end: isSilent ? 'silent' : (closeCode ?? 'broken') };
}
