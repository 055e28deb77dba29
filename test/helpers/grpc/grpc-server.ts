import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import {
  type GrpcObject,
  loadPackageDefinition,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { parseProtoFile } from '../../../src/lib/proto/proto-file.ts';
import { fileDescriptorOf } from '../../../src/lib/proto/registry.ts';
import type { KeyAndCertificate } from '../targets/certificates.ts';

type Fields = Record<string, unknown>;

/** The text of a `.proto` file of this folder. */
export function protoText(name: string): string {
  return readFileSync(protoPath(name), 'utf8');
}

function protoPath(name: string): string {
  return join(import.meta.dirname, `${name}.proto`);
}

/** The services of a `.proto` file of this folder, by their full names. */
export function loadService(file: string, name: string): ServiceClientConstructor {
  const definition = loadSync(protoPath(file), {
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  let found: unknown = loadPackageDefinition(definition);
  for (const part of name.split('.')) found = (found as GrpcObject)[part];
  return found as ServiceClientConstructor;
}

export const orders = loadService('shop', 'shop.v1.Orders');
export const health = loadService('health', 'grpc.health.v1.Health');

export interface GrpcServer extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

/** Differences from the usual server. */
export interface GrpcServerOptions {
  readonly identity?: KeyAndCertificate;
  /** PEM of the authority that must have issued client certificates. */
  readonly clientAuthority?: string;
  /** Supported versions of server reflection. */
  readonly reflection?: readonly ('v1' | 'v1alpha')[];
  /** Descriptors that reflection sends; undefined sends all. */
  readonly descriptors?: readonly Buffer[];
  readonly hasHealth?: boolean;
}

/** Statuses by the queried service. */
const serving: Readonly<Record<string, string>> = {
  '': 'SERVING',
  shop: 'SERVING',
  closed: 'NOT_SERVING',
  dim: 'UNKNOWN',
};

/** A server of @grpc/grpc-js with the test's shop, health checks and server reflection. */
export async function startGrpcServer({
  identity,
  clientAuthority,
  reflection = ['v1', 'v1alpha'],
  descriptors = [shopDescriptor()],
  hasHealth = true,
}: GrpcServerOptions = {}): Promise<GrpcServer> {
  const server = new Server();
  server.addService(orders.service, {
    Get: (call: ServerUnaryCall<Fields, Fields>, done: sendUnaryData<Fields>) => answerGet(call, done),
    List: (call: ServerWritableStream<Fields, Fields>) => answerList(call),
  });
  if (hasHealth) {
    server.addService(health.service, {
      Check({ request }: ServerUnaryCall<Fields, Fields>, done: sendUnaryData<Fields>) {
        const status = serving[String(request['service'])];
        if (status === undefined) done({ code: 5, details: 'unknown service' });
        else done(null, { status });
      },
    });
  }
  for (const version of reflection) {
    const { service } = loadService(`reflection-${version}`, `grpc.reflection.${version}.ServerReflection`);
    server.addService(service, {
      ServerReflectionInfo: (call: ServerDuplexStream<Fields, Fields>) => answerReflection(call, descriptors),
    });
  }
  const credentials = identity
    ? ServerCredentials.createSsl(
        clientAuthority ? Buffer.from(clientAuthority) : null,
        [{ private_key: Buffer.from(identity.key), cert_chain: Buffer.from(identity.cert) }],
        clientAuthority !== undefined,
      )
    : ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  const close = async () => {
    server.forceShutdown();
  };
  return { port, close, [Symbol.asyncDispose]: close };
}

/** The descriptor of shop.proto, as a server sends it. */
export function shopDescriptor(): Buffer {
  return Buffer.from(
    toBinary(FileDescriptorProtoSchema, fileDescriptorOf(parseProtoFile(protoText('shop')))),
  );
}

export const order = {
  id: 'one',
  state: 'STATE_OPEN',
  amounts: { small: '5' },
  at: { seconds: 86_400, nanos: 0 },
  address: { street: 'Main', kind: 'WORK' },
  counts: [1, -1],
  note: { value: 'noted' },
  price: 1.5,
};

function answerGet(
  { request, metadata }: ServerUnaryCall<Fields, Fields>,
  done: sendUnaryData<Fields>,
): void {
  const id = String(request['id']);
  const trailers = new Metadata();
  trailers.set('x-trailer', 'behind');
  const code = /^code-(\d+)$/.exec(id)?.[1];
  if (code !== undefined)
    done({ code: Number(code), details: `status ${code} für dich`, metadata: trailers });
  else if (id === 'never') return;
  else if (id === 'echo') done(null, { ...order, id: metadata.get('x-asked').join('+') });
  else if (id === 'large') done(null, { ...order, id: 'x'.repeat(600_000) });
  else if (id === 'too-large') done(null, { ...order, id: 'x'.repeat(1_100_000) });
  else done(null, { ...order, id }, trailers);
}

function answerList(call: ServerWritableStream<Fields, Fields>): void {
  const id = String((call.request as Fields)['id']);
  const isEndless = id === 'endless';
  const count = Number(/^\d+$/.exec(id)?.[0] ?? 0);
  if (!isEndless) {
    for (let index = 0; index < count; index += 1) call.write({ ...order, id: String(index) });
    if (id === 'broken') call.emit('error', { code: 15, details: 'lost' });
    else call.end();
    return;
  }
  const pour = () => {
    while (!call.cancelled && call.write(order));
  };
  call.on('drain', pour);
  pour();
}

function answerReflection(call: ServerDuplexStream<Fields, Fields>, descriptors: readonly Buffer[]): void {
  call.on('data', (asked: Fields) => {
    const isKnown = /^shop\.v1\.Orders$|\.proto$/.test(
      String(
        asked['file_containing_symbol'] ?? asked['fileContainingSymbol'] ?? asked['fileByFilename'] ?? '',
      ),
    );
    call.write(
      isKnown
        ? { fileDescriptorResponse: { fileDescriptorProto: descriptors } }
        : { errorResponse: { errorCode: 5, errorMessage: 'no such symbol' } },
    );
  });
  call.on('end', () => call.end());
}
