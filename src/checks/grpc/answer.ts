import { ProtoError, type ProtoMethod } from '@picket/lib/proto/registry.ts';
import type { GrpcProbeResult } from '@picket/probes/grpc/probe.ts';
import { type Failure, failure } from '../contract/failure.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { healthStatusOf } from './health.ts';
import { healthLabel } from './status-words.ts';

/** Result of a probe, with decoded messages. */
export interface ReadAnswer {
  /** One message, or an array of those of a stream; undefined without a message. */
  readonly document: unknown;
  readonly healthStatus: number | null;
  readonly status: { readonly code: number; readonly message: string; readonly isFromServer: boolean };
  /** Failure that leaves nothing to judge. */
  readonly failure: Failure | undefined;
  /** CPU milliseconds of decoding. */
  readonly workMs: number;
}

/** Decodes the messages of a response. @param types of the method; undefined for the health service. */
export function readAnswer(result: GrpcProbeResult, types: ProtoMethod | undefined): ReadAnswer {
  const { error, status, end } = result;
  const before = process.threadCpuUsage();
  const nothing = { document: undefined, healthStatus: null };
  const spent = () => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  if (error) return { ...nothing, status, failure: probeFailure(error), workMs: 0 };
  const [first] = end?.messages ?? [];
  if (!end || first === undefined || status.code !== 0) {
    const document = types?.isServerStream && status.code === 0 ? [] : undefined;
    return { ...nothing, document, status, failure: undefined, workMs: 0 };
  }
  try {
    if (!types) {
      const healthStatus = healthNumberIn(first);
      const document = { status: healthLabel(healthStatus) };
      return { document, healthStatus, status, failure: undefined, workMs: spent() };
    }
    const documents = end.messages.map((message) => types.decode(message));
    const document = types.isServerStream ? documents : documents[0];
    return { document, healthStatus: null, status, failure: undefined, workMs: spent() };
  } catch (thrown) {
    if (!(thrown instanceof ProtoError)) throw thrown;
    const unreadable = failure('RESPONSE_MALFORMED', thrown.message);
    // The status that gRPC clients report for a message that they cannot decode.
    const internal = { code: 13, message: thrown.message, isFromServer: false };
    return { ...nothing, status: internal, failure: unreadable, workMs: spent() };
  }
}

function healthNumberIn(message: Uint8Array): number {
  try {
    return healthStatusOf(message);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ProtoError(`the response is not from the health service: ${reason}`);
  }
}
