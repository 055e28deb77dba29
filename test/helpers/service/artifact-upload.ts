import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { LeasedRun } from '../../../src/protocol/agent/agent.ts';
import type { ReportedArtifact } from '../../../src/protocol/results/artifact.ts';

/** Bytes and their description in a result. */
export interface TestArtifact {
  readonly reported: ReportedArtifact;
  readonly bytes: Buffer;
}

export function artifactOf(
  bytes: Buffer = randomBytes(100_000),
  fields: Partial<ReportedArtifact> = {},
): TestArtifact {
  return {
    bytes,
    reported: {
      name: 'screenshot.png',
      contentType: 'image/png',
      sizeBytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      state: 'awaited',
      reason: null,
      ...fields,
    },
  };
}

export interface Upload {
  readonly url: string;
  readonly key: string;
  readonly run: Pick<LeasedRun, 'runId' | 'leaseNumber'>;
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Send these bytes, with a Content-Length unless the headers say otherwise. */
  readonly bytes: Buffer;
  /** Reset the connection after this many bytes. */
  readonly breakAt?: number;
}

/** Uploads an artifact over a separate socket. `status` is 0 if the connection broke without a response. */
export async function upload(options: Upload): Promise<{ status: number; body: Record<string, unknown> }> {
  const { url, key, run, name = 'screenshot.png', headers = {}, bytes, breakAt } = options;
  const path = `/v1/agent/runs/${run.runId}/artifacts/${name}?leaseNumber=${run.leaseNumber}`;
  return await new Promise((resolve) => {
    const request = httpRequest(new URL(path, url), {
      method: 'PUT',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/octet-stream',
        ...(headers['transfer-encoding'] ? {} : { 'content-length': String(bytes.length) }),
        ...headers,
      },
    });
    request.on('error', () => resolve({ status: 0, body: {} }));
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, body: text === '' ? {} : JSON.parse(text) });
      });
    });
    if (breakAt === undefined) request.end(bytes);
    else {
      request.on('socket', (socket: Socket) => {
        socket.once('connect', () =>
          request.write(bytes.subarray(0, breakAt), () => socket.resetAndDestroy()),
        );
      });
    }
  });
}
