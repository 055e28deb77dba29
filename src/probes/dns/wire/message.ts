import {
  type Answer,
  AUTHENTIC_DATA,
  type RecordType as CodecRecordType,
  type DecodedPacket,
  decode,
  encode,
  type OptAnswer,
  RECURSION_DESIRED,
} from 'dns-packet';
import { codecType, type RecordType, typeName } from '../../../lib/dns-record-type.ts';
import { toError } from '../../../lib/errors.ts';
import { decodingSteps } from './decoding-cost.ts';
import { absoluteName, isSameName } from './name.ts';
import { recordText } from './record-text.ts';

/** What is asked: a name without a dot at its end, and a record type; the class is always IN. */
export interface DnsQuestion {
  readonly name: string;
  readonly type: RecordType;
}

/** A resource record in the words of zone files. Names end with a dot. */
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
  /** The server says that it has validated the answer. */
  readonly AD: boolean;
  readonly CD: boolean;
}

/** A decoded response. */
export interface DnsMessage {
  readonly id: number;
  readonly isResponse: boolean;
  /** Name of the response code, the extended bits of EDNS included: `NOERROR`, `NXDOMAIN`, … or `RCODE_n`. */
  readonly responseCode: string;
  readonly flags: DnsFlags;
  readonly questions: readonly { readonly name: string; readonly type: string }[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  /** Whether the server speaks EDNS (RFC 6891). */
  readonly hasEdns: boolean;
}

/** Bytes that are no DNS message. */
export class DnsDecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DnsDecodeError';
  }
}

/** Largest answer we ask for over UDP: fits every path without fragments (DNS flag day 2020). */
const udpPayloadBytes = 1232;

/**
 * A query with recursion desired. It asks for the AD flag as well (RFC 6840 section 5.7), but not for
 * signatures.
 *
 * @param isEdns whether the query carries an OPT record; a few old servers refuse those.
 */
export function encodeQuery(question: DnsQuestion, id: number, isEdns: boolean): Buffer {
  const opt = { type: 'OPT', name: '.', udpPayloadSize: udpPayloadBytes, flags: 0, options: [] };
  return encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ name: question.name, type: codecType(question.type) as CodecRecordType, class: 'IN' }],
    additionals: isEdns ? [opt as unknown as OptAnswer] : [],
  });
}

/**
 * Labels and pointers of all names of a message that are decoded: 4000 addresses of a name with six labels
 * have fewer.
 */
const maxDecodingSteps = 32_768;

/** @throws DnsDecodeError */
export function decodeMessage(bytes: Buffer): DnsMessage {
  if (decodingSteps(bytes, maxDecodingSteps) >= maxDecodingSteps) {
    throw new DnsDecodeError(`its names have more than ${maxDecodingSteps} parts in all`);
  }
  let packet: DecodedPacket;
  try {
    packet = decode(bytes);
    const additionals = packet.additionals ?? [];
    const opt = additionals.find((record): record is OptAnswer => record.type === 'OPT');
    return {
      id: packet.id ?? 0,
      isResponse: packet.type === 'response',
      responseCode: responseCodeName(((opt?.extendedRcode ?? 0) << 4) | ((packet.flags ?? 0) & 0xf)),
      flags: {
        AA: packet.flag_aa,
        TC: packet.flag_tc,
        RD: packet.flag_rd,
        RA: packet.flag_ra,
        AD: packet.flag_ad,
        CD: packet.flag_cd,
      },
      questions: (packet.questions ?? []).map(({ name, type }) => ({
        name: absoluteName(name),
        type: typeName(type),
      })),
      answers: (packet.answers ?? []).flatMap(recordOf),
      authorities: (packet.authorities ?? []).flatMap(recordOf),
      hasEdns: opt !== undefined,
    };
  } catch (thrown) {
    // The codec has no error class of its own: whatever it throws is about these bytes.
    throw new DnsDecodeError(toError(thrown).message);
  }
}

function recordOf(answer: Answer): DnsRecord[] {
  if (answer.type === 'OPT') return [];
  const { name, type, ttl, data } = answer;
  return [
    {
      name: absoluteName(name),
      type: typeName(type),
      ttlSeconds: ttl ?? 0,
      text: recordText(typeName(type), data),
    },
  ];
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
 * Why a message is no answer to a question, or undefined when it is one. A server that cannot read a query
 * may leave the question out, but then it has nothing to say besides an error code.
 */
export function mismatch(message: DnsMessage, question: DnsQuestion, id: number): string | undefined {
  if (!message.isResponse) return 'it is a query';
  if (message.id !== id) return `its id is ${message.id}, not ${id}`;
  const [asked] = message.questions;
  if (!asked) return message.responseCode === 'NOERROR' ? 'it names no question' : undefined;
  if (message.questions.length > 1) return 'it names several questions';
  if (isSameName(asked.name, question.name) && asked.type === question.type) return undefined;
  return `it is about ${asked.name} ${asked.type}`;
}
