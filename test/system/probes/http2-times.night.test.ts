import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEgressPolicy } from '../../../src/probes/egress/policy.ts';
import { probeGrpc } from '../../../src/probes/grpc/probe.ts';
import { KernelTimekeeper } from '../../../src/probes/kernel-thread/timekeeper.ts';
import { systemResolver } from '../../../src/probes/resolver.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { probe } from '../../helpers/targets/http-request.ts';
import { measuredByKernel } from '../../helpers/targets/measured-by-kernel.ts';
import { keepBusy, startWireTarget } from '../../helpers/targets/wire-target.ts';

/** The target delays its head by 20 ms, and the rest by this much more; it reports how long it really took. */
const stallMs = 600;
/** Long enough that the thread sees head and end at once. */
const blockMs = 1000;

describe('a response that stalls after its head, over HTTP/2, for a busy thread', () => {
  let timekeeper: KernelTimekeeper;
  let identity: { key: string; cert: string };
  beforeAll(async () => {
    timekeeper = await KernelTimekeeper.open();
    identity = await (await createAuthority()).issue();
  });
  afterAll(() => timekeeper.close());

  const call = (port: number, isSecure: boolean) =>
    probeGrpc(
      {
        ...{ hostname: '127.0.0.1', port, family: 4, proxy: undefined, metadata: [] },
        tls: isSecure
          ? { isCertificateChecked: false, serverName: undefined, clientIdentity: undefined }
          : undefined,
        call: {
          path: '/grpc.health.v1.Health/Check',
          message: new Uint8Array(),
          isServerStream: false,
          wantedMessages: null,
        },
        limits: { bytes: 1024 * 1024, messages: 100 },
      },
      {
        ...{ resolver: systemResolver, egress: createEgressPolicy(), timekeeper },
        ...{ signal: new AbortController().signal, timeoutMs: 20_000 },
      },
    );

  it.each([
    ['gRPC', 'grpc'],
    ['gRPC in TLS', 'grpcs'],
    ['HTTP', 'h2'],
  ] as const)('has the stall in its download, or is marked: %s', async (_name, kind) => {
    await using target = await startWireTarget({ kind, identity });
    const measure = async () => {
      if (kind !== 'h2') return await call(target.port, kind === 'grpcs');
      const means = { timekeeper, isCertificateChecked: false, timeoutMs: 20_000 };
      const { phases, ...rest } = await probe(`${target.url}/stall/20/${stallMs}`, means);
      const wait = (phases?.firstByte ?? 0) - (phases?.tls ?? 0);
      return { ...rest, phases: { wait, download: phases?.download ?? 0 } };
    };
    await measure();
    for (let round = 1; round <= 2; round += 1) {
      using _busy = keepBusy(blockMs);
      const { phases, measurement, error } = await measuredByKernel(measure);
      expect(error).toBeUndefined();
      await expect.poll(() => target.stalls[round]).toBeDefined();
      const actual = target.stalls[round] ?? { waitMs: 0, stallMs: 0 };
      // The wait also has the time until the server began with the request, which only the wire shows.
      const offMs = Math.max(actual.waitMs - phases.wait, Math.abs(phases.download - actual.stallMs));
      if (offMs > 100)
        expect(measurement.doubtMs, JSON.stringify({ phases, actual })).toBeGreaterThan(offMs / 2);
    }
  });
});
