import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runTcp } from '../../../src/checks/tcp/run.ts';
import { TcpSpec } from '../../../src/checks/tcp/spec.ts';
import { importBlackbox } from '../../../src/extras/importers/blackbox/blackbox.ts';
import { freePort } from '../../helpers/free-port.ts';
import { answersOk } from '../../helpers/picket-process.ts';
import { runContext } from '../../helpers/run-context.ts';
import { temporaryFolder } from '../../helpers/service/service.ts';
import { createAuthority } from '../../helpers/targets/certificates.ts';
import { type LineScript, startLineServer } from '../../helpers/targets/line-server.ts';
import { closedPort } from '../../helpers/targets/tcp-target.ts';

const program = 'prometheus-blackbox-exporter';
const isThere = spawnSync(program, ['--version']).error === undefined;

/** A step of `query_response`; `picket import` derives ours from it. */
type Line =
  | { readonly expect?: string; readonly send: string }
  | { readonly expect: string }
  | { readonly starttls: true };
interface Case {
  /** null: the port is closed. */
  readonly script: LineScript | null;
  readonly lines: readonly Line[];
  readonly serverName?: string;
}

const authority = await createAuthority();
const identity = await authority.issue();
const mail: LineScript = {
  identity,
  greeting: '220-mail.example\r\n220 ESMTP ready 4711\r\n',
  answers: [
    [/^EHLO/, () => '250-mail.example\r\n250-STARTTLS\r\n250 SIZE\r\n'],
    [/^STARTTLS$/, () => '220 go ahead\r\n'],
    [/^NOOP (.*)$/, ([, word]) => `250 ${word}\r\n`],
    [/^QUIT$/, () => '221 bye\r\n'],
  ],
};
const redis: LineScript = {
  answers: [
    [/^PING$/, () => '+PONG\r\n'],
    [/^AUTH/, () => '-ERR wrong password\r\n'],
  ],
};
const ssh: LineScript = { greeting: 'SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n' };
const upgrade: Line[] = [
  { expect: '^220 ' },
  { send: 'EHLO picket.invalid' },
  { expect: '^250-STARTTLS' },
  { expect: '^250 ' },
  { send: 'STARTTLS' },
  { expect: '^220' },
  { starttls: true },
];

const cases: Readonly<Record<string, Case>> = {
  'a banner': { script: ssh, lines: [{ expect: '^SSH-2.0-' }] },
  'a banner of another version': { script: ssh, lines: [{ expect: '^SSH-1' }] },
  'the second line of a banner': { script: mail, lines: [{ expect: '^220 ' }] },
  'a part of a line': { script: mail, lines: [{ expect: 'ESMTP' }] },
  'an answer': { script: redis, lines: [{ send: 'PING' }, { expect: '^\\+PONG' }] },
  'an answer that is an error': { script: redis, lines: [{ send: 'AUTH x' }, { expect: '^\\+OK' }] },
  'a question that nobody answers': { script: redis, lines: [{ send: 'WHAT' }, { expect: '.' }] },
  silence: { script: {}, lines: [{ expect: '.' }] },
  'two questions': {
    script: mail,
    lines: [
      { expect: '^220 ' },
      { send: 'EHLO a' },
      { expect: '^250 ' },
      { send: 'QUIT' },
      { expect: '^221' },
    ],
  },
  'steps in another order': { script: mail, lines: [{ expect: '^220 ' }, { expect: '^220-' }] },
  'a server that is too busy': {
    script: { greeting: '421 too busy\r\n', isBrief: true },
    lines: [{ expect: '^220' }],
  },
  'a server that ends after its greeting': {
    script: { greeting: '220 welcome\r\n', isBrief: true },
    lines: [{ expect: '^220' }],
  },
  'a server that ends at once': { script: { isBrief: true }, lines: [{ expect: '.' }] },
  'TLS in the middle': {
    script: mail,
    lines: [...upgrade, { send: 'NOOP hello' }, { expect: '^250 hello' }],
    serverName: 'localhost',
  },
  'what the server said, said again': {
    script: mail,
    lines: [
      { expect: '^220 (?P<kind>\\w+) ready (\\d+)', send: 'NOOP ${kind}-$2-$$' },
      { expect: '^250 ESMTP-4711-\\$' },
    ],
  },
  'TLS for another name': { script: mail, lines: upgrade, serverName: 'other.example' },
  'TLS where none is spoken': { script: redis, lines: [{ starttls: true }], serverName: 'localhost' },
  nobody: { script: null, lines: [{ expect: '.' }] },
};
const timeoutMs = 2500;

describe.skipIf(!isThere && process.env.CI !== 'true')('dialogues, as in blackbox_exporter', () => {
  it('pass and fail for the same targets', async () => {
    setDefaultCACertificates([authority.cert]);
    const folder = temporaryFolder();
    const ca = join(folder.path, 'ca.pem');
    writeFileSync(ca, authority.cert);
    const modules = Object.entries(cases).map(([, { lines, serverName }], index) => [
      `dialogue${index}`,
      {
        prober: 'tcp',
        timeout: `${timeoutMs}ms`,
        tcp: {
          preferred_ip_protocol: 'ip4',
          query_response: lines,
          ...(serverName && { tls_config: { ca_file: ca, server_name: serverName } }),
        },
      },
    ]);
    const config = join(folder.path, 'blackbox.yml');
    const configuration = { modules: Object.fromEntries(modules) };
    writeFileSync(config, stringify(configuration));
    const port = await freePort();
    const peer = spawn(
      program,
      [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const ended = once(peer, 'exit');
    try {
      while (!(await answersOk(`http://127.0.0.1:${port}/-/healthy`))) {
        if (peer.exitCode !== null) throw new Error('blackbox_exporter ended');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const verdicts = await Promise.all(
        Object.entries(cases).map(async ([name, { script }], index) => {
          const server = script ? await startLineServer(script) : undefined;
          const target = server?.port ?? (await closedPort());
          const address = `127.0.0.1:${target}`;
          const module = `dialogue${index}`;
          const targets = [{ targets: [address], labels: { module } }];
          const { definitions } = importBlackbox({ modules: configuration, targets }, { location: 'main' });
          const { request } = definitions[0]?.fields ?? {};
          const { failure } = await runTcp(TcpSpec.parse({ request }), runContext({ timeoutMs }));
          const query = new URLSearchParams({ module, target: address });
          const answer = await (await fetch(`http://127.0.0.1:${port}/probe?${query}`)).text();
          await server?.close();
          return [name, failure === undefined, /^probe_success 1$/m.test(answer)] as const;
        }),
      );
      expect(verdicts.filter(([, ours]) => ours).length).toBeGreaterThan(6);
      expect(verdicts.filter(([, ours, theirs]) => ours !== theirs)).toEqual([]);
    } finally {
      peer.kill('SIGKILL');
      await ended;
      folder.remove();
    }
  });
});
