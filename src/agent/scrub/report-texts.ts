import type { Envelope, Scrubbed } from './scrubber.ts';

/**
 * JSON without secrets, as a text or as its bytes. Bytes are outside of V8's heap: a thread sends them to another
 * without a copy, and the main thread sends them to the service as they are.
 */
export type ReportText = Scrubbed<string> | Scrubbed<Uint8Array>;

/** A report as two texts, so that it can be sent without a detail that is too large. */
export interface ReportTexts {
  readonly envelopeJson: ReportText;
  readonly detailJson: ReportText;
}

const detailKey = ',"detail":';
/** Of the JSON text `null`. */
const nullLength = 4;
const decoder = new TextDecoder();

/** A text that was scrubbed before it was written to disk, where no other program writes. */
export function readBack(text: string): Scrubbed<string> {
  return text as Scrubbed<string>;
}

export function textOf(text: ReportText): Scrubbed<string> {
  return typeof text === 'string' ? text : (decoder.decode(text) as Scrubbed<string>);
}

/** Joins an envelope and its detail to one report. */
export function wholeReport({ envelopeJson, detailJson }: ReportTexts): Scrubbed<string> {
  return `${textOf(envelopeJson).slice(0, -1)}${detailKey}${textOf(detailJson)}}` as Scrubbed<string>;
}

/** Whether a report has a detail; it is `null` otherwise. */
export function hasDetail({ detailJson }: ReportTexts): boolean {
  return detailJson.length !== nullLength || textOf(detailJson) !== 'null';
}

/** The texts of a report whose detail is omitted because of its size; the report says so. */
export function withoutDetail({ envelopeJson }: ReportTexts): ReportTexts {
  const { errorMessages, ...rest } = JSON.parse(textOf(envelopeJson)) as Envelope;
  const note = 'The service rejected the detail of this result, so it was omitted.';
  return {
    envelopeJson: JSON.stringify({
      ...rest,
      errorMessages: [...errorMessages.slice(0, 199), note],
    }) as Scrubbed<string>,
    detailJson: 'null' as Scrubbed<string>,
  };
}

/** The same texts as bytes, all in one buffer, in the same order. */
export function inOneBuffer(reports: readonly ReportTexts[]): {
  readonly buffer: ArrayBuffer;
  readonly reports: readonly ReportTexts[];
} {
  const writer = new ByteWriter(reports.reduce((sum, report) => sum + bytesOf(report), 0));
  const inBuffer = ({ envelopeJson, detailJson }: ReportTexts): ReportTexts => ({
    envelopeJson: writer.write(envelopeJson) as Scrubbed<Uint8Array>,
    detailJson: writer.write(detailJson) as Scrubbed<Uint8Array>,
  });
  return { buffer: writer.buffer, reports: reports.map(inBuffer) };
}

/** A JSON text: `head`, then whole reports with commas between them, then `tail`. */
export function joinedReports(head: string, reports: readonly ReportTexts[], tail: string): Uint8Array {
  const frameBytes = Buffer.byteLength(head) + Buffer.byteLength(tail);
  const partBytes = detailKey.length + 2;
  const writer = new ByteWriter(
    reports.reduce((sum, report) => sum + bytesOf(report) + partBytes, frameBytes),
  );
  writer.write(head);
  for (const [index, { envelopeJson, detailJson }] of reports.entries()) {
    if (index > 0) writer.write(',');
    writer.write(envelopeJson);
    // The detail goes before the brace that ends the envelope.
    writer.takeBack(1);
    writer.write(detailKey);
    writer.write(detailJson);
    writer.write('}');
  }
  writer.write(tail);
  return writer.written;
}

function bytesOf({ envelopeJson, detailJson }: ReportTexts): number {
  return Buffer.byteLength(envelopeJson) + Buffer.byteLength(detailJson);
}

/** Writes texts one after the other. */
class ByteWriter {
  readonly buffer: ArrayBuffer;
  readonly #bytes: Buffer;
  #length = 0;

  /** @param maxBytes for everything that is written. */
  constructor(maxBytes: number) {
    this.buffer = new ArrayBuffer(maxBytes);
    this.#bytes = Buffer.from(this.buffer);
  }

  get written(): Uint8Array {
    return new Uint8Array(this.buffer, 0, this.#length);
  }

  /** @returns the bytes that it wrote. */
  write(text: string | Uint8Array): Uint8Array {
    const start = this.#length;
    if (typeof text === 'string') this.#length += this.#bytes.write(text, start);
    else {
      this.#bytes.set(text, start);
      this.#length += text.length;
    }
    return new Uint8Array(this.buffer, start, this.#length - start);
  }

  /** Removes the last bytes. */
  takeBack(count: number): void {
    this.#length -= count;
  }
}
