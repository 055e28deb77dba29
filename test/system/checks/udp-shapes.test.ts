import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UdpDetail } from '../../../src/checks/udp/detail.ts';
import { sampleOf } from '../../helpers/night.ts';
import { type DiagnosedRun, diagnosedRuns } from '../../helpers/wire/diagnosed-runs.ts';
import { whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';
import { addressOf, addressOf6, RouteLab, shapes, shapes6 } from '../../helpers/wire/route-lab.ts';

const reason = whyNoNamespaces();
const programOf = (name: string) => new URL(`../../helpers/wire/${name}`, import.meta.url).pathname;

/** The ports of the servers, and a closed one. */
const ports = {
  echo: 7001,
  silent: 7002,
  empty: 7003,
  largest: 7004,
  second: 7005,
  other: 7006,
  twice: 7007,
  closed: 7999,
};
const byShape = (names: Readonly<Record<string, number>>, address: (last: number) => string) =>
  Object.entries(names).flatMap(([shape, last]) =>
    (['echo', 'closed'] as const).map((port) => ({ name: `${shape} ${port}`, address: address(last), port })),
  );
const all = [
  ...Object.keys(ports).map((port) => ({
    ...{ name: `plain ${port}`, address: addressOf(shapes.plain), port: port as keyof typeof ports },
  })),
  ...byShape(shapes, addressOf),
  ...byShape(shapes6, addressOf6),
];
const cases = sampleOf(all, 24);
const addresses = [...new Set(cases.map(({ address }) => address))];

/** A reply, silence, or the kernel's name for the error. */
function verdictOf({ failure, detail }: DiagnosedRun): string {
  if (!failure) return `answer ${UdpDetail.parse(detail).response?.data?.slice(0, 10)}`;
  if (failure.code === 'RESPONSE_TIMEOUT') return 'silence';
  return /\bE[A-Z]{4,}\b/.exec(failure.message)?.[0] ?? failure.message;
}

describe.skipIf(reason)(`UDP monitors${reason ? ` (${reason})` : ''}`, () => {
  let lab: RouteLab;
  let folder: string;
  beforeAll(() => {
    lab = new RouteLab();
    folder = mkdtempSync(join(tmpdir(), 'picket-udp-'));
  });
  afterAll(() => {
    lab[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  it(`finds the same as another program, ${cases.length} times`, async () => {
    const [command = '', ...args] = lab.commandOn('target', [
      'python3',
      programOf('udp-servers.py'),
      ...addresses,
    ]);
    const servers = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(servers, 'exit');
    try {
      await once(servers.stdout, 'data');
      const targets = cases.map(({ address, port }) => `${address} ${ports[port]}`);
      const [program = '', ...words] = lab.commandOn('agent', [
        'python3',
        programOf('udp-client.py'),
        ...targets,
      ]);
      const { stdout } = await promisify(execFile)(program, words);
      const theirs = JSON.parse(stdout) as string[];
      const requests = cases.map(({ address, port }) => ({
        ...{ hostname: address, port: ports[port], data: 'hello', attemptTimeoutMs: 1500 },
        ipFamily: address.includes(':') ? 'IPv6' : 'IPv4',
      }));
      const order = { checkType: 'UDP', requests, isConcurrent: true, timeoutMs: 20_000 } as const;
      const ours = await diagnosedRuns(order, { folder, lab, rights: 'without-capabilities' });
      const all = cases.map(({ name, address }, index) => {
        const run = ours[index];
        return { name: `${name} ${address}`, ours: run && verdictOf(run), theirs: theirs[index] };
      });
      expect(all.filter((one) => one.ours !== one.theirs)).toEqual([]);
      const found = new Set(ours.map(({ failure }) => failure && `${failure.code} ${failure.owner}`));
      expect(found).toEqual(
        new Set([
          undefined,
          'CONNECTION_REFUSED target',
          'CONNECTION_RESET target',
          'HOST_UNREACHABLE target',
          'NETWORK_UNAVAILABLE location',
          'RESPONSE_TIMEOUT target',
        ]),
      );
    } finally {
      servers.kill('SIGKILL');
      await ended;
    }
  });
});
