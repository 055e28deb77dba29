import type { Fields } from '@picket/protocol/projects/kind.ts';
import type { Collection } from '../collection.ts';
import type { Source } from '../source.ts';
import { type Probe, tlsFields, tlsVersions } from './http.ts';

/** Converts a `grpc` prober to a check: it calls the health service. */
export function readGrpc(grpc: Source, collection: Collection, name: string): Probe {
  const tls = grpc.child('tls_config');
  const isTls = grpc.flag('tls') ?? false;
  const service = grpc.text('service');
  const assertions = isTls ? tlsVersions(tls) : [];
  const metadata = metadataOf(grpc, collection, name);
  const grpcConfig = {
    mode: 'HEALTH',
    tls: isTls,
    ...(service === undefined ? {} : { service }),
    ...(metadata.length > 0 ? { metadata } : {}),
  };
  const request = {
    ...(isTls ? tlsFields(tls) : {}),
    grpcConfig,
    ...(assertions.length > 0 ? { assertions } : {}),
  };
  return { checkType: 'GRPC', request, mostMs: 180_000, hasFamily: true };
}

function metadataOf(grpc: Source, collection: Collection, name: string): Fields[] {
  const written = (grpc.take('metadata') ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(written).flatMap(([key, values]) =>
    [values]
      .flat()
      .map((value) =>
        /authorization|token|key|secret|cookie/i.test(key)
          ? { key, value: collection.secret(`${name}_${key}`, String(value)), locked: true }
          : { key, value: String(value) },
      ),
  );
}
