import { warmUpTcp } from '@picket/probes/tcp/warm-up.ts';
import type { Runner } from '../contract/outcome.ts';
import type { GrpcDetail } from './detail.ts';
import type { GrpcSpec } from './spec.ts';

/** Makes the first run of a thread as quick as the others. */
export const warmUp = warmUpTcp;

/**
 * Runs a gRPC monitor. What reads messages comes with the first run of a thread: it takes 20 MB, which agents without such monitors
 * are to have for something else.
 */
export const runGrpc: Runner<GrpcSpec, GrpcDetail> = async (spec, context) => {
  const startMs = performance.now();
  const { callAndJudge } = await import('./diagnosed-call.ts');
  const timeoutMs = context.timeoutMs - (performance.now() - startMs);
  return await callAndJudge(spec, { ...context, timeoutMs });
};
