import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Family, LabelSet, SampleSink } from '@picket/service/check-metrics/exposition.ts';
import { snappyCompress } from './snappy.ts';

/** A request that was not sent yet. */
export interface WriteRequest {
  readonly body: Buffer;
  readonly samples: number;
  /** When its samples were taken. */
  readonly takenMs: number;
}

/** A series that was written. */
interface Series {
  readonly name: string;
  readonly labels: LabelSet;
  readonly more: LabelSet | undefined;
}
/** Series that describe the state of checks, by their unique keys. */
export type SeriesOfState = ReadonlyMap<string, Series>;

/** The NaN that marks the end of a series in Prometheus. */
const staleBits = 0x7ff0000000000002n;
const samplesPerRequest = 2_000;

/**
 * Builds requests of remote write 1.0 (`prometheus.WriteRequest`, compressed with Snappy) from samples: each is a
 * series of its own with its labels sorted by name.
 */
export class WriteRequests implements SampleSink {
  readonly #takenMs: number;
  readonly #writer = new BinaryWriter();
  readonly #made: WriteRequest[] = [];
  #samples = 0;
  #isOfState = false;
  readonly #ofState = new Map<string, Series>();

  constructor(takenMs: number) {
    this.#takenMs = takenMs;
  }

  /** Series that must be ended if they are not written next time. */
  get ofState(): SeriesOfState {
    return this.#ofState;
  }

  get made(): readonly WriteRequest[] {
    return this.#made;
  }

  /** Types and help texts are for readers; receivers of version 1.0 do not need them. */
  begin({ isOfState }: Family): void {
    this.#isOfState = isOfState === true;
  }

  add(name: string, value: number, labels: LabelSet, more?: LabelSet): void {
    if (this.#isOfState) this.#ofState.set(`${name} ${labels.text} ${more?.text}`, { name, labels, more });
    this.#write({ name, labels, more }, (writer) => writer.double(value));
  }

  /** Ends earlier series that were not written this time. */
  end(earlier: SeriesOfState): void {
    for (const [key, series] of earlier) {
      if (this.#ofState.has(key)) continue;
      this.#write(series, (writer) => writer.fixed64(staleBits));
      if (this.isFull) this.flush();
    }
    this.flush();
  }

  #write({ name, labels, more }: Series, writeValue: (writer: BinaryWriter) => BinaryWriter): void {
    // An empty label equals an absent one.
    const pairs = [...labels.pairs, ...(more?.pairs ?? [])].filter(([, text]) => text !== '');
    pairs.sort(([left], [right]) => (left < right ? -1 : 1));
    const writer = this.#writer.tag(1, WireType.LengthDelimited).fork();
    // First in the order: an underscore sorts before lower-case letters.
    writeLabel(writer, '__name__', name);
    for (const [label, text] of pairs) writeLabel(writer, label, text);
    writer.tag(2, WireType.LengthDelimited).fork();
    writeValue(writer.tag(1, WireType.Bit64)).tag(2, WireType.Varint).int64(this.#takenMs);
    writer.join().join();
    this.#samples += 1;
  }

  get isFull(): boolean {
    return this.#samples >= samplesPerRequest;
  }

  flush(): void {
    if (this.#samples === 0) return;
    const body = snappyCompress(this.#writer.finish());
    this.#made.push({ body, samples: this.#samples, takenMs: this.#takenMs });
    this.#samples = 0;
  }
}

function writeLabel(writer: BinaryWriter, name: string, text: string): void {
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(name);
  writer.tag(2, WireType.LengthDelimited).string(text);
  writer.join();
}
