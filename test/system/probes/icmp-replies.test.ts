import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EchoAnswer } from '../../../src/probes/icmp/echo/answers.ts';
import { type BackendChoice, IcmpProcess, type Rights } from '../../helpers/wire/icmp-process.ts';
import { NetworkLab, whyNoNamespaces } from '../../helpers/wire/network-namespaces.ts';

const reason = whyNoNamespaces();
const responder = new URL('../../helpers/wire/echo-responder-main.ts', import.meta.url).pathname;

const kinds = (answers: readonly EchoAnswer[]) => answers.map(({ kind }) => kind);
const rttOf = (answer: EchoAnswer | undefined) => (answer?.kind === 'reply' ? answer.rttMs : Number.NaN);

describe.skipIf(reason)(`ICMP replies of a strange host${reason ? ` (${reason})` : ''}`, () => {
  let lab: NetworkLab;

  beforeAll(() => {
    lab = new NetworkLab();
    lab.exec('target', 'sysctl -qw net.ipv4.icmp_echo_ignore_all=1');
  });
  afterAll(() => lab[Symbol.dispose]());

  describe.each<[string, Rights, string, BackendChoice]>([
    ['datagram sockets', 'without-capabilities', '0\t2147483647', 'best'],
    ['raw sockets', 'root', '1\t0', 'best'],
    ['net-ping', 'root', '1\t0', 'net-ping'],
  ])('%s', (_name, rights, groupRange, backend) => {
    let icmp: IcmpProcess;

    beforeAll(async () => {
      lab.exec('agent', `sysctl -qw net.ipv4.ping_group_range=${groupRange}`);
      icmp = await IcmpProcess.start(lab, rights, backend);
    });
    afterAll(() => icmp.end());

    /** Sends a request for each word of the plan, 20 ms apart, and waits 300 ms for each reply. */
    async function pingWith(...plan: string[]): Promise<readonly EchoAnswer[]> {
      const [command = '', ...words] = lab.commandOn('target', [process.execPath, responder, ...plan]);
      const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] });
      const exit = once(child, 'exit');
      await once(createInterface({ input: child.stdout }), 'line');
      const answers = await icmp.ping({ address: '10.80.2.1', count: plan.length, intervalMs: 20 });
      await exit;
      return answers;
    }

    it('counts a request once if it has two replies', async () => {
      expect(kinds(await pingWith('twice', 'twice', 'silent', 'once'))).toEqual([
        'reply',
        'reply',
        'silence',
        'reply',
      ]);
    });

    it('assigns replies in another order to their requests', async () => {
      const answers = await pingWith('after-next', 'once', 'once');
      expect(kinds(answers)).toEqual(['reply', 'reply', 'reply']);
      expect(rttOf(answers[1])).toBeLessThan(rttOf(answers[0]));
    });

    it('does not count a late reply, and assigns it to no other request', async () => {
      expect(kinds(await pingWith('late:450', 'late:150', 'once'))).toEqual(['silence', 'reply', 'reply']);
      expect(kinds(await pingWith('once', 'once'))).toEqual(['reply', 'reply']);
    });

    it.each(['other-token', 'other-sequence', 'other-identifier', 'short', 'other-source'])(
      'accepts no reply as its own with the wrong content: %s',
      async (manner) => {
        expect(kinds(await pingWith('once', manner, 'once'))).toEqual(['reply', 'silence', 'reply']);
      },
    );

    // The library does not report replies that it discards.
    if (backend === 'net-ping') return;
    it.each([
      ['other-token', 'ignored a reply with different data'],
      ['short', 'ignored a reply with different data'],
      ['other-source', 'a reply came from 10.80.2.9, which is not the target'],
      ['other-sequence', undefined],
    ])('explains why a reply does not count: %s', async (manner, remark) => {
      const [answer] = await pingWith(manner);
      expect(answer).toEqual({ kind: 'silence', sequence: 0, ...(remark && { remark }) });
    });
  });
});
