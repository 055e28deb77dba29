import {
  create,
  createFileRegistry,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt';
import { toError } from '../errors.ts';
import { completeDescriptors } from './completed.ts';
import { exactJson } from './exact-json.ts';
import type { ProtoFile } from './proto-file.ts';

/** Descriptors do not fit together, or a message does not fit its descriptor. */
export class ProtoError extends Error {
  override readonly name = 'ProtoError';
}

const known = new Map(
  [
    file_google_protobuf_any,
    file_google_protobuf_duration,
    file_google_protobuf_empty,
    file_google_protobuf_field_mask,
    file_google_protobuf_struct,
    file_google_protobuf_timestamp,
    file_google_protobuf_wrappers,
  ].map(({ proto }) => [proto.name, proto]),
);

/** Whether a file is well known and need not be sent. */
export function isKnownFile(name: string): boolean {
  return known.has(name);
}

/** Reads a file descriptor from its bytes. @throws ProtoError */
export function readFileDescriptor(bytes: Uint8Array): FileDescriptorProto {
  return guarded('the file descriptor', () => fromBinary(FileDescriptorProtoSchema, bytes));
}

/** Creates a file descriptor from a parsed `.proto` file. */
export function fileDescriptorOf(file: ProtoFile): FileDescriptorProto {
  return create(FileDescriptorProtoSchema, file);
}

/** One method of a service with its message types: JSON here, bytes on the wire. */
export class ProtoMethod {
  readonly #method: DescMethod;
  readonly #registry: FileRegistry;

  /** @throws ProtoError */
  constructor(
    files: readonly FileDescriptorProto[],
    { service, method }: { readonly service: string; readonly method: string },
  ) {
    this.#registry = guarded('the descriptors', () => {
      completeDescriptors(files, [...known.values()]);
      const set = create(FileDescriptorSetSchema, { file: inOrder(files) });
      return createFileRegistry(set);
    });
    const found = this.#registry.getService(service);
    const wanted = found?.methods.find(({ name }) => name === method);
    if (!found) throw new ProtoError(`the service ${service} does not exist`);
    if (!wanted) {
      const names = found.methods.map(({ name }) => name).join(', ');
      throw new ProtoError(`${service} has no method ${method}; it has ${names || 'none'}`);
    }
    this.#method = wanted;
  }

  /** All methods of the service, such as `shop.Orders/List`. */
  get siblings(): string[] {
    const { parent } = this.#method;
    return parent.methods.map(({ name }) => `${parent.typeName}/${name}`);
  }

  get isClientStream(): boolean {
    const { methodKind } = this.#method;
    return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
  }

  get isServerStream(): boolean {
    const { methodKind } = this.#method;
    return methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
  }

  /** Encodes a request from its JSON. @throws ProtoError */
  encode(json: string): Uint8Array {
    const { input } = this.#method;
    return guarded(`the message does not fit ${input.typeName}`, () =>
      toBinary(
        input,
        fromJson(input, exactJson(json === '' ? '{}' : json, input), { registry: this.#registry }),
      ),
    );
  }

  /** Decodes a response to JSON, with its fields as in ProtoJSON. @throws ProtoError */
  decode(bytes: Uint8Array): unknown {
    const { output } = this.#method;
    return guarded(`the response is not a valid ${output.typeName}`, () =>
      toJson(output, fromBinary(output, bytes), { registry: this.#registry, alwaysEmitImplicit: true }),
    );
  }
}

/** Any error of the library concerns its input. */
function guarded<Value>(what: string, work: () => Value): Value {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof ProtoError) throw thrown;
    throw new ProtoError(`${what}: ${toError(thrown).message}`);
  }
}

/** Sorts files after their imports and adds the missing well-known ones. */
function inOrder(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const given = new Map(files.map((file) => [file.name, file]));
  const ordered: FileDescriptorProto[] = [];
  const state = new Map<string, 'open' | 'done'>();
  // Without recursion: a chain of imports may be as long as the number of files.
  const stack = files.map((file) => ({ file, isLeft: false })).reverse();
  for (let top = stack.pop(); top; top = stack.pop()) {
    const { file, isLeft } = top;
    if (isLeft) {
      if (state.get(file.name) !== 'done') ordered.push(file);
      state.set(file.name, 'done');
      continue;
    }
    if (state.has(file.name)) continue;
    state.set(file.name, 'open');
    stack.push({ file, isLeft: true });
    for (const name of file.dependency) {
      const imported = given.get(name) ?? known.get(name);
      if (state.get(name) === 'open')
        throw new ProtoError(`the files ${file.name} and ${name} import each other`);
      if (imported && !state.has(name)) stack.push({ file: imported, isLeft: false });
      if (!imported) throw new ProtoError(`the file ${name} is missing, which ${file.name} imports`);
    }
  }
  return ordered;
}
