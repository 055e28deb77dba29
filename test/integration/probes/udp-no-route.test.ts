import { describe, expect, it } from 'vitest';
import { queryDns } from '../../../src/probes/dns/query.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import { probeUdp } from '../../../src/probes/udp/probe.ts';
import { queryControls } from '../../helpers/dns/controls.ts';

/** The kernel refuses to connect to it, as it does to any address without a route. */
const hostname = '255.255.255.255';
const controls = queryControls({ egress: { refusal: () => undefined } });

describe('a kernel that refuses the address at once', () => {
  it('fails a DNS query, and not the thread that asks', async () => {
    const server = { hostname, address: hostname, family: 4, port: 53 } as const;
    const asked = queryDns({ name: 'www.example.test', type: 'A' }, server, { protocol: 'UDP' }, controls);
    await expect(asked).rejects.toMatchObject({ phase: 'firstByte', code: 'EACCES' });
  });

  it('fails a UDP probe, and not the thread that asks', async () => {
    const exchange = { data: () => Buffer.from('ping'), accept: () => true };
    const request = { hostname, port: 9, family: 4, exchanges: [exchange] } as const;
    const { error } = await probeUdp(
      { ...request, attempts: 1, attemptTimeoutMs: 1000 },
      { ...controls, resolver: systemResolver },
    );
    expect(error).toMatchObject({ phase: 'firstByte', code: 'EACCES' });
  });
});
