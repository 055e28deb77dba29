import type { DnsServer } from '@picket/probes/dns/server.ts';
import type { DnsDetail } from './detail.ts';
import type { FilledRequest } from './request.ts';
import type { DnsSpec } from './spec.ts';

export type OwnDetail = Pick<DnsDetail, 'request' | 'response'>;

/** Returns the detail of a run without a response. */
export function unknownDetail(
  { request }: DnsSpec,
  asked: { readonly request?: FilledRequest; readonly server?: DnsServer | undefined },
): OwnDetail {
  const { server } = asked;
  const named = asked.request?.nameServer;
  const nameServerInfo = server
    ? {
        name: server.hostname === server.address ? null : server.hostname,
        host: server.address,
        port: server.port,
      }
    : null;
  return {
    request: {
      query: asked.request?.query ?? request.query,
      recordType: request.recordType,
      recordClass: request.recordClass,
      protocol: request.protocol,
      nameServer: named ? `${named.hostname}${named.path ?? ''}` : request.nameServer,
      port: named?.port ?? request.port,
    },
    response: {
      returnCode: '',
      answer: '',
      responseTime: 0,
      nameServerInfo,
      retriedOverTcp: false,
      truncated: false,
      json: null,
    },
  };
}
