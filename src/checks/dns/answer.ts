import type { DnsJson } from './detail.ts';

/** A decoded response, with the field names of src/probes/dns/wire/message.ts. */
interface Answer {
  readonly responseCode: string;
  readonly flags: Readonly<Record<'AA' | 'TC' | 'RD' | 'RA' | 'AD' | 'CD', boolean>>;
  readonly questions: readonly { readonly name: string; readonly type: string }[];
  readonly answers: readonly AnswerRecord[];
  readonly authorities: readonly AnswerRecord[];
  readonly additionals: readonly AnswerRecord[];
}

interface AnswerRecord {
  readonly name: string;
  readonly type: string;
  readonly ttlSeconds: number;
  readonly text: string;
}

/** Converts a response to the form of JSON_ANSWER assertions and results. */
export function answerJson(answer: Answer): DnsJson {
  const { AA, TC, RD, RA, AD, CD } = answer.flags;
  return {
    Status: answer.responseCode,
    ...{ AA, TC, RD, RA, AD, CD },
    Question: answer.questions.map(({ name, type }) => ({ name, type })),
    Answer: answer.answers.map(jsonRecord),
    Authority: answer.authorities.map(jsonRecord),
    Additional: answer.additionals.map(jsonRecord),
  };
}

function jsonRecord({ name, type, ttlSeconds, text }: AnswerRecord): DnsJson['Answer'][number] {
  return { name, type, TTL: ttlSeconds, data: text };
}

/**
 * Converts a response to the form of TEXT_ANSWER assertions: the data of its records, one per line, including the
 * aliases that lead to them.
 */
export function answerText({ answers }: Answer): string {
  return answers.map(({ text }) => text).join('\n');
}

/** Most characters of a response that are stored, in each of its forms; assertions see all of it. */
const maxStoredLength = 64 * 1024;

/** The part of a response that goes into a result. A message of 64 KiB can expand to megabytes of names. */
export function storedAnswer(json: DnsJson, text: string) {
  let roomLeft = maxStoredLength;
  const fitting = (records: DnsJson['Answer']) =>
    records.filter(({ name, data }) => {
      roomLeft -= name.length + data.length;
      return roomLeft >= 0;
    });
  const stored: DnsJson = {
    ...json,
    Answer: fitting(json.Answer),
    Authority: fitting(json.Authority),
    Additional: fitting(json.Additional ?? []),
  };
  return {
    json: stored,
    answer: text.slice(0, maxStoredLength),
    truncated: roomLeft < 0 || text.length > maxStoredLength,
  };
}
