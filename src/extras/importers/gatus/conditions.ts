import { dictionary } from '@picket/lib/names/dictionary.ts';
import type { Assertion } from '../collection.ts';
import { secondsOf } from '../go-formats.ts';

/** Result for a condition: assertions, none if a check implies it, or the reason why it is lost. */
export type Condition =
  | { readonly assertions: readonly Assertion[] }
  | { readonly isFailure: true }
  | { readonly lost: string };

/** Assertion sources that replace the placeholders of conditions for a check type. */
export interface Placeholders {
  readonly checkType: string;
  readonly body: Pick<Assertion, 'source'> | undefined;
  readonly json: boolean;
  readonly time: Pick<Assertion, 'source' | 'property'>;
  /** The source for comparisons with the status, if the body is only a status. */
  readonly status?: Pick<Assertion, 'source'>;
  /** Facts about the connection itself. */
  readonly connection:
    | {
        readonly certificateDays: Pick<Assertion, 'source' | 'property'>;
        readonly address: Pick<Assertion, 'source' | 'property'>;
      }
    | undefined;
}

const operators = dictionary<string>({
  '==': 'EQUALS',
  '!=': 'NOT_EQUALS',
  '<': 'LESS_THAN',
  '>': 'GREATER_THAN',
});

/** Converts one condition, such as `[BODY].status == UP`, to assertions. */
export function readCondition(text: string, placeholders: Placeholders): Condition {
  const [, left = '', operator = '', right = ''] =
    /^\s*(.*?)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*$/.exec(text) ?? [];
  if (operator === '') return { lost: 'it is not a comparison that Gatus documents' };
  if (/^any\(/.test(left) || /^any\(/.test(right))
    return { lost: 'assertions cannot match "one of several values"' };
  if (/\[[A-Z_]+\]/.test(right)) return { lost: 'assertions compare with a fixed value' };
  const has = /^has\((.*)\)$/.exec(left)?.[1];
  if (has !== undefined) return presence(has, operator, right, placeholders);
  const counted = /^len\((.*)\)$/.exec(left)?.[1];
  const [, name = '', path = ''] = /^\[([A-Z_]+)\](.*)$/.exec(counted ?? left) ?? [];
  if (counted !== undefined && name !== 'BODY') return { lost: 'only lengths in the body can be compared' };
  switch (name) {
    case 'CONNECTED':
      return connected(operator, right);
    case 'STATUS':
      return number({ source: 'STATUS_CODE' }, operator, Number(right));
    case 'RESPONSE_TIME':
      return number(placeholders.time, operator, milliseconds(right));
    case 'CERTIFICATE_EXPIRATION':
      if (!placeholders.connection) break;
      return days(placeholders.connection.certificateDays, operator, right);
    case 'IP':
      if (!placeholders.connection) break;
      return compared(placeholders.connection.address, operator, right);
    case 'DNS_RCODE':
      if (placeholders.checkType !== 'DNS') break;
      return compared({ source: 'RESPONSE_CODE' }, operator, right);
    case 'BODY':
      return body(path, counted !== undefined, operator, right, placeholders);
    case 'DOMAIN_EXPIRATION':
      return { lost: 'the expiry of a domain is a check of its own: a domain monitor' };
    default:
      return { lost: 'Picket has no assertion on it' };
  }
  return { lost: `checks of type ${placeholders.checkType} have no assertion on it` };
}

function connected(operator: string, right: string): Condition {
  if (right !== 'true' && right !== 'false') return { lost: 'it is not compared with true or false' };
  const isWanted = (operator === '==') === (right === 'true');
  return isWanted ? { assertions: [] } : { isFailure: true };
}

function body(
  path: string,
  isLength: boolean,
  operator: string,
  right: string,
  { body: text, json, status }: Placeholders,
): Condition {
  if (status && path === '.status') return compared(status, operator, right);
  if (path !== '' || isLength) {
    if (!json) return { lost: 'checks of this type do not parse JSON bodies' };
    const property = `$${path}${isLength ? '.length' : ''}`;
    const target = isLength ? { source: 'JSON_BODY', property } : { source: 'JSON_BODY', property };
    return isLength ? number(target, operator, Number(right)) : compared(target, operator, right);
  }
  if (!text) return { lost: 'the check has no body' };
  return compared(text, operator, right);
}

/** Equality, also with a pattern where `*` matches anything. */
function compared(of: Pick<Assertion, 'source' | 'property'>, operator: string, right: string): Condition {
  const pattern = /^pat\((.*)\)$/.exec(right)?.[1];
  if (pattern === undefined) {
    const comparison = operators[operator];
    if (!comparison) return number(of, operator, Number(right));
    return { assertions: [{ ...of, comparison, target: right }] };
  }
  const inner = pattern.replace(/^\*+/, '').replace(/\*+$/, '');
  const isContained = pattern.startsWith('*') && pattern.endsWith('*') && !/[*?[\]]/.test(inner);
  if (isContained && inner === '') return { assertions: [] };
  if (isContained) {
    return {
      assertions: [{ ...of, comparison: operator === '==' ? 'CONTAINS' : 'NOT_CONTAINS', target: inner }],
    };
  }
  const isText = of.source === 'TEXT_BODY' || of.source === 'TEXT_ANSWER';
  if (!isText || operator !== '==') return { lost: 'patterns are only supported for whole texts' };
  const regex = `^${pattern
    .replaceAll(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '[\\s\\S]*')
    .replaceAll('?', '.')}$`;
  return { assertions: [{ ...of, comparison: 'NOT_EMPTY', regex }] };
}

function number(
  of: Pick<Assertion, 'source' | 'property'>,
  operator: string,
  target: number | undefined,
): Condition {
  if (target === undefined || !Number.isFinite(target)) return { lost: 'it is not compared with a number' };
  // Codes, counts and milliseconds are integers.
  if (operator === '<=')
    return { assertions: [{ ...of, comparison: 'LESS_THAN', target: String(Math.floor(target) + 1) }] };
  if (operator === '>=')
    return { assertions: [{ ...of, comparison: 'GREATER_THAN', target: String(Math.ceil(target) - 1) }] };
  return { assertions: [{ ...of, comparison: operators[operator] ?? 'EQUALS', target: String(target) }] };
}

function milliseconds(text: string): number | undefined {
  const seconds = secondsOf(text);
  return seconds === undefined ? Number(text) : seconds * 1000;
}

/** Remaining days are rounded down: more than 49 hours is only certain from 3 days on. */
function days(of: Pick<Assertion, 'source' | 'property'>, operator: string, text: string): Condition {
  const seconds = secondsOf(text) ?? Number(text) / 1000;
  if (!Number.isFinite(seconds)) return { lost: 'it is not compared with a duration' };
  const count = seconds / 86_400;
  if (operator === '>' || operator === '>=') return number(of, '>=', Math.ceil(count));
  if (operator === '<' || operator === '<=') return number(of, '<', Math.ceil(count));
  return { lost: 'the days that a certificate is valid cannot be compared for equality' };
}

function presence(of: string, operator: string, right: string, { json }: Placeholders): Condition {
  const [, above = '', key = ''] = /^\[BODY\](.*?)\.([^.[\]]+)$/.exec(of) ?? [];
  if (key === '' || !json) return { lost: 'only keys in JSON bodies of API checks can be checked' };
  const isWanted = (operator === '==') === (right === 'true');
  const comparison = isWanted ? 'HAS_KEY' : 'NOT_HAS_KEY';
  return {
    assertions: [{ source: 'JSON_BODY', property: above === '' ? '' : `$${above}`, comparison, target: key }],
  };
}
