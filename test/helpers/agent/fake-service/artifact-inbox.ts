import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** One upload of an artifact, complete or not. */
export interface ArtifactCall {
  readonly runId: string;
  readonly name: string;
  readonly leaseNumber: number;
  readonly headers: IncomingMessage['headers'];
  receivedBytes: number;
}

export interface ArtifactBehaviour {
  /** Reset the connection after this many bytes. */
  readonly breakAtBytes?: number;
  /** Store the artifact, then reset the connection instead of sending a response. */
  readonly isAnswerLost?: boolean;
  readonly statusCode?: number;
  /** Stop reading until this promise resolves. */
  readonly untilResumed?: Promise<void>;
}

const artifactPath = /^\/v1\/agent\/runs\/([^/]+)\/artifacts\/(.+)$/;

/** The part of a fake service that receives artifacts. */
export class ArtifactInbox {
  /** Complete artifacts, by `runId/name`. */
  readonly stored = new Map<string, Buffer>();
  readonly calls: ArtifactCall[] = [];
  /** Decides what happens to the nth upload; undefined stores it. */
  script: ((call: ArtifactCall, index: number) => ArtifactBehaviour | undefined) | undefined;
  readonly #onEvent: () => void;

  /** @param onEvent called after each change. */
  constructor(onEvent: () => void) {
    this.#onEvent = onEvent;
  }

  /** Handles uploads of artifacts. Returns whether the request was one. */
  async take(url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const path = artifactPath.exec(url.pathname);
    if (path) await this.#take(path, url, request, response);
    return path !== null;
  }

  async #take(
    [, runId = '', encoded = '']: RegExpExecArray,
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const name = decodeURIComponent(encoded);
    const leaseNumber = Number(url.searchParams.get('leaseNumber'));
    const call: ArtifactCall = { runId, name, leaseNumber, headers: request.headers, receivedBytes: 0 };
    const behaviour = this.script?.(call, this.calls.length) ?? {};
    this.calls.push(call);
    this.#onEvent();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) {
        call.receivedBytes += (chunk as Buffer).length;
        chunks.push(chunk as Buffer);
        if (call.receivedBytes >= (behaviour.breakAtBytes ?? Number.POSITIVE_INFINITY)) {
          request.socket.resetAndDestroy();
          return;
        }
        if (behaviour.untilResumed) await behaviour.untilResumed;
      }
    } catch {
      // The agent disconnected during the upload.
      return;
    }
    const bytes = Buffer.concat(chunks);
    const { statusCode = 200, isAnswerLost = false } = behaviour;
    if (statusCode === 200) this.stored.set(`${runId}/${name}`, bytes);
    this.#onEvent();
    if (isAnswerLost) {
      request.socket.resetAndDestroy();
      return;
    }
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const body =
      statusCode === 200
        ? { status: 'stored', sizeBytes: bytes.length, sha256 }
        : { statusCode, error: 'Scripted', message: `scripted ${statusCode}` };
    response.writeHead(statusCode, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}
