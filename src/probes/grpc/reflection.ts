import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { isKnownFile, ProtoError, readFileDescriptor } from '@picket/lib/proto/registry.ts';
import type { CallEnd } from './call.ts';
import { grpcStatusName } from './status.ts';

/** Limits for a server's description of itself. */
const maxFiles = 200;
const maxBytes = 2 * 1024 * 1024;

/** Versions of the service, the newer one first; most servers support the older one as well. */
const paths = ['v1', 'v1alpha'].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/** Field numbers of reflection.proto. */
const ask = { fileByName: 3, fileOfSymbol: 4 } as const;
const answered = { files: 4, error: 7 } as const;

/** The server does not describe the symbol; the message explains why. */
export class ReflectionFailed extends Error {
  override readonly name = 'ReflectionFailed';
}

/** Calls the server at one path, with one message. */
export type AskReflection = (path: string, message: Uint8Array) => Promise<CallEnd>;

/**
 * Fetches the file that defines a symbol and all its imports from the server.
 *
 * @throws ReflectionFailed
 */
export async function reflectedFiles(symbol: string, call: AskReflection): Promise<FileDescriptorProto[]> {
  const server = new ReflectingServer(call);
  const files = new Map<string, FileDescriptorProto>();
  let bytesLeft = maxBytes;
  const add = (found: readonly Uint8Array[]) => {
    for (const bytes of found) {
      bytesLeft -= bytes.length;
      const file = readFileDescriptor(bytes);
      if (bytesLeft < 0 || files.size >= maxFiles) {
        throw new ReflectionFailed(`more than ${maxFiles} files or ${maxBytes} bytes define ${symbol}`);
      }
      if (!files.has(file.name)) files.set(file.name, file);
    }
  };
  try {
    add(await server.ask(ask.fileOfSymbol, symbol));
    for (let name = missing(files); name !== undefined; name = missing(files)) {
      add(await server.ask(ask.fileByName, name));
      if (!files.has(name))
        throw new ReflectionFailed(`the server does not have the file ${name}, which another one imports`);
    }
  } catch (thrown) {
    if (thrown instanceof ProtoError) throw new ReflectionFailed(thrown.message);
    throw thrown;
  }
  return [...files.values()];
}

function missing(files: ReadonlyMap<string, FileDescriptorProto>): string | undefined {
  for (const { dependency } of files.values()) {
    for (const name of dependency) {
      if (!files.has(name) && !isKnownFile(name)) return name;
    }
  }
  return undefined;
}

class ReflectingServer {
  readonly #call: AskReflection;
  #paths = paths;

  constructor(call: AskReflection) {
    this.#call = call;
  }

  async ask(field: number, text: string): Promise<Uint8Array[]> {
    const message = new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish();
    const [path = '', ...others] = this.#paths;
    const { status, messages, fault } = await this.#call(path, message);
    if (status.code === 12 && others.length > 0 && !fault) {
      this.#paths = others;
      return await this.ask(field, text);
    }
    // A response on a stream ends with a status of its own.
    const [first] = messages;
    if (status.code === 0 && first) return filesOf(first, text);
    const said = [grpcStatusName(status.code), status.message].filter((part) => part !== '').join(': ');
    throw new ReflectionFailed(
      status.code === 12 ? `the server does not support reflection (${said})` : `the server responds ${said}`,
    );
  }
}

/** Extracts the files from a response of the service. */
function filesOf(answer: Uint8Array, asked: string): Uint8Array[] {
  const files: Uint8Array[] = [];
  let problem: string | undefined;
  try {
    eachField(answer, (field, reader) => {
      if (field === answered.files) {
        eachField(reader.bytes(), (inner, innerReader) => {
          if (inner !== 1) return false;
          files.push(innerReader.bytes());
          return true;
        });
      } else if (field === answered.error) {
        problem = errorText(reader.bytes());
      } else {
        return false;
      }
      return true;
    });
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ReflectionFailed(`the response about ${asked} cannot be read: ${message}`);
  }
  if (problem !== undefined) throw new ReflectionFailed(`the server does not know ${asked}: ${problem}`);
  if (files.length === 0) throw new ReflectionFailed(`the response about ${asked} contains no file`);
  return files;
}

function errorText(bytes: Uint8Array): string {
  let [code, text] = [0, ''];
  eachField(bytes, (field, reader) => {
    if (field === 1) code = reader.int32();
    else if (field === 2) text = reader.string().slice(0, 500);
    else return false;
    return true;
  });
  return [grpcStatusName(code), text].filter((part) => part !== '').join(': ');
}

/** @param read reads the value of a field that it knows; returns false for others. */
function eachField(bytes: Uint8Array, read: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType !== WireType.LengthDelimited && !(field === 1 && wireType === WireType.Varint)) {
      reader.skip(wireType, field);
    } else if (!read(field, reader)) {
      reader.skip(wireType, field);
    }
  }
}
