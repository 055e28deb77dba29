import {
  codecType,
  type DnsClass,
  dnsClasses,
  type RecordType,
  typeName,
} from '@picket/lib/dns-record-type.ts';
import { toError } from '@picket/lib/errors.ts';
import {
  type Answer,
  AUTHENTIC_DATA,
  type RecordType as CodecRecordType,
  DNSSEC_OK,
  decode,
  encode,
  type OptAnswer,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
} from 'dns-packet';
import { decodingSteps } from './decoding-cost.ts';
import { isSameName } from './name.ts';
import { DnsDecodeError, type RawRecord, readRawMessage } from './raw-records.ts';
import { recordText } from './record-text.ts';

export { DnsDecodeError };

/** A question: a name without a trailing dot, and a record type. */
export interface DnsQuestion {
  readonly name: string;
  readonly type: RecordType;
  /** Defaults to IN. */
  readonly class?: DnsClass | undefined;
  /** Whether the server may query other servers; defaults to true. */
  readonly recursionDesired?: boolean | undefined;
  /** Requests signatures (the DO bit of EDNS); defaults to false. */
  readonly dnssecOk?: boolean | undefined;
}

/** A resource record in zone file notation. Names end with a dot. */
export interface DnsRecord {
  readonly name: string;
  readonly type: string;
  readonly ttlSeconds: number;
  readonly text: string;
}

export interface DnsFlags {
  /** Authoritative answer. */
  readonly AA: boolean;
  /** Truncated. */
  readonly TC: boolean;
  readonly RD: boolean;
  /** Recursion available. */
  readonly RA: boolean;
  /** The server claims to have validated the response. */
  readonly AD: boolean;
  readonly CD: boolean;
}

/** A decoded response. */
export interface DnsMessage {
  readonly id: number;
  readonly isResponse: boolean;
  /** Name of the response code, including the extended bits of EDNS: `NOERROR`, `NXDOMAIN`, … or `RCODE_n`. */
  readonly responseCode: string;
  readonly flags: DnsFlags;
  /** Operation code; 0 is a query. */
  readonly opcode: number;
  /** `class` is a number; 1 is IN. */
  readonly questions: readonly { readonly name: string; readonly type: string; readonly class: number }[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  /** Without the OPT record of EDNS. */
  readonly additionals: readonly DnsRecord[];
  /** Whether the server supports EDNS (RFC 6891). */
  readonly hasEdns: boolean;
}

/** Advertised UDP payload size: fits every path without fragmentation (DNS flag day 2020). */
const udpPayloadBytes = 1232;

/**
 * Encodes a query. It also sets the AD flag (RFC 6840 section 5.7).
 *
 * @param isEdns whether to add an OPT record, which a few old servers refuse.
 */
export function encodeQuery(question: DnsQuestion, id: number, isEdns: boolean): Buffer {
  const { recursionDesired = true, dnssecOk = false } = question;
  const flags = dnssecOk ? DNSSEC_OK : 0;
  const opt = { type: 'OPT', name: '.', udpPayloadSize: udpPayloadBytes, flags, options: [] };
  return encode({
    type: 'query',
    id,
    flags: (recursionDesired ? RECURSION_DESIRED : 0) | AUTHENTIC_DATA,
    questions: [
      {
        name: question.name,
        type: codecType(question.type) as CodecRecordType,
        class: question.class ?? 'IN',
      },
    ],
    additionals: isEdns ? [opt as unknown as OptAnswer] : [],
  });
}

/**
 * Limit on the labels and pointers decoded for all names of a message: 4000 addresses of a name with six labels have
 * fewer.
 */
const maxDecodingSteps = 32_768;

const headerBytes = 12;
const questionCountOffset = 4;
const recordCountsOffset = 6;

/**
 * @param wanted the class of the question, which records must have.
 * @throws DnsDecodeError
 */
export function decodeMessage(bytes: Buffer, wanted: DnsClass = 'IN'): DnsMessage {
  if (decodingSteps(bytes, maxDecodingSteps) >= maxDecodingSteps) {
    throw new DnsDecodeError(`its names have more than ${maxDecodingSteps} parts in all`);
  }
  try {
    return decoded(bytes, wanted);
  } catch (thrown) {
    // The codec has no error class of its own: everything it throws concerns these bytes.
    const problem = new DnsDecodeError(toError(thrown).message);
    if (bytes.length < headerBytes) throw problem;
    const flags = bytes.readUInt16BE(2);
    if ((flags & TRUNCATED_RESPONSE) !== 0) return truncated(bytes, wanted);
    if (bytes.length === headerBytes && isRefusal(responseCodeName(flags & 0xf)))
      return headOf(bytes, wanted);
    throw problem;
  }
}

/** A truncated response may end anywhere (RFC 2181 section 9): only its header is reliable. */
function truncated(bytes: Buffer, wanted: DnsClass): DnsMessage {
  const head = Buffer.from(bytes).fill(0, recordCountsOffset, headerBytes);
  try {
    return decoded(head, wanted);
  } catch {
    // Even the question is incomplete.
    return headOf(bytes, wanted);
  }
}

/**
 * Decodes the header alone, ignoring its counts. Servers that refuse a query often send its header back with an error
 * code and with the query's counts in it.
 */
function headOf(bytes: Buffer, wanted: DnsClass): DnsMessage {
  return decoded(Buffer.from(bytes.subarray(0, headerBytes)).fill(0, questionCountOffset), wanted);
}

/** Returns whether a response code concerns the query or the server (FORMERR, REFUSED, …), not a name. */
function isRefusal(responseCode: string): boolean {
  return responseCode !== 'NOERROR' && responseCode !== 'NXDOMAIN';
}

/** @throws errors of the codec. */
function decoded(bytes: Buffer, wanted: DnsClass): DnsMessage {
  const packet = decode(bytes);
  const raw = readRawMessage(bytes);
  for (const record of [...raw.answers, ...raw.authorities, ...raw.additionals]) checkClass(record, wanted);
  const opt = packet.additionals?.find((record): record is OptAnswer => record.type === 'OPT');
  const flags = packet.flags ?? 0;
  const records = (answers: readonly Answer[] | undefined, places: readonly RawRecord[]) =>
    places.flatMap((place, index) => recordOf(bytes, answers?.[index], place));
  return {
    id: packet.id ?? 0,
    isResponse: packet.type === 'response',
    opcode: (flags >> 11) & 0xf,
    responseCode: responseCodeName(((opt?.extendedRcode ?? 0) << 4) | (flags & 0xf)),
    flags: {
      AA: packet.flag_aa,
      TC: packet.flag_tc,
      RD: packet.flag_rd,
      RA: packet.flag_ra,
      AD: packet.flag_ad,
      CD: packet.flag_cd,
    },
    questions: raw.questions.map((question, index) => ({
      ...question,
      type: typeName(packet.questions?.[index]?.type ?? ''),
    })),
    answers: records(packet.answers, raw.answers),
    authorities: records(packet.authorities, raw.authorities),
    additionals: records(packet.additionals, raw.additionals),
    hasEdns: opt !== undefined,
  };
}

/** OPT, TKEY, TSIG and SIG use the class field for other data. */
const classlessTypes: ReadonlySet<number> = new Set([24, 41, 249, 250]);

function checkClass({ name, type, class: found }: RawRecord, wanted: DnsClass): void {
  if (found === dnsClasses[wanted] || classlessTypes.has(type)) return;
  throw new DnsDecodeError(`a record of ${name} has the class ${found}, not ${wanted}`);
}

function recordOf(bytes: Buffer, answer: Answer | undefined, { name, start }: RawRecord): DnsRecord[] {
  if (!answer || answer.type === 'OPT') return [];
  const { type, ttl, data } = answer;
  const text = recordText(typeName(type), data, bytes, start);
  return [{ name, type: typeName(type), ttlSeconds: ttl ?? 0, text }];
}

/** IANA's registry of DNS RCODEs. */
const responseCodes: Readonly<Record<number, string>> = {
  0: 'NOERROR',
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  11: 'DSOTYPENI',
  16: 'BADVERS',
  17: 'BADKEY',
  18: 'BADTIME',
  19: 'BADMODE',
  20: 'BADNAME',
  21: 'BADALG',
  22: 'BADTRUNC',
  23: 'BADCOOKIE',
};

function responseCodeName(code: number): string {
  return responseCodes[code] ?? `RCODE_${code}`;
}

/**
 * Returns why a message does not answer a question, or undefined if it does. A server that cannot parse a query may
 * omit the question, but then cannot answer for a name. A response that was truncated within its question has the TC
 * flag.
 */
export function mismatch(message: DnsMessage, question: DnsQuestion, id: number): string | undefined {
  if (!message.isResponse) return 'it is a query';
  if (message.id !== id) return `its id is ${message.id}, not ${id}`;
  if (message.opcode !== 0) return `its opcode is ${message.opcode}, not a query`;
  const [asked] = message.questions;
  if (!asked) {
    return isRefusal(message.responseCode) || message.flags.TC ? undefined : 'it contains no question';
  }
  if (message.questions.length > 1) return 'it contains several questions';
  const wanted = question.class ?? 'IN';
  if (asked.class !== dnsClasses[wanted]) return `it is for the class ${asked.class}, not ${wanted}`;
  if (isSameName(asked.name, question.name) && asked.type === question.type) return undefined;
  return `it is for ${asked.name} ${asked.type}`;
}
