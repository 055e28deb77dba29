import { warmUpTcp } from '@picket/probes/tcp/warm-up.ts';
import type { Runner } from '../contract/outcome.ts';
import type { GrpcDetail } from './detail.ts';
import type { GrpcSpec } from './spec.ts';

/** Makes the first run of a thread as fast as later ones. */
export const warmUp = warmUpTcp;

/**
 * Runs a gRPC monitor. The first run of a thread loads the message decoder: it takes 20 MB, which agents without such
 * monitors should not spend.
 */
export const runGrpc: Runner<GrpcSpec, GrpcDetail> = async (spec, context) => {
  const startMs = performance.now();
  const { callAndJudge } = await import('./diagnosed-call.ts');
  const timeoutMs = context.timeoutMs - (performance.now() - startMs);
  return await callAndJudge(spec, { ...context, timeoutMs });
};
