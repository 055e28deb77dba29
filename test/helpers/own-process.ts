/**
 * Files whose tests measure the process they run in (its times, memory, threads and descriptors) or change what is one for all of
 * it, such as its authorities: each has a process of its own. The other files share processes, which have loaded the program and
 * compiled what is hot in it after the first.
 */
export const ownProcess = {
  integration: `test/integration/{${[
    'analyses/{faults,model*}',
    'checks/{grpc,ssl,websocket}-*',
    'checks/tcp-dialogues*',
    'probes/tls-*',
    'probes/tcp-{faults,tls}*',
    'probes/http-{body,faults,resources}*',
    'probes/dns-hostile*',
    '{checks,probes}/*.night',
  ].join(',')}}.test.ts`,
  system: 'test/system/{agent,checks,faults,probes,sandbox}/**/*.test.ts',
} as const;
