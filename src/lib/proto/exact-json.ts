import { type DescMessage, type JsonValue, ScalarType } from '@bufbuild/protobuf';

/** A whole number with more digits than a JavaScript number holds. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Messages that represent any JSON: their texts are not numbers. */
const freeForms: ReadonlySet<string> = new Set([
  'google.protobuf.Value',
  'google.protobuf.Struct',
  'google.protobuf.ListValue',
]);

/**
 * Reads the JSON of a message without rounding 64-bit integers that are written as numbers: they become texts, which
 * ProtoJSON accepts for any number.
 *
 * @throws SyntaxError
 */
export function exactJson(json: string, message: DescMessage): JsonValue {
  const keepDigits = (_key: string, value: unknown, { source }: { readonly source?: string } = {}) => {
    const isRounded = typeof value === 'number' && !Number.isSafeInteger(value);
    return isRounded && source !== undefined && /^-?\d+$/.test(source) ? new Digits(source) : value;
  };
  return settled(JSON.parse(json, keepDigits), message) as JsonValue;
}

/** Expected type of a value: a message, a text, or (undefined) a number or a value outside the message. */
type Purpose = DescMessage | 'text' | undefined;

function settled(value: unknown, purpose: Purpose): unknown {
  if (value instanceof Digits) return isFree(purpose) ? Number(value.text) : value.text;
  if (Array.isArray(value)) return value.map((item) => settled(item, purpose));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, settledField(key, inner, purpose)]);
  return Object.fromEntries(entries);
}

function settledField(key: string, value: unknown, within: Purpose): unknown {
  if (within === undefined || within === 'text' || isFree(within)) return settled(value, within);
  const field = within.fields.find(({ name, jsonName }) => name === key || jsonName === key);
  const purpose = field?.message ?? (field?.scalar === ScalarType.STRING ? 'text' : undefined);
  if (field?.fieldKind !== 'map' || typeof value !== 'object' || value === null)
    return settled(value, purpose);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, settled(inner, purpose)]));
}

/** Whether a number stays a number, as far as it can. */
function isFree(purpose: Purpose): boolean {
  return purpose === 'text' || (purpose !== undefined && freeForms.has(purpose.typeName));
}
