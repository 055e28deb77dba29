import type { Clock } from '@picket/lib/clock.ts';
import { packageVersion } from '@picket/lib/version.ts';
import type { LocationNeed, Examination as ServiceAnswer } from '@picket/protocol/agent/agent-examination.ts';
import { ServiceClient } from '../client/service-client.ts';
import { ServiceClock } from '../client/service-clock.ts';
import { ServiceError } from '../client/service-error.ts';
import type { AgentSettings } from '../config.ts';

const callTimeoutMs = 15_000;

/**
 * How the service responded to the first call.
 * - `known`: successfully.
 * - `older`: it does not know this call, but accepts the key and the other calls.
 * - `refused`: the key is not accepted.
 * - `stranger`: the server is not a service of this kind.
 * - `silent`: no usable response.
 */
export type ServiceAttitude =
  | { readonly kind: 'known'; readonly answer: ServiceAnswer }
  | { readonly kind: 'older' }
  | { readonly kind: 'refused' | 'stranger' | 'silent'; readonly error: ServiceError };

/** Calls to the service through the agent's own client. */
export interface ServiceContact {
  readonly attitude: ServiceAttitude;
  /** The estimate of the service's clock. */
  readonly serviceClock: ServiceClock;
  /** Sends that many bytes; resolves with the number received and the duration. @throws ServiceError */
  upload(sizeBytes: number): Promise<{ readonly receivedBytes: number; readonly elapsedMs: number }>;
  /** Needs of the location's checks; undefined if the service is too old to report them. @throws ServiceError */
  needs(): Promise<readonly LocationNeed[] | undefined>;
}

export async function contactService(
  settings: AgentSettings,
  {
    clock,
    signal,
    resources,
  }: { readonly clock: Clock; readonly signal: AbortSignal; readonly resources: AsyncDisposableStack },
): Promise<ServiceContact> {
  const serviceClock = new ServiceClock(clock);
  const agentVersion = packageVersion();
  const client = new ServiceClient({
    settings,
    identity: { agentId: 'doctor', sessionId: crypto.randomUUID() },
    version: agentVersion,
    clock,
    serviceClock,
    onFailed: () => undefined,
    onRefused: () => undefined,
    onAnswered: () => undefined,
  });
  resources.defer(() => client.close());
  const examine = (sizeBytes: number, timeoutMs: number) =>
    client.examine({ agentVersion, sizeBytes, timeoutMs, signal });
  return {
    serviceClock,
    attitude: await attitudeOf(client, () => examine(0, callTimeoutMs)),
    upload: async (sizeBytes) => {
      const { body, sentAtMs, receivedAtMs } = await examine(sizeBytes, 2 * callTimeoutMs);
      return { receivedBytes: body.receivedBytes, elapsedMs: receivedAtMs - sentAtMs };
    },
    needs: async () => {
      const answer = await serviceErrorOf(() => client.needs(callTimeoutMs));
      if (!(answer instanceof ServiceError)) return answer.body.needs;
      if (answer.kind === 'rejected') return undefined;
      throw answer;
    },
  };
}

async function attitudeOf(
  client: ServiceClient,
  examine: () => Promise<{ readonly body: ServiceAnswer }>,
): Promise<ServiceAttitude> {
  const error = await serviceErrorOf(async () => {
    const { body } = await examine();
    return { kind: 'known', answer: body } as const;
  });
  if (!(error instanceof ServiceError)) return error;
  if (error.kind === 'refused') return { kind: 'refused', error };
  if (error.kind !== 'rejected') return { kind: 'silent', error };
  // An empty renewal changes nothing, and every service version knows the call.
  const second = await serviceErrorOf(async () => {
    await client.renew([], callTimeoutMs);
    return { kind: 'older' } as const;
  });
  if (!(second instanceof ServiceError)) return second;
  if (second.kind === 'refused') return { kind: 'refused', error: second };
  return { kind: second.kind === 'rejected' ? 'stranger' : 'silent', error };
}

async function serviceErrorOf<Value>(work: () => Promise<Value>): Promise<Value | ServiceError> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof ServiceError) return thrown;
    throw thrown;
  }
}
