import { describe, expect, it } from 'vitest';
import { loadRunner } from '../../../src/checks/ntp/run.ts';
import { NtpSpec } from '../../../src/checks/ntp/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { startChrony, whyNoChrony } from '../../helpers/targets/chrony.ts';

const reason = whyNoChrony();

const run = async (port: number, rest: object = {}) => {
  const spec = NtpSpec.parse({ ...rest, request: { hostname: '127.0.0.1', port, attempts: 5 } });
  return await (await loadRunner())(spec, runContext({ timeoutMs: 30_000 }));
};

describe.skipIf(reason !== null)(`an NTP monitor of chrony${reason ? ` (${reason})` : ''}`, () => {
  it('finds the same clock, because it runs on this host', async () => {
    await using server = await startChrony(['local stratum 5']);
    const { failure, detail } = await run(server.port);
    expect(failure).toBeUndefined();
    const { stratum, leap, offsetMs, errorBoundMs, referenceId } = detail.response?.time ?? {};
    expect({ stratum, leap, referenceId }).toEqual({ stratum: 5, leap: 'none', referenceId: '127.127.1.1' });
    expect(Math.abs(offsetMs ?? Number.NaN)).toBeLessThan(errorBoundMs ?? 0);
  });

  it('fails while its clock is not synchronized', async () => {
    await using server = await startChrony([]);
    const { failure, detail } = await run(server.port);
    expect(failure).toMatchObject({ code: 'REQUEST_REFUSED', owner: 'target' });
    expect(detail.response?.time).toMatchObject({ leap: 'unsynchronized', offsetMs: null });
  });
});
