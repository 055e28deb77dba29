import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { fillMasked, maskDefinition } from '@picket/checks/contract/masking.ts';
import { findCheckType } from '@picket/checks/index.ts';
import { isRecord } from '@picket/lib/json/record.ts';
import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { withoutPassword } from '@picket/lib/text.ts';
import { z } from 'zod';
import { LeasedRun } from '../agent/agent.ts';

/**
 * Fields of a leased run that a signature does not cover, each with the reason why a change of it does not
 * make an agent do something else. Every other field is signed, so a new field is signed unless it is named here.
 */
export const unsignedFields = {
  runId: 'identifies the run',
  leaseNumber: 'identifies the lease',
  resultId: 'identifies the result',
  slotAt: 'schedule',
  attempt: 'schedule',
  mayBeRetried: 'schedule',
  mayReportLater: 'says when the result is sent',
  sequenceId: 'identifies the run',
  checkRunId: 'identifies the run',
  accountId: 'identifies the account',
  secretNames: 'names values that results must hide; the service knows these values',
  updatesSnapshots: 'results of a test session then contain screenshots instead of comparing them',
  plan: 'agents that run only signed checks ignore it',
  isTestSession: 'sets the variable CI',
  signature: 'is the signature',
} as const satisfies Partial<Record<keyof LeasedRun, string>>;

/** Parts of signed fields that a signature does not cover, and why. */
export const unsignedParts = {
  check: { id: 'identifies the check', name: 'is for people' },
  location: { name: 'says where the check runs' },
  snippets: { id: 'scripts name snippets by name' },
  clientCertificates: { key: 'is a secret', passphrase: 'is a secret' },
} as const;

/** Fields of types that replace common fields of a check, and say when and where it runs. */
export const unsignedSpecFields = { frequency: 'schedule', locations: 'says where the check runs' } as const;

const omitted = <Keys extends object>(keys: Keys) =>
  Object.fromEntries(Object.keys(keys).map((key) => [key, true])) as { [Key in keyof Keys]: true };

/** Content of a signature: the signed fields, without values that are not the signer's to decide. */
const SignedContent = lazySchema(() => {
  const { shape } = LeasedRun;
  const Location = shape.location.omit(omitted(unsignedParts.location));
  return LeasedRun.schema.omit({ ...omitted(unsignedFields), location: true }).extend({
    check: shape.check.omit(omitted(unsignedParts.check)),
    variables: z
      .record(z.string(), z.string().nullable())
      .describe('The variables that the run gets. null: the service may set any value, as for secrets'),
    runtimeId: z.string().nullable().describe('null: the default of the service'),
    snippets: z.array(shape.snippets.unwrap().element.omit(omitted(unsignedParts.snippets))),
    clientCertificates: z.array(
      shape.clientCertificates.unwrap().element.omit(omitted(unsignedParts.clientCertificates)),
    ),
    proxies: z
      .array(Location.shape.proxyUrl.unwrap())
      .describe('The proxies of locations that runs may use, without passwords'),
  });
});
type SignedContent = z.output<typeof SignedContent.schema>;

/** The part of a run that its signer knows: what decides what an agent does. */
export interface RunToSign
  extends Pick<
      LeasedRun,
      'variables' | 'secretNames' | 'valuesFrom' | 'lifecycle' | 'snippets' | 'clientCertificates'
    >,
    Pick<SignedContent, 'check' | 'proxies' | 'runtimeId'> {}

/** Statement of the signer of a check. Strict: an agent must not overlook a restriction that it does not know. */
export const Statement = lazySchema(() =>
  z.strictObject({
    subject: z.string().min(1).max(600).describe('Name of the check: PROJECT:CHECK'),
    serial: z
      .int()
      .min(1)
      .describe(
        'Version of the check: when it was signed, in milliseconds since 1970 by the clock of the signer',
      ),
    notAfter: z.int().min(1).nullable().describe('Milliseconds since 1970; from then on it is not valid'),
    content: SignedContent.schema,
    digests: z
      .record(z.string().max(1000), z.string().regex(/^[0-9a-f]{64}$/))
      .describe(
        'SHA-256 of the long texts of the content, by JSON pointer (RFC 6901); the content has "" there',
      ),
  }),
);
export type Statement = z.output<typeof Statement.schema>;

type SignedTexts = Pick<Statement, 'content' | 'digests'>;

/** Longer texts are signed by their digest, so that a signature is short. */
const maxTextLength = 200;
const maxNamedFields = 20;
const maxPathLength = 200;

/**
 * Makes the content of a signature.
 *
 * @param open names of variables whose values others set later, such as those of the account.
 */
export function contentOf(run: RunToSign, open: readonly string[]): Pick<Statement, 'content' | 'digests'> {
  const hidden = new Set(run.secretNames);
  const closed = Object.entries(run.variables).map(([name, value]) => [
    name,
    hidden.has(name) ? null : value,
  ]);
  const content = SignedContent.parse({
    ...run,
    proxies: run.proxies.map(withoutPassword),
    check: { ...run.check, spec: shownSpec(run.check) },
    variables: { ...Object.fromEntries(open.map((name) => [name, null])), ...Object.fromEntries(closed) },
  });
  const digests: Record<string, string> = {};
  const short = mapTexts(plain(content), '', (text, pointer) => {
    if (text.length <= maxTextLength) return text;
    digests[pointer] = digestOf(text);
    return '';
  });
  return { content: short as SignedContent, digests };
}

/** The fields of a leased run that are judged: the signed ones, and the signature. */
export type JudgedRun = Omit<LeasedRun, Exclude<keyof typeof unsignedFields, 'signature'>>;

/** Everything of a run that its judgement depends on, as one text. */
export function judgedText(run: JudgedRun): string {
  const judged = Object.entries(run).filter(
    ([key]) => key === 'signature' || !Object.hasOwn(unsignedFields, key),
  );
  return JSON.stringify(judged);
}

/** A run compared with what was signed. */
interface Comparison<Run> {
  /** Fields that differ, as their paths; empty if the run is the signed one. */
  readonly changed: readonly string[];
  /** The run without everything that was not signed. */
  readonly run: Run;
}

/** Compares a run with a statement. Both are read by the schemas of this build, so a field that one side does not know counts as its default. */
export function compareWithSigned<Run extends JudgedRun>(statement: Statement, run: Run): Comparison<Run> {
  const { content, digests } = statement;
  const actual = plain(asSigned(statement, run));
  const changed: string[] = [];
  const signed = mapTexts(plain(content), '', (text, pointer) => {
    const digest = Object.hasOwn(digests, pointer) ? digests[pointer] : undefined;
    if (digest === undefined) return text;
    const found = valueAt(actual, pointer);
    if (typeof found === 'string' && digestOf(found) === digest) return found;
    changed.push(pointer.slice(1).replaceAll('/', '.'));
    return text;
  }) as SignedContent;
  if (changed.length === 0) {
    changed.push(...differences(normal(signed, run), normal(SignedContent.parse(actual), run), ''));
  }
  return { changed: changed.slice(0, maxNamedFields).map(shortPath), run: restrictedTo(statement, run) };
}

/** A run in the form of a statement, in the order of the statement. */
function asSigned(statement: SignedTexts, run: JudgedRun): object {
  const { content } = statement;
  const proxy = run.location.proxyUrl === null ? undefined : withoutPassword(run.location.proxyUrl);
  const kept = Object.entries(run).filter(
    ([key]) => !Object.hasOwn(unsignedFields, key) && key !== 'location',
  );
  return {
    ...Object.fromEntries(kept),
    check: { ...without(run.check, unsignedParts.check), spec: shownSpec(run.check) },
    variables: Object.fromEntries(
      Object.entries(content.variables).map(([name, value]) => [
        name,
        value === null || !Object.hasOwn(run.variables, name) ? null : run.variables[name],
      ]),
    ),
    valuesFrom: { ...replacedValues(content, run), ...namedValues(content, run) },
    runtimeId: content.runtimeId === null ? null : run.runtimeId,
    snippets: signedSnippets(statement, run).map((one) => without(one, unsignedParts.snippets)),
    clientCertificates: signedCertificates(statement, run).map((one) =>
      without(one, unsignedParts.clientCertificates),
    ),
    proxies: proxy === undefined || content.proxies.includes(proxy) ? content.proxies : [proxy],
  };
}

/** The run with the variables, snippets and certificates that were signed, and without the plan of earlier runs. */
export function restrictedTo<Run extends JudgedRun>(statement: SignedTexts, run: Run): Run {
  return {
    ...run,
    variables: Object.fromEntries(
      Object.entries(run.variables).filter(([name]) => Object.hasOwn(statement.content.variables, name)),
    ),
    valuesFrom: namedValues(statement.content, run),
    snippets: signedSnippets(statement, run),
    clientCertificates: signedCertificates(statement, run),
    ...('plan' in run ? { plan: null } : {}),
  };
}

/** Secrets of the location as the values of signed variables: which secret a variable gets is signed. */
function namedValues({ variables }: SignedContent, { valuesFrom }: JudgedRun): LeasedRun['valuesFrom'] {
  return Object.fromEntries(Object.entries(valuesFrom).filter(([name]) => Object.hasOwn(variables, name)));
}

/** Signed ones that the service replaced by a value of its own, as it may for each variable of the account. */
function replacedValues(content: SignedContent, { variables }: JudgedRun): LeasedRun['valuesFrom'] {
  const { valuesFrom = {} } = content;
  return Object.fromEntries(Object.entries(valuesFrom).filter(([name]) => Object.hasOwn(variables, name)));
}

function signedSnippets({ content, digests }: SignedTexts, run: JudgedRun): LeasedRun['snippets'] {
  return content.snippets.flatMap(({ name, script }, index) => {
    const at = `/snippets/${index}`;
    const isSigned = (one: LeasedRun['snippets'][number]) =>
      isText(one.name, name, digests[`${at}/name`]) && isText(one.script, script, digests[`${at}/script`]);
    return run.snippets.find(isSigned) ?? [];
  });
}

function signedCertificates(
  { content, digests }: SignedTexts,
  run: JudgedRun,
): LeasedRun['clientCertificates'] {
  return content.clientCertificates.flatMap(({ host, cert, ca }, index) => {
    const at = `/clientCertificates/${index}`;
    const isSigned = (one: LeasedRun['clientCertificates'][number]) =>
      one.host === host &&
      isText(one.cert, cert, digests[`${at}/cert`]) &&
      isText(one.ca ?? '', ca ?? '', digests[`${at}/ca`]);
    return run.clientCertificates.find(isSigned) ?? [];
  });
}

function isText(text: string, signed: string, digest: string | undefined): boolean {
  return digest === undefined ? text === signed : digestOf(text) === digest;
}

/** The content as the schemas of this build read it: defaults of fields that its author did not know are filled in. */
function normal(content: SignedContent, run: JudgedRun): SignedContent {
  const { spec, checkType } = content.check;
  const type = findCheckType(checkType);
  const masked = type?.masked ?? [];
  // Values that the service hides may be required: the schema gets those of the run, and they are hidden again.
  const parsed = type?.spec.safeParse(fillMasked(masked, spec, run.check.spec));
  if (!parsed?.success) return content;
  return {
    ...content,
    check: { ...content.check, spec: plain(shownSpec({ checkType, spec: parsed.data })) },
  };
}

function shownSpec({
  checkType,
  spec,
}: Pick<LeasedRun['check'], 'checkType' | 'spec'>): LeasedRun['check']['spec'] {
  const masked = maskDefinition(findCheckType(checkType)?.masked ?? [], spec);
  return Object.fromEntries(
    Object.entries(masked).filter(([key]) => !Object.hasOwn(unsignedSpecFields, key)),
  );
}

function differences(signed: unknown, actual: unknown, path: string): string[] {
  if (isDeepStrictEqual(signed, actual)) return [];
  if (!isRecord(signed) || !isRecord(actual)) return [path];
  return [...new Set([...Object.keys(signed), ...Object.keys(actual)])].flatMap((key) =>
    differences(signed[key], actual[key], path === '' ? key : `${path}.${key}`),
  );
}

/** Users know the fields of a type without the place where a lease has them. */
function shortPath(path: string): string {
  return path.replace(/^check\.(?:spec\.)?/, '').slice(0, maxPathLength);
}

function without(value: object, keys: object): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !Object.hasOwn(keys, key)));
}

function mapTexts(value: unknown, pointer: string, map: (text: string, pointer: string) => string): unknown {
  if (typeof value === 'string') return map(value, pointer);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, `${pointer}/${index}`, map));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      mapTexts(child, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, map),
    ]),
  );
}

function valueAt(container: unknown, pointer: string): unknown {
  return pointer
    .slice(1)
    .split('/')
    .reduce<unknown>((value, part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined;
    }, container);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A copy as JSON has it: without undefined values. */
function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
