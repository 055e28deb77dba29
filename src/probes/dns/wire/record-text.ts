import type { CaaData, DnskeyData, DsData, RrsigData, TlsaData, TxtData } from 'dns-packet';
import { absoluteName, ipv6Text } from './name.ts';
import { readName } from './raw-records.ts';
import { serviceBindingText } from './service-binding.ts';

/**
 * Formats the data of a record as zone files and dig do. TXT is the exception: its strings are joined without quotes,
 * as SPF and DKIM read them.
 *
 * @param data as the codec decoded it for that type.
 * @param bytes the message; the data begins at `start`.
 * @throws Error if the data cannot be read.
 */
export function recordText(type: string, data: unknown, bytes: Buffer, start: number): string {
  const wireFormat = wireFormats[type];
  if (wireFormat) return wireFormat(bytes, start);
  const format = formats[type];
  if (format) return format(data);
  if (Buffer.isBuffer(data)) return opaqueText(data);
  return typeof data === 'string' ? absoluteName(data) : JSON.stringify(data);
}

const formats: Readonly<Record<string, (data: unknown) => string>> = {
  A: String,
  TXT: (data) => {
    const strings = Array.isArray(data)
      ? (data as Exclude<TxtData, string | Buffer>)
      : [data as string | Buffer];
    return plainText(
      Buffer.concat(strings.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))),
    );
  },
  CAA: (data) => {
    const { flags = 0, tag, value } = data as CaaData;
    return `${flags} ${tag} "${plainText(Buffer.from(value)).replaceAll(/["\\]/g, '\\$&')}"`;
  },
  DS: (data) => {
    const { keyTag, algorithm, digestType, digest } = data as DsData;
    return `${keyTag} ${algorithm} ${digestType} ${hex(digest)}`;
  },
  DNSKEY: (data) => {
    const { flags, algorithm, key } = data as DnskeyData;
    return `${flags} 3 ${algorithm} ${key.toString('base64')}`;
  },
  TLSA: (data) => {
    const { usage, selector, matchingType, certificate } = data as TlsaData;
    return `${usage} ${selector} ${matchingType} ${hex(certificate)}`;
  },
  RRSIG: (data) => {
    const {
      typeCovered,
      algorithm,
      labels,
      originalTTL,
      expiration,
      inception,
      keyTag,
      signersName,
      signature,
    } = data as RrsigData;
    const period = `${signatureTime(expiration)} ${signatureTime(inception)}`;
    const signed = `${typeCovered} ${algorithm} ${labels} ${originalTTL} ${period}`;
    return `${signed} ${keyTag} ${absoluteName(signersName)} ${signature.toString('base64')}`;
  },
  HTTPS: (data) => serviceBindingText(data as Buffer),
  SVCB: (data) => serviceBindingText(data as Buffer),
};

/** Formatters for types that contain names and numbers, from their position in a message. */
const wireFormats: Readonly<Record<string, (bytes: Buffer, start: number) => string>> = {
  AAAA: (bytes, start) => ipv6Text(bytes.subarray(start, start + 16)),
  CNAME: nameAt,
  DNAME: nameAt,
  NS: nameAt,
  PTR: nameAt,
  MX: (bytes, start) => `${numbersAt(bytes, start, 1)} ${nameAt(bytes, start + 2)}`,
  SRV: (bytes, start) => `${numbersAt(bytes, start, 3)} ${nameAt(bytes, start + 6)}`,
  SOA: (bytes, start) => {
    const primary = readName(bytes, start);
    const mailbox = readName(bytes, primary.end);
    const times = Array.from({ length: 5 }, (_, index) => bytes.readUInt32BE(mailbox.end + 4 * index));
    return `${primary.text} ${mailbox.text} ${times.join(' ')}`;
  },
};

function nameAt(bytes: Buffer, start: number): string {
  return readName(bytes, start).text;
}

function numbersAt(bytes: Buffer, start: number, count: number): string {
  return Array.from({ length: count }, (_, index) => bytes.readUInt16BE(start + 2 * index)).join(' ');
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex').toUpperCase();
}

/** Data of an unknown type (RFC 3597 section 5). */
function opaqueText(bytes: Buffer): string {
  return bytes.length === 0 ? '\\# 0' : `\\# ${bytes.length} ${hex(bytes)}`;
}

/** UTF-8 text; control characters become `\DDD`, so that a record stays on one line. */
function plainText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll(/\p{Cc}/gu, (character) => `\\${String(character.charCodeAt(0)).padStart(3, '0')}`);
}

/** Seconds since the epoch as YYYYMMDDHHmmSS (RFC 4034 section 3.2). */
function signatureTime(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replaceAll(/\.\d+|\D/g, '');
}
