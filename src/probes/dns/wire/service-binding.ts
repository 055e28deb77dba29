import { ipv6Text } from './name.ts';
import { labelText } from './raw-records.ts';

/** Names of service parameters (RFC 9460 section 14.3.2, RFC 9461, RFC 9540). */
const keyNames = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
  'dohpath',
  'ohttp',
];

/**
 * Formats the data of an HTTPS or SVCB record (RFC 9460 section 2.1): priority, target and parameters, such as `1 .
 * alpn="h2,h3" ipv4hint=192.0.2.1`.
 *
 * @throws Error if the data is truncated or a value does not fit its parameter.
 */
export function serviceBindingText(data: Buffer): string {
  const priority = data.readUInt16BE(0);
  const { name, end } = uncompressedName(data, 2);
  const words = [String(priority), name];
  for (let offset = end; offset < data.length; ) {
    const key = data.readUInt16BE(offset);
    const length = data.readUInt16BE(offset + 2);
    const value = slice(data, offset + 4, length);
    words.push(parameterText(key, value));
    offset += 4 + length;
  }
  return words.join(' ');
}

/** Targets are never compressed in these records (RFC 9460 section 2.2). */
function uncompressedName(data: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let offset = start;
  for (;;) {
    const length = data.readUInt8(offset);
    if (length === 0) return { name: `${labels.join('.')}.`, end: offset + 1 };
    if (length > 63) throw new Error('the target of a service binding is compressed');
    labels.push(labelText(slice(data, offset + 1, length)));
    offset += 1 + length;
  }
}

function slice(data: Buffer, start: number, length: number): Buffer {
  if (start + length > data.length) throw new Error('a service binding is truncated');
  return data.subarray(start, start + length);
}

function parameterText(key: number, value: Buffer): string {
  const name = keyName(key);
  switch (name) {
    case 'mandatory':
      return `${name}=${chunks(value, 2)
        .map((part) => keyName(part.readUInt16BE(0)))
        .join(',')}`;
    case 'alpn':
      return `${name}="${escapedText(protocolNames(value).join(','))}"`;
    case 'port':
      return `${name}=${value.readUInt16BE(0)}`;
    case 'ipv4hint':
      return `${name}=${chunks(value, 4)
        .map((part) => [...part].join('.'))
        .join(',')}`;
    case 'ipv6hint':
      return `${name}=${chunks(value, 16).map(ipv6Text).join(',')}`;
    case 'ech':
      return `${name}=${value.toString('base64')}`;
    default:
      return value.length === 0 ? name : `${name}="${escapedText(value.toString('latin1'))}"`;
  }
}

function keyName(key: number): string {
  return keyNames[key] ?? `key${key}`;
}

function chunks(value: Buffer, size: number): Buffer[] {
  if (value.length === 0 || value.length % size !== 0)
    throw new Error('a service parameter has an invalid length');
  return Array.from({ length: value.length / size }, (_, index) =>
    value.subarray(index * size, (index + 1) * size),
  );
}

function protocolNames(value: Buffer): string[] {
  const names: string[] = [];
  for (let offset = 0; offset < value.length; ) {
    const length = value.readUInt8(offset);
    names.push(
      slice(value, offset + 1, length)
        .toString('latin1')
        .replaceAll(',', '\\,'),
    );
    offset += 1 + length;
  }
  return names;
}

/** Text for use between quotes; characters other than printable ASCII become `\DDD`. */
function escapedText(text: string): string {
  return text.replaceAll(/["\\]|[^ -~]/g, (character) =>
    /["\\]/.test(character) ? `\\${character}` : `\\${String(character.charCodeAt(0)).padStart(3, '0')}`,
  );
}
