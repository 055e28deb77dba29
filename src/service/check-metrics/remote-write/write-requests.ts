import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { LabelSet, SampleSink } from '../exposition.ts';
import { snappyCompress } from './snappy.ts';

/** A request that was not sent yet. */
export interface WriteRequest {
  readonly body: Buffer;
  readonly samples: number;
  /** When its samples were taken. */
  readonly takenMs: number;
}

const samplesPerRequest = 2_000;

/**
 * Makes requests of remote write 1.0 (`prometheus.WriteRequest`, compressed with Snappy) of samples: each is a series of
 * its own with its labels in the order of their names.
 */
export class WriteRequests implements SampleSink {
  readonly #takenMs: number;
  readonly #writer = new BinaryWriter();
  readonly #made: WriteRequest[] = [];
  #samples = 0;

  constructor(takenMs: number) {
    this.#takenMs = takenMs;
  }

  get made(): readonly WriteRequest[] {
    return this.#made;
  }

  begin(): void {
    // Types and help are for those who read; receivers of version 1.0 do not need them.
  }

  add(name: string, value: number, labels: LabelSet, more?: LabelSet): void {
    // An empty label is none.
    const pairs = [...labels.pairs, ...(more?.pairs ?? [])].filter(([, text]) => text !== '');
    pairs.sort(([left], [right]) => (left < right ? -1 : 1));
    const writer = this.#writer.tag(1, WireType.LengthDelimited).fork();
    // Before all others: an underscore is smaller than any letter.
    writeLabel(writer, '__name__', name);
    for (const [label, text] of pairs) writeLabel(writer, label, text);
    writer.tag(2, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.Bit64).double(value).tag(2, WireType.Varint).int64(this.#takenMs);
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
