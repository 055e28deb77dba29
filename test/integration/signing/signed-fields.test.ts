import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Trust } from '../../../src/agent/trust/trust.ts';
import { maskDefinition } from '../../../src/checks/contract/masking.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { isRecord } from '../../../src/lib/json/record.ts';
import { newPrivateKey, publicKeyLine, readPublicKey } from '../../../src/lib/signing/signing-keys.ts';
import { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import { judgeRun, signCheck } from '../../../src/protocol/signing/check-signature.ts';
import {
  contentOf,
  unsignedFields,
  unsignedParts,
  unsignedSpecFields,
} from '../../../src/protocol/signing/signed-run.ts';
import { leasedRun } from '../../helpers/agent/fake-service/leased-run.ts';
import { sampleOf } from '../../helpers/night.ts';
import { quietLogger } from '../../helpers/service/service.ts';
import type { Samples } from '../conformance/samples/samples.ts';

// Whoever leases a run can change nothing that was signed: each field of a lease, and each field of each check type,
// is changed in turn.
const key = newPrivateKey();
const other = newPrivateKey();
const trusted = [readPublicKey(publicKeyLine(key)) ?? expect.fail('not a key')];
const now = Date.parse('2026-11-28T12:00:00Z');
const long = 'x'.repeat(300);

/** A run that has everything a run can have. */
function fullRun(checkType: string, spec: Record<string, unknown>): LeasedRun {
  return leasedRun('', {
    location: { name: 'lab', proxyUrl: 'http://user:word@proxy.test:3128' },
    check: { id: '7d1f3a52-3c5f-4b5e-9d4e-6b1b0f0c2a11', name: 'Shop', checkType, spec },
    variables: { PLACE: 'here', SECRET: 'hidden-1', OPEN: 'account-1', LONG: long },
    secretNames: ['SECRET'],
    lifecycle: {
      setup: [
        { name: 'script of the check', script: long, path: 'a.ts', files: [{ path: 'b.ts', content: 'b' }] },
      ],
      teardown: [{ name: 'script of the group', script: 'late()' }],
    },
    snippets: [{ id: 4, name: 'login', script: long }],
    clientCertificates: [{ host: 'a.test', cert: long, key: 'secret', ca: `${long}a`, passphrase: 'p' }],
    plan: { version: 1, content: {} },
  });
}

function signed(run: LeasedRun, options: { notAfter?: number | null; by?: typeof key } = {}): LeasedRun {
  const { OPEN: _open, ...variables } = run.variables;
  const proxies = [run.location.proxyUrl ?? ''];
  const statement = contentOf({ ...run, variables, proxies }, ['OPEN']);
  const head = { subject: 'shop/home', serial: 7, notAfter: options.notAfter ?? null };
  return { ...run, signature: signCheck({ ...head, ...statement }, options.by ?? key) };
}

/** An agent that has accepted versions of its checks before, and remembers them in memory. */
const agent = new Trust(trusted, {
  clock: { wallMs: () => now },
  log: quietLogger,
  folder: { path: '/nonexistent', tag: 'none' },
});

/** The reason for which a run is refused; undefined if it is accepted. An agent decides the same, whatever it accepted before. */
function reasonOf(run: LeasedRun): string | undefined {
  const [judged, byAgent] = [judgeRun(run, trusted, now), agent.judge(run)];
  const reason = 'distrust' in judged ? judged.distrust.reason : undefined;
  expect('distrust' in byAgent ? byAgent.distrust.reason : undefined).toBe(reason);
  if ('run' in judged && 'run' in byAgent) expect(byAgent.run).toEqual(judged.run);
  return reason;
}

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
};
type Path = readonly (string | number)[];

/** Each field that a schema knows, at any depth. */
function* pathsOf(schema: Schema, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  for (const option of schema.anyOf ?? schema.oneOf ?? [schema]) {
    for (const [name, field] of Object.entries(option.properties ?? {}))
      yield* pathsOf(field, [...path, name]);
    if (option.items) yield* pathsOf(option.items, [...path, 0]);
  }
}

const jsonSchema = (schema: z.ZodType) =>
  z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any', reused: 'inline' }) as Schema;

function valueAt(container: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, part) => (value as Record<string, unknown> | undefined)?.[part],
    container,
  );
}

function withValue(container: unknown, [part, ...rest]: Path, value: unknown): unknown {
  if (part === undefined) return value;
  if (typeof part === 'number') {
    const list = Array.isArray(container) ? [...container] : [];
    list[part] = withValue(list[part], rest, value);
    return list;
  }
  const record = isRecord(container) ? container : {};
  return { ...record, [part]: withValue(record[part], rest, value) };
}

/** Another value than the given one, of the same kind if possible. */
function changed(value: unknown): unknown {
  if (typeof value === 'string') return `${value}?`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return value.length > 0 ? [] : [{ changed: 'it' }];
  return isRecord(value) ? { ...value, changed: 'it' } : { changed: 'it' };
}

const agentTypes = checkTypes.filter(({ pings }) => pings === undefined);

it.each(agentTypes.map((type) => [type.name, type] as const))(
  'signs each field of %s',
  async (_name, type) => {
    const { samples } = (await import(`../conformance/samples/${type.route}.ts`)) as {
      readonly samples: Samples;
    };
    const masked = type.masked ?? [];
    const shown = (whole: Record<string, unknown>) =>
      Object.entries(maskDefinition(masked, whole)).filter(
        ([name]) => !Object.hasOwn(unsignedSpecFields, name),
      );
    const spec = type.spec.parse(samples.minimal) as Record<string, unknown>;
    const run = signed(fullRun(type.name, spec));
    expect(reasonOf(run)).toBeUndefined();
    const paths = [...pathsOf(jsonSchema(type.spec))];
    expect(paths.length).toBeGreaterThan(0);
    let changeCount = 0;
    for (const path of paths) {
      const before = valueAt(spec, path);
      const after = withValue(spec, path, changed(before)) as Record<string, unknown>;
      // The runner gets what the schema reads: unknown keys of an object are dropped there.
      const read = type.spec.safeParse(after);
      const isSame =
        Object.hasOwn(unsignedSpecFields, String(path[0])) ||
        (read.success && isDeepStrictEqual(shown(read.data), shown(spec)));
      const reason = reasonOf({ ...run, check: { ...run.check, spec: after } });
      expect(reason, `${path.join('.')}: ${JSON.stringify(after)}`).toBe(isSame ? undefined : 'CHANGED');
      if (!isSame) changeCount += 1;
    }
    expect(changeCount).toBeGreaterThan(0);
    // A build that does not know a field yet, or fills in its default, reads the same check.
    const { content, digests } = contentOf({ ...run, proxies: [], runtimeId: null }, []);
    for (const name of Object.keys(spec)) {
      const { [name]: _left, ...rest } = spec;
      const read = type.spec.safeParse(rest);
      if (!read.success || !isDeepStrictEqual(read.data, spec)) continue;
      const older = signCheck(
        {
          ...{ subject: `older ${type.name}`, serial: 1, notAfter: null, digests },
          content: { ...content, check: { ...content.check, spec: rest } },
        },
        key,
      );
      expect(
        reasonOf({ ...run, location: { name: '', proxyUrl: null }, signature: older }),
        name,
      ).toBeUndefined();
    }
  },
);

it('signs each field of a lease that no reason excludes', () => {
  const run = signed(fullRun('URL', { request: { url: 'http://a.test/', followRedirects: true } }));
  const excluded = (path: Path) => {
    const [top = '', ...below] = path.map(String);
    if (Object.hasOwn(unsignedFields, top)) return true;
    const parts = Object.hasOwn(unsignedParts, top) ? unsignedParts[top as keyof typeof unsignedParts] : {};
    return below.some((part) => Object.hasOwn(parts, part));
  };
  const paths = [...pathsOf(jsonSchema(LeasedRun.schema)), ['variables', 'PLACE'], ['variables', 'LONG']];
  for (const path of paths) {
    if (path[0] === 'signature') continue;
    const after = withValue(run, path, changed(valueAt(run, path))) as LeasedRun;
    const name = path.join('.');
    // The agent refuses such a lease before it judges the signature.
    if (!LeasedRun.safeParse(after).success) continue;
    if (excluded(path)) expect(reasonOf(after), name).toBeUndefined();
    // Other variables may be added, and are dropped.
    else if (path.length === 1 && path[0] === 'variables') expect(reasonOf(after), name).toBeUndefined();
    else expect(reasonOf(after), name).toBe('CHANGED');
  }
  expect(reasonOf({ ...run, runtimeId: '2025.04' })).toBe('CHANGED');
  expect(reasonOf({ ...run, location: { name: 'lab', proxyUrl: 'http://elsewhere.test:3128' } })).toBe(
    'CHANGED',
  );
  expect(
    reasonOf({ ...run, location: { name: 'lab', proxyUrl: 'http://user:new@proxy.test:3128' } }),
  ).toBeUndefined();
});

it('drops what was not signed, and leaves values to those who own them', () => {
  const run = signed(fullRun('URL', { request: { url: 'http://a.test/' } }));
  const judged = judgeRun(
    {
      ...run,
      variables: { ...run.variables, SECRET: 'rotated', OPEN: 'account-2', NODE_OPTIONS: '--require /tmp/x' },
      snippets: [
        { id: 9, name: 'evil', script: 'evil()' },
        { id: 5, name: 'login', script: 'evil()' },
        ...run.snippets,
      ],
      clientCertificates: [{ host: 'b.test', cert: 'c', key: 'k', ca: 'ca' }, ...run.clientCertificates],
    },
    trusted,
    now,
  );
  expect(judged).toMatchObject({
    run: {
      variables: { PLACE: 'here', SECRET: 'rotated', OPEN: 'account-2', LONG: long },
      snippets: run.snippets,
      clientCertificates: run.clientCertificates,
      plan: null,
    },
    statement: { subject: 'shop/home', serial: 7 },
  });
  expect(JSON.stringify(judged)).not.toMatch(/NODE_OPTIONS|evil/);
  // A signature is short, and holds no secret.
  const payload = Buffer.from(run.signature?.split('.')[1] ?? '', 'base64url').toString();
  expect(payload).not.toMatch(/hidden-1|account-1|:word@|"secret"|xxx/);
});

it('signs which secret of a location a variable gets, so that the service can lead no other one into a run', () => {
  const bare = {
    ...fullRun('URL', { request: { url: 'http://a.test/' } }),
    variables: { OPEN: 'account-1' },
  };
  const { OPEN: _open, ...variables } = bare.variables;
  const run = signed({ ...bare, variables, valuesFrom: { OPEN: 'SERVICE_SECRET_A' } });
  expect(reasonOf(run)).toBeUndefined();
  expect(reasonOf({ ...run, valuesFrom: { OPEN: 'SERVICE_SECRET_B' } })).toBe('CHANGED');
  expect(reasonOf({ ...signed(bare), valuesFrom: { OPEN: 'SERVICE_SECRET_A' } })).toBe('CHANGED');
  // Its value is the service's to decide, as that of each variable of the account.
  expect(reasonOf({ ...run, valuesFrom: {}, variables: bare.variables })).toBeUndefined();
  // A variable that was not signed reaches no run, whatever its value is.
  const added = { ...run, valuesFrom: { ...run.valuesFrom, NODE_OPTIONS: 'SERVICE_SECRET_B' } };
  expect(judgeRun(added, trusted, now)).toMatchObject({ run: { valuesFrom: { OPEN: 'SERVICE_SECRET_A' } } });
  const judged = judgeRun(added, trusted, now);
  expect(JSON.stringify('run' in judged ? judged.run.valuesFrom : '')).not.toContain('SERVICE_SECRET_B');
});

it('refuses unsigned checks, unknown keys, and signatures whose time is over', () => {
  const run = fullRun('URL', { request: { url: 'http://a.test/' } });
  expect(reasonOf(run)).toBe('UNSIGNED');
  expect(reasonOf(signed(run, { by: other }))).toBe('UNKNOWN_KEY');
  expect(reasonOf(signed(run, { notAfter: now + 1 }))).toBeUndefined();
  expect(reasonOf(signed(run, { notAfter: now }))).toBe('EXPIRED');
  const untilToday = readPublicKey(publicKeyLine(key, '2026-11-28')) ?? expect.fail('not a key');
  const reasonAt = (at: number) => judgeRun(signed(run), [untilToday], at);
  expect(reasonAt(Date.parse('2026-11-28T23:59:59Z'))).toHaveProperty('run');
  expect(reasonAt(Date.parse('2026-11-29T00:00:00Z'))).toMatchObject({ distrust: { reason: 'EXPIRED' } });
  // Another key of the same id: the header is signed, too.
  const [, payload, signature] = signed(run).signature?.split('.') ?? [];
  const [header] = signed(run, { by: other }).signature?.split('.') ?? [];
  expect(reasonOf({ ...run, signature: `${header}.${payload}.${signature}` })).toBe('UNKNOWN_KEY');
});

it('accepts no text that its key did not sign, whatever it is', () => {
  const run = signed(fullRun('URL', { request: { url: 'http://a.test/' } }));
  const text = run.signature ?? '';
  const letters = [...'ABCdef019-_.'];
  const edited = fc
    .tuple(fc.nat(text.length - 1), fc.constantFrom(...letters))
    .map(([at, letter]) => `${text.slice(0, at)}${letter}${text.slice(at + 1)}`);
  fc.assert(
    fc.property(fc.oneof(edited, fc.string(), fc.base64String()), (signature) => {
      // The last letter of base64url has bits that mean nothing.
      const isSame = Buffer.from(signature.split('.')[2] ?? '', 'base64url').equals(
        Buffer.from(text.split('.')[2] ?? '', 'base64url'),
      );
      const isSameBody = signature.split('.').slice(0, 2).join() === text.split('.').slice(0, 2).join();
      const isAccepted = reasonOf({ ...run, signature }) === undefined;
      expect(isAccepted).toBe(isSame && isSameBody);
    }),
    {
      numRuns: sampleOf(
        Array.from({ length: 20_000 }, (_, index) => index),
        300,
      ).length,
    },
  );
});
