import type {
  CaaData,
  DnskeyData,
  DsData,
  MxData,
  RrsigData,
  SoaData,
  SrvData,
  TlsaData,
  TxtData,
} from 'dns-packet';
import { absoluteName } from './name.ts';
import { serviceBindingText } from './service-binding.ts';

/**
 * The data of a record as text, as zone files and dig write it. TXT is the exception: its strings are put
 * together without quotes, as SPF, DKIM and the like read them.
 *
 * @param data as the codec decoded it for that type.
 * @throws Error when the data cannot be read.
 */
export function recordText(type: string, data: unknown): string {
  const format = formats[type];
  if (format) return format(data);
  if (Buffer.isBuffer(data)) return opaqueText(data);
  return typeof data === 'string' ? absoluteName(data) : JSON.stringify(data);
}

const formats: Readonly<Record<string, (data: unknown) => string>> = {
  A: String,
  AAAA: (data) => ipv6Text(String(data)),
  MX: (data) => {
    const { preference = 0, exchange } = data as MxData;
    return `${preference} ${absoluteName(exchange)}`;
  },
  SOA: (data) => {
    const { mname, rname, serial, refresh, retry, expire, minimum } = data as SoaData;
    return `${absoluteName(mname)} ${absoluteName(rname)} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
  },
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
  SRV: (data) => {
    const { priority = 0, weight = 0, port, target } = data as SrvData;
    return `${priority} ${weight} ${port} ${absoluteName(target)}`;
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

/** An address that carries an IPv4 address shows it in dotted form (RFC 5952 section 5). */
function ipv6Text(address: string): string {
  const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const bytes = [high, low].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 0xff];
  });
  return `::ffff:${bytes.join('.')}`;
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex').toUpperCase();
}

/** Data of an unknown type (RFC 3597 section 5). */
function opaqueText(bytes: Buffer): string {
  return bytes.length === 0 ? '\\# 0' : `\\# ${bytes.length} ${hex(bytes)}`;
}

/** UTF-8 text; control characters as `\DDD`, so that a record never becomes two lines. */
function plainText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll(/\p{Cc}/gu, (character) => `\\${String(character.charCodeAt(0)).padStart(3, '0')}`);
}

/** Seconds since the epoch as YYYYMMDDHHmmSS (RFC 4034 section 3.2). */
function signatureTime(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replaceAll(/\.\d+|\D/g, '');
}
