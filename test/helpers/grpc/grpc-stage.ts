import { expect } from 'vitest';
import type { RunContext } from '../../../src/checks/contract/run-context.ts';
import { GrpcDetail } from '../../../src/checks/grpc/detail.ts';
import { runGrpc } from '../../../src/checks/grpc/run.ts';
import { GrpcSpec } from '../../../src/checks/grpc/spec.ts';
import { runContext } from '../run-context.ts';

type Config = Record<string, unknown>;

/** Queries the health service, without TLS. */
export const asHealth = { mode: 'HEALTH', tls: false } as const;
/** Gets an order, without TLS. */
export const asGet = { method: 'shop.v1.Orders/Get', message: '{"id":"one"}', tls: false } as const;

/** Runs a gRPC monitor of a target. */
export async function runGrpcMonitor(
  { port }: { readonly port: number },
  grpcConfig: Config = asGet,
  {
    context = {},
    request = {},
    ...rest
  }: { request?: Config; context?: Partial<RunContext>; shouldFail?: boolean } = {},
) {
  const spec = GrpcSpec.parse({ request: { url: '127.0.0.1', port, ...request, grpcConfig }, ...rest });
  const outcome = await runGrpc(spec, runContext(context));
  expect(GrpcDetail.parse(outcome.detail)).toEqual(outcome.detail);
  return outcome;
}
