import { type DnsProtocol, type DnsReply, queryDns } from '@picket/probes/dns/query.ts';
import type { DnsServer } from '@picket/probes/dns/server.ts';
import type { DnsQuestion } from '@picket/probes/dns/wire/message.ts';
import type { Repetition } from '../runner/evidence.ts';

/** Repeats a query for a diagnosis; queries change nothing at the server. */
export function queryRepetition(question: DnsQuestion, server: DnsServer, protocol: DnsProtocol): Repetition {
  return {
    what: 'query',
    async run(controls) {
      const again = queryDns(question, server, { protocol }, controls);
      return await again.then(
        ({ message }: DnsReply) => `was answered this time, with ${message.responseCode}`,
        (thrown: Error) => `failed again: ${thrown.message}`,
      );
    },
  };
}
