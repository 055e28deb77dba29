import {
  type ChannelCredentials,
  type Client,
  credentials,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';

type Fields = Record<string, unknown>;

/** The result of a call, as the client of @grpc/grpc-js reports it. */
export interface PeerVerdict {
  readonly code: number;
  readonly message: string;
  readonly answers: readonly Fields[];
}

export interface PeerCall {
  readonly port: number;
  readonly service: ServiceClientConstructor;
  readonly method: string;
  readonly request: Fields;
  readonly isStream?: boolean;
  /** Undefined: plaintext. */
  readonly tls?: {
    readonly roots: string;
    readonly name: string;
    readonly key?: string;
    readonly cert?: string;
  };
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Calls a method with the client of @grpc/grpc-js, for an independent comparison. */
export async function askPeer(call: PeerCall): Promise<PeerVerdict> {
  const client: Client = new call.service(`127.0.0.1:${call.port}`, channelCredentials(call), {
    'grpc.max_receive_message_length': call.maxBytes,
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    ...(call.tls && { 'grpc.ssl_target_name_override': call.tls.name }),
  });
  const options = { deadline: Date.now() + call.timeoutMs };
  try {
    return await new Promise<PeerVerdict>((resolve) => {
      const failed = (error: ServiceError) =>
        resolve({ code: error.code, message: error.details, answers: [] });
      const methods = client as unknown as Record<string, (...args: unknown[]) => NodeJS.EventEmitter>;
      const invoke = methods[call.method]?.bind(client);
      if (!invoke) throw new Error(`no method ${call.method}`);
      if (!call.isStream) {
        invoke(call.request, options, (error: ServiceError | null, answer?: Fields) =>
          error ? failed(error) : resolve({ code: 0, message: '', answers: answer ? [answer] : [] }),
        );
        return;
      }
      const answers: Fields[] = [];
      const stream = invoke(call.request, options);
      stream.on('data', (answer: Fields) => answers.push(answer));
      stream.on('error', failed);
      stream.on('end', () => resolve({ code: 0, message: '', answers }));
    });
  } finally {
    client.close();
  }
}

function channelCredentials({ tls }: PeerCall): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const { roots, key, cert } = tls;
  return credentials.createSsl(
    Buffer.from(roots),
    key ? Buffer.from(key) : null,
    cert ? Buffer.from(cert) : null,
  );
}
